"""Steps from a note to another: of which kinds there are, and in which order they come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

__all__ = ["BESIDE", "DERIVED", "FEW_LINKS", "Step", "gathered", "links_among"]

BESIDE = frozenset(("previous", "next"))
DERIVED = BESIDE | {"mention", "entity"}
"""What is no link, and what no link may be taken for."""
FEW_LINKS = 200
"""How many links of a kind are looked through one by one."""


class Step(NamedTuple):
    """An edge between the rows of two notes."""

    source: int
    target: int
    kind: str
    direction: Literal["out", "in"]
    distance: int = 1


def gathered(
    notes: Iterable[int], searches: Iterable[Iterable[Step]], kinds: Collection[str] | None = None
) -> list[Step]:
    """Return what searches found, or what is of some kinds, each step once: by note, and those of one as they came.

    >>> linked, beside = Step(1, 2, "related", "out"), Step(2, 1, "next", "out")
    >>> gathered([2, 1], [[linked, linked], [Step(1, 1, "related", "out"), beside]]) == [beside, linked]
    True
    """
    around: dict[int, dict[Step, None]] = {note: {} for note in notes}
    for found in searches:
        for step in found:
            if step.source != step.target and (kinds is None or step.kind in kinds):
                around[step.source][step] = None
    return [step for each in around.values() for step in each]


def links_among(
    notes: Collection[int], links: Sequence[tuple[int, str, str]], meant: Mapping[str, int]
) -> Iterator[Step]:
    """Yield of a few links, each a source, a kind and a target, those from the notes, then those to them.

    ``meant`` says which notes the targets are; a link to none leads nowhere.

    >>> links = [(1, "related", "tea"), (1, "related", "nowhere")]
    >>> [step[:2] for step in links_among([1, 2], links, {"tea": 2})]
    [(1, 2), (2, 1)]
    """
    ends = sorted((source, meant[target], kind) for source, kind, target in links if target in meant)
    for source, target, kind in ends:
        if source in notes:
            yield Step(source, target, kind, "out")
    for source, target, kind in ends:
        if target in notes:
            yield Step(target, source, kind, "in")
