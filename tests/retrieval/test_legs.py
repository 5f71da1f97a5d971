"""The vector leg: calls with a timeout, and the scale of similarities."""

from __future__ import annotations

import os
import warnings
from contextvars import ContextVar
from math import log
from statistics import pstdev
from threading import Event, Thread
from typing import Any

import pytest

from recollect import Candidate
from recollect.model.note import CHUNK_CHARS, MAX_CHUNKS, MAX_UNSPLIT_CHARS
from recollect.retrieval import legs
from recollect.retrieval.legs import ScaledSimilarities, Workers, scale_similarities


def note(name: str, score: float, length: int = 10, **fields: Any) -> Candidate:
    return Candidate(name, content="x" * length, score=score, vector_similarity=score, **fields)


def scaled(
    *notes: Candidate, background: float = 0.5, penalty: float = 0.2, deviations: float = 0.0
) -> ScaledSimilarities:
    return scale_similarities(notes, background, penalty=penalty, deviations=deviations)


def scores(*notes: Candidate, **settings: float) -> dict[str, float]:
    return {candidate.id: candidate.score for candidate in scaled(*notes, **settings).candidates}


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


CALLER: ContextVar[str] = ContextVar("caller", default="nobody")


class TestWorkers:
    def test_call_returns_its_result_or_raises_its_error(self) -> None:
        assert Workers().start(lambda: 6 * 7)(5) == 42
        with pytest.raises(ZeroDivisionError):
            Workers().start(lambda: 1 / 0)(5)

    def test_call_has_the_context_of_its_caller(self) -> None:
        token = CALLER.set("me")
        assert Workers().start(CALLER.get)(5) == "me"
        CALLER.reset(token)

    def test_late_calls_run_on_and_are_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(legs, "MAX_ABANDONED", 1)
        proceed = Event()
        workers = Workers()
        late_result = workers.start(lambda: proceed.wait(30))
        with pytest.raises(TimeoutError, match=r"no answer within 0\.01 seconds"):
            late_result(0.01)
        with pytest.raises(TimeoutError, match="1 earlier calls have not returned yet"):
            workers.start(lambda: 1)(5)
        assert Workers().start(lambda: 3)(5) == 3  # other workers have their own limit
        proceed.set()
        assert late_result(30)  # now it has returned, and does not count any more
        assert workers.start(lambda: 2)(5) == 2

    def test_call_without_a_thread_raises_timeout_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(Thread, "start", refuse)
        with pytest.raises(TimeoutError, match="it could not be started: can't start new thread"):
            Workers().start(lambda: 1)(5)

    def test_forked_child_does_not_count_the_calls_of_its_parent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(legs, "MAX_ABANDONED", 1)
        proceed = Event()
        workers = Workers()
        with pytest.raises(TimeoutError):
            workers.start(lambda: proceed.wait(30))(0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other tests' threads are running
            child = os.fork()
        if child == 0:
            os._exit(0 if workers.start(lambda: 7)(10) == 7 else 1)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(TimeoutError):
            workers.start(lambda: 1)(5)
        proceed.set()
