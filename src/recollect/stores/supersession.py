"""Which notes supersede which: the links that say so, and how to follow a chain of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["MAX_SUPERSESSIONS", "SUPERSEDED_BY", "SUPERSESSION_KINDS", "follow"]

SUPERSEDED_BY = frozenset((("supersedes", "in"), ("superseded-by", "out")))
"""Kind and direction of the edges that lead from a note to one that supersedes it."""
SUPERSESSION_KINDS = frozenset(kind for kind, _ in SUPERSEDED_BY)
MAX_SUPERSESSIONS = 100_000
"""How many supersessions one call follows at most; it bounds the time that a search can take."""


def follow(
    ids: Iterable[str], direct: Callable[[list[str]], Mapping[str, Collection[str]]]
) -> dict[str, tuple[str, ...]]:
    """Return for each superseded note, among ``ids`` and along their chains, the notes that supersede it directly.

    ``direct`` returns the direct successors of some notes. It is called once for each step of the longest
    chain, and for no note twice, so that cycles end. The successors of a note are sorted by id.

    >>> follow(["a"], lambda ids: {"a": ["b"], "b": ["c"], "c": ["b"]})
    {'a': ('b',), 'b': ('c',), 'c': ('b',)}
    """
    successors: dict[str, tuple[str, ...]] = {}
    pending = list(dict.fromkeys(ids))
    seen, pairs = set(pending), 0
    while pending and pairs < MAX_SUPERSESSIONS:
        found = direct(pending)
        step = {note: tuple(sorted(set(found[note]) - {note})) for note in pending if note in found}
        successors |= {note: later for note, later in step.items() if later}
        pairs += sum(map(len, step.values()))
        pending = list(dict.fromkeys(note for later in step.values() for note in later if note not in seen))
        seen.update(pending)
    return successors
