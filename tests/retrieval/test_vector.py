"""The scale of the vector leg: the chunk penalty, the background, and what counts in full."""

from __future__ import annotations

from math import log
from statistics import pstdev
from typing import Any

import pytest

from recollect import Candidate
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_UNSPLIT_CHARS
from recollect.retrieval.vector import ScaledSimilarities, scale_similarities


def note(name: str, score: float, length: int = 10, **fields: Any) -> Candidate:
    return Candidate(name, content="x" * length, score=score, vector_similarity=score, **fields)


def scaled(
    *notes: Candidate, background: float = 0.5, penalty: float = 0.2, deviations: float = 0.0
) -> ScaledSimilarities:
    return scale_similarities(notes, background, penalty=penalty, deviations=deviations)


def scores(*notes: Candidate, **settings: float) -> dict[str, float]:
    return {each.id: each.score for each in scaled(*notes, **settings).candidates}


class TestChunkPenalty:
    def test_a_note_loses_the_logarithm_of_its_chunks_as_a_share_of_the_span(self) -> None:
        found = scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.8, MAX_UNSPLIT_CHARS))
        assert found == pytest.approx({"short": 0.8, "long": 0.9 - 0.2 * (0.9 - 0.5) * log(5)})
        assert list(found) == ["short", "long"]

    def test_a_note_that_fits_far_better_stays_first_though_it_is_long(self) -> None:
        assert list(scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.6))) == ["long", "short"]

    def test_title_and_summary_count_for_the_length(self) -> None:
        named = note("named", 0.9, MAX_UNSPLIT_CHARS - 20, title="t" * 10, summary="s" * 11)
        assert scores(named) == pytest.approx({"named": 0.9 - 0.2 * 0.4 * log(4)})

    def test_no_note_has_more_chunks_than_are_embedded(self) -> None:
        assert scores(note("endless", 0.9, 10**6)) == pytest.approx({"endless": 0.9 - 0.2 * 0.4 * log(MAX_CHUNKS)})

    @pytest.mark.parametrize("background", [0.9, 1.0])
    def test_without_a_span_nothing_is_lost(self, background: float) -> None:
        found = scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.8), background=background)
        assert found == {"long": 0.9, "short": 0.8}

    def test_the_notes_and_their_similarities_are_not_changed(self) -> None:
        given = note("long", 0.9, 5 * CHUNK_CHARS)
        (found,) = scaled(given).candidates
        assert (given.score, found.vector_similarity) == (0.9, 0.9)
        assert found.score < 0.9

    def test_equal_scores_stay_in_their_order(self) -> None:
        assert list(scores(note("b", 0.8), note("a", 0.8))) == ["b", "a"]


class TestScale:
    def test_the_background_counts_as_nothing_and_the_best_in_full(self) -> None:
        found = scaled(note("best", 0.9), note("last", 0.5), note("joined", 0.2))
        assert (found.zero, found.one) == (0.5, 0.9)

    def test_the_background_loses_its_chunks_too(self) -> None:
        """Where all notes are long, none of them drops below the background for that alone."""
        found = scaled(note("best", 0.9, 5 * CHUNK_CHARS), note("last", 0.5, 5 * CHUNK_CHARS))
        assert found.zero == pytest.approx(0.5 - 0.2 * 0.4 * log(5))
        assert found.one - found.zero == pytest.approx(0.4)

    def test_a_best_score_that_does_not_stand_out_does_not_count_in_full(self) -> None:
        notes = [note(f"n{place}", 0.5 + place / 10) for place in range(5)]
        found = scaled(*notes, deviations=6)
        assert found.one == pytest.approx(0.5 + 6 * pstdev([0.5, 0.6, 0.7, 0.8, 0.9]))
        assert found.one > found.candidates[0].score

    def test_a_best_score_that_stands_out_counts_in_full(self) -> None:
        found = scaled(note("best", 0.9), *(note(f"n{place}", 0.5) for place in range(50)), deviations=3)
        assert found.one == 0.9

    def test_no_notes(self) -> None:
        assert scaled() == ScaledSimilarities([], 0.5, 0.5)

    def test_notes_below_the_background_alone(self) -> None:
        assert scaled(note("joined", 0.2)).zero == 0.5
