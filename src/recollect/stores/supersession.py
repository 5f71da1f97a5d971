"""Which notes supersede which: the links that say so, how to follow a chain of them, and what a cycle means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

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
        results = direct(pending)
        step = {note: tuple(sorted(set(results[note]) - {note})) for note in pending if note in results}
        successors |= {note: later for note, later in step.items() if later}
        pairs += sum(map(len, step.values()))
        pending = list(dict.fromkeys(note for later in step.values() for note in later if note not in seen))
        seen.update(pending)
    return successors


def cycles(successors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the groups of notes that supersede each other in a circle, each sorted by id.

    They are the strongly connected components of more than one note, found by Tarjan's algorithm (SIAM Journal on
    Computing 1, 1972) in time linear in the number of supersessions.

    >>> cycles({"a": ("b",), "b": ("c",), "c": ("b",)})
    [('b', 'c')]
    """
    components: list[tuple[str, ...]] = []
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    stacked: set[str] = set()
    for root in successors:
        if root in index:
            continue
        path = [(root, iter(successors[root]))]
        index[root] = lowest[root] = len(index)
        stack.append(root)
        stacked.add(root)
        while path:
            note, later = path[-1]
            following = next((other for other in later if other not in index or other in stacked), None)
            if following is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[note])
                if lowest[note] == index[note]:
                    component = [stack.pop()]
                    while component[-1] != note:
                        component.append(stack.pop())
                    stacked.difference_update(component)
                    if len(component) > 1:
                        components.append(tuple(sorted(component)))
            elif following in index:
                lowest[note] = min(lowest[note], index[following])
            else:
                index[following] = lowest[following] = len(index)
                stack.append(following)
                stacked.add(following)
                path.append((following, iter(successors.get(following, ()))))
    return sorted(components)


def without_cycles(successors: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the supersessions without those inside a cycle: of notes that supersede each other, none is out of date.

    A note outside the cycle that supersedes one of its notes still counts.

    >>> without_cycles({"a": ("b",), "b": ("c", "d"), "c": ("b",)})
    {'a': ('b',), 'b': ('d',)}
    """
    cycle_of = {note: number for number, cycle in enumerate(cycles(successors)) for note in cycle}
    remaining = {
        note: tuple(
            other
            for other in later
            if other != note and (note not in cycle_of or cycle_of.get(other) != cycle_of[note])
        )
        for note, later in successors.items()
    }
    return {note: later for note, later in remaining.items() if later}
