"""Many texts become batches of texts of about the same length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["batches"]


def batches(texts: Sequence[str], *, size: int, characters: int | None = None) -> Iterator[list[int]]:
    """Yield the places of ``texts``, the longest text first, in batches of at most ``size`` texts.

    Neighbours of one length waste the least on padding, and what is too much for the memory is so at once rather than
    at the end. If ``characters`` is given, a batch also ends before it holds more than so many; a longer text stands
    alone.

    >>> list(batches(["a", "eleven ants", "four", "bee"], size=2))
    [[1, 2], [3, 0]]
    >>> list(batches(["a", "eleven ants", "four", "bee"], size=9, characters=8))
    [[1], [2, 3, 0]]
    """
    batch: list[int] = []
    held = 0
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True):
        length = len(texts[place])
        if batch and (len(batch) >= size or (characters is not None and held + length > characters)):
            yield batch
            batch, held = [], 0
        batch.append(place)
        held += length
    if batch:
        yield batch
