from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieval.graph import cycles, without_cycles


def is_reachable(successors: dict[str, tuple[str, ...]], start: str, end: str) -> bool:
    pending, seen = [start], {start}
    while pending:
        later = set(successors.get(pending.pop(), ())) - seen
        pending += later
        seen |= later
    return end in seen


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)))
def test_cycles_are_notes_that_reach_each_other(successors: dict[str, tuple[str, ...]]) -> None:
    def in_cycle(note: str, other: str) -> bool:
        return is_reachable(successors, note, other) and is_reachable(successors, other, note)

    groups = {tuple(other for other in "abcdef" if in_cycle(note, other)) for note in "abcdef"}
    assert cycles(successors) == sorted(group for group in groups if len(group) > 1)
    expected = {
        note: tuple(other for other in later if not in_cycle(note, other)) for note, later in successors.items()
    }
    assert without_cycles(successors) == {note: later for note, later in expected.items() if later}
