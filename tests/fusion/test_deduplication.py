from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentError, Candidate
from recollect.fusion import deduplicate
from tests.strategies import distinct_list


def test_the_first_of_equal_contents_stays() -> None:
    notes = [
        Candidate("a", content="Green tea."),
        Candidate("b", content=" GREEN\u3000tea.\n"),
        Candidate("c", content="Black tea."),
        Candidate("d", content="green tea"),
    ]
    assert [each.id for each in deduplicate(notes)] == ["a", "c", "d"]


def test_notes_without_content_are_no_duplicates() -> None:
    assert len(deduplicate([{"id": "a"}, {"id": "b"}, {"id": "c", "content": " "}])) == 3


@pytest.mark.parametrize(("limit", "kept"), [(None, 3), (0, 3), (1, 1), (2, 2), (9, 3)])
def test_limit_counts_what_is_kept(limit: int | None, kept: int) -> None:
    notes = [Candidate(str(number), content=str(number // 2)) for number in range(6)]
    assert len(deduplicate(notes, limit)) == kept


def test_what_went_is_recorded() -> None:
    contents = ["a", "b", "a", "A", " a", "a\n", "c"]
    kept = deduplicate([Candidate(str(number), content=content) for number, content in enumerate(contents)])
    assert [each.id for each in kept] == ["0", "1", "6"]
    assert [[(step.reason, step.rank_before, step.rank_after) for step in each.steps] for each in kept] == [
        [("repeated by 2, 3, 4 and 1 more", 1, 1)],
        [],
        [("moved up as duplicates above it were dropped", 7, 3)],
    ]


@given(distinct_list)
def test_order_is_kept_and_once_is_enough(candidates: list[Candidate]) -> None:
    kept = deduplicate(candidates)
    assert deduplicate(kept) == kept
    ids = [each.id for each in candidates]
    places = [ids.index(each.id) for each in kept]
    assert places == sorted(places)


def test_a_negative_limit_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="^limit: must not be negative, got -3"):
        deduplicate([], -3)
