"""Which notes supersede which: the links that say so, and how a chain of them is followed."""

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
    """Return for each note from which a chain of supersessions starts, or goes on, what supersedes it directly.

    ``direct`` returns what supersedes each of some notes directly. It is called once for each step of the longest
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
        successors |= {note: heirs for note, heirs in step.items() if heirs}
        pairs += sum(map(len, step.values()))
        pending = list(dict.fromkeys(heir for heirs in step.values() for heir in heirs if heir not in seen))
        seen.update(pending)
    return successors
