"""A note of many chunks loses a part of its similarity: the best of many is near to a query by chance."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from recollect import Candidate
from recollect.model.splitting import MOST_PIECES, PIECE, WHOLE
from recollect.retrieval.chunk_penalty import discount_chunks


def note(name: str, score: float, length: int = 10, **fields: Any) -> Candidate:
    return Candidate(name, content="x" * length, score=score, vector_similarity=score, **fields)


def scores(*notes: Candidate, background: float = 0.5, penalty: float = 0.2) -> dict[str, float]:
    return {each.id: each.score for each in discount_chunks(notes, background, penalty)}


def test_a_note_loses_the_logarithm_of_its_chunks_as_a_share_of_the_span() -> None:
    found = scores(note("long", 0.9, 5 * PIECE), note("short", 0.8, WHOLE))
    assert found == pytest.approx({"short": 0.8, "long": 0.9 - 0.2 * (0.9 - 0.5) * log(5)})
    assert list(found) == ["short", "long"]


def test_a_note_that_fits_far_better_stays_first_though_it_is_long() -> None:
    assert list(scores(note("long", 0.9, 5 * PIECE), note("short", 0.6))) == ["long", "short"]


def test_title_and_summary_count_for_the_length() -> None:
    named = note("named", 0.9, WHOLE - 20, title="t" * 10, summary="s" * 11)
    assert scores(named) == pytest.approx({"named": 0.9 - 0.2 * 0.4 * log(4)})


def test_no_note_has_more_chunks_than_are_embedded() -> None:
    assert scores(note("endless", 0.9, 10**6)) == pytest.approx({"endless": 0.9 - 0.2 * 0.4 * log(MOST_PIECES)})


@pytest.mark.parametrize("background", [0.9, 1.0])
def test_without_a_span_nothing_is_lost(background: float) -> None:
    assert scores(note("long", 0.9, 5 * PIECE), note("short", 0.8), background=background) == {
        "long": 0.9,
        "short": 0.8,
    }


def test_no_notes() -> None:
    assert discount_chunks([], 0.5, 0.2) == []


def test_the_notes_and_their_similarities_are_not_changed() -> None:
    given = note("long", 0.9, 5 * PIECE)
    (found,) = discount_chunks([given], 0.5, 0.2)
    assert (given.score, found.vector_similarity) == (0.9, 0.9)
    assert found.score < 0.9


def test_equal_scores_stay_in_their_order() -> None:
    assert list(scores(note("b", 0.8), note("a", 0.8))) == ["b", "a"]
