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
    def test_chunk_penalty_grows_with_log_of_chunks(self) -> None:
        actual = scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.8, MAX_UNSPLIT_CHARS))
        assert actual == pytest.approx({"short": 0.8, "long": 0.9 - 0.2 * (0.9 - 0.5) * log(5)})
        assert list(actual) == ["short", "long"]

    def test_much_better_long_note_stays_first(self) -> None:
        assert list(scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.6))) == ["long", "short"]

    def test_length_includes_title_and_summary(self) -> None:
        named = note("named", 0.9, MAX_UNSPLIT_CHARS - 20, title="t" * 10, summary="s" * 11)
        assert scores(named) == pytest.approx({"named": 0.9 - 0.2 * 0.4 * log(4)})

    def test_chunk_penalty_is_limited_by_max_chunks(self) -> None:
        assert scores(note("endless", 0.9, 10**6)) == pytest.approx({"endless": 0.9 - 0.2 * 0.4 * log(MAX_CHUNKS)})

    @pytest.mark.parametrize("background", [0.9, 1.0])
    def test_no_penalty_below_the_background(self, background: float) -> None:
        actual = scores(note("long", 0.9, 5 * CHUNK_CHARS), note("short", 0.8), background=background)
        assert actual == {"long": 0.9, "short": 0.8}

    def test_scaling_copies_notes(self) -> None:
        original = note("long", 0.9, 5 * CHUNK_CHARS)
        (scaled_note,) = scaled(original).candidates
        assert (original.score, scaled_note.vector_similarity) == (0.9, 0.9)
        assert scaled_note.score < 0.9

    def test_equal_scores_keep_their_order(self) -> None:
        assert list(scores(note("b", 0.8), note("a", 0.8))) == ["b", "a"]


class TestScale:
    def test_scale_runs_from_background_to_best(self) -> None:
        result = scaled(note("best", 0.9), note("last", 0.5), note("joined", 0.2))
        assert (result.min_score, result.max_score) == (0.5, 0.9)

    def test_background_has_the_chunk_penalty(self) -> None:
        """If all notes are long, length alone moves none of them below the background."""
        result = scaled(note("best", 0.9, 5 * CHUNK_CHARS), note("last", 0.5, 5 * CHUNK_CHARS))
        assert result.min_score == pytest.approx(0.5 - 0.2 * 0.4 * log(5))
        assert result.max_score - result.min_score == pytest.approx(0.4)

    def test_deviations_raise_the_scale(self) -> None:
        notes = [note(f"n{number}", 0.5 + number / 10) for number in range(5)]
        result = scaled(*notes, deviations=6)
        assert result.max_score == pytest.approx(0.5 + 6 * pstdev([0.5, 0.6, 0.7, 0.8, 0.9]))
        assert result.max_score > result.candidates[0].score

    def test_outlier_ends_the_scale(self) -> None:
        result = scaled(note("best", 0.9), *(note(f"n{number}", 0.5) for number in range(50)), deviations=3)
        assert result.max_score == 0.9

    def test_scale_without_notes(self) -> None:
        assert scaled() == ScaledSimilarities([], 0.5, 0.5)

    def test_scale_with_only_notes_below_the_background(self) -> None:
        assert scaled(note("joined", 0.2)).min_score == 0.5


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
        assert late_result(30)  # it has returned and no longer counts
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
