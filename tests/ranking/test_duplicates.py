from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentError, Candidate
from recollect.fusion import deduplicate
from tests.strategies import distinct_list


def test_deduplicate_keeps_the_first() -> None:
    notes = [
        Candidate("a", content="Green tea."),
        Candidate("b", content=" GREEN\u3000tea.\n"),
        Candidate("c", content="Black tea."),
        Candidate("d", content="green tea"),
    ]
    assert [note.id for note in deduplicate(notes)] == ["a", "c", "d"]


def test_deduplicate_keeps_notes_without_content() -> None:
    assert len(deduplicate([{"id": "a"}, {"id": "b"}, {"id": "c", "content": " "}])) == 3


@pytest.mark.parametrize(("limit", "count"), [(None, 3), (0, 3), (1, 1), (2, 2), (9, 3)])
def test_deduplicate_limit(limit: int | None, count: int) -> None:
    notes = [Candidate(str(number), content=str(number // 2)) for number in range(6)]
    assert len(deduplicate(notes, limit)) == count


def test_deduplicate_records_duplicates() -> None:
    contents = ["a", "b", "a", "A", " a", "a\n", "c"]
    unique = deduplicate([Candidate(str(number), content=content) for number, content in enumerate(contents)])
    assert [note.id for note in unique] == ["0", "1", "6"]
    assert [[(step.reason, step.rank_before, step.rank_after) for step in note.steps] for note in unique] == [
        [("repeated by 2, 3, 4 and 1 more", 1, 1)],
        [],
        [("moved up because duplicates above it were dropped", 7, 3)],
    ]


@given(distinct_list)
def test_deduplicate_is_stable_and_idempotent(candidates: list[Candidate]) -> None:
    unique = deduplicate(candidates)
    assert deduplicate(unique) == unique
    ids = [note.id for note in candidates]
    positions = [ids.index(note.id) for note in unique]
    assert positions == sorted(positions)


def test_deduplicate_negative_limit_raises() -> None:
    with pytest.raises(ArgumentError, match="^limit: must not be negative, got -3"):
        deduplicate([], -3)
