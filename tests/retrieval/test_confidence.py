"""The confidence of the hits of one search."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Candidate
from recollect.query import parse
from recollect.retrieval.confidence import (
    AVERAGE_MARGIN,
    LEXICAL_ONLY,
    Calibration,
    ConfidenceEvidence,
    ConfidenceScorer,
    calibration_of,
    confidence,
)
from recollect.retrieval.legs import LexicalResult
from recollect.retrieval.preset import DEFAULT
from recollect.retrieval.request import TermFrequencies, parse_request

MINILM = calibration_of("all-MiniLM-L6-v2")
NOW = datetime(2026, 11, 17, tzinfo=UTC)


def scorer(
    query: str,
    *ranked: Candidate,
    fallback: str | None = None,
    frequencies: TermFrequencies | None = None,
    background: float | None = None,
    compares_scores: bool = True,
    **parsed: Any,
) -> ConfidenceScorer:
    request = replace(parse_request(query, DEFAULT, None, now=NOW), tree=parse(query), **parsed)
    return ConfidenceScorer(
        request,
        LexicalResult([], parse(query if fallback is None else fallback)),
        ranked,
        MINILM,
        frequencies=frequencies,
        background=background,
        compares_scores=compares_scores,
    )


def test_coverage_weighs_terms_by_how_rare_they_are() -> None:
    # ln(1 + 90.5/10.5) = 2.264 and ln(1 + 99.5/1.5) = 4.210
    frequencies = TermFrequencies(100, {"tea": 10, "sencha": 1})
    note = Candidate("a", content="Sencha.", title="", score=0.5)
    assert scorer("tea sencha", note, frequencies=frequencies).evidence(note).coverage == pytest.approx(
        4.2098 / 6.4737, abs=1e-4
    )
    assert scorer("tea sencha", note).evidence(note).coverage == 0.5
    assert scorer("tea sencha", note).evidence(Candidate("b", title="tea", summary="sencha")).coverage == 1.0
    assert scorer("?", note).evidence(note).coverage == 0.0


def test_the_margin_is_the_distance_to_the_best_other_candidate() -> None:
    first, second, third = (
        Candidate(name, score=score, ceiling=2.0) for name, score in zip("abc", (1.0, 0.6, 0.5), strict=True)
    )
    known = scorer("tea", first, second, third)
    assert [known.evidence(each).margin for each in (first, second, third)] == pytest.approx([0.2, -0.2, -0.25])
    assert scorer("tea", first).evidence(first).margin == 0.5
    assert scorer("tea").evidence(Candidate("x")).margin == 0.0
    assert scorer("tea", first, second, compares_scores=False).evidence(second).margin == AVERAGE_MARGIN


def test_a_similarity_that_is_not_known_is_the_background() -> None:
    note = Candidate("a", score=1.0)
    assert scorer("tea", note, background=0.12).evidence(note).similarity == 0.12
    assert scorer("tea", note).evidence(note).similarity is None


def test_a_note_of_the_time_that_the_query_names_is_more_certain() -> None:
    march, june = (
        Candidate(day, score=0.5, created_at=datetime.fromisoformat(day)) for day in ("2026-03-14", "2026-06-14")
    )
    known = scorer("decided in March", march, june)
    assert (known.evidence(march).time_match, known.evidence(june).time_match) == (1.0, 0.0)


def test_a_term_of_the_time_counts_as_held_by_the_time_match() -> None:
    query = "haircut in March"
    note = Candidate("a", content="A haircut.", score=0.5, created_at=datetime(2026, 3, 14, tzinfo=UTC))
    other = Candidate("b", content="Van insurance paid.", score=0.4, created_at=datetime(2026, 3, 14, tzinfo=UTC))
    june = Candidate("c", content="A haircut.", score=0.3, created_at=datetime(2026, 6, 14, tzinfo=UTC))
    known = scorer(query, note, other, june)
    assert [known.evidence(each).coverage for each in (note, other, june)] == [1.0, 0.5, 0.5]


def test_a_superseded_note_is_judged_as_if_nothing_superseded_it() -> None:
    old = Candidate("a", score=0.4, ceiling=1.0, vector_similarity=0.5)
    new = Candidate("b", score=0.8, ceiling=1.0)
    known = scorer("tea", new, old)
    # margin (0.8 − 0.4) / 1
    assert known.confidence_at(old, 0.8) == confidence(ConfidenceEvidence(0.5, 0.0, 0.4), MINILM)
    assert known.confidence_at(old, 0.8) > confidence(known.evidence(old), MINILM)


def test_confidence_can_be_recomputed_from_the_trace(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder="static") as memory:
        memory.add("Prefers green tea.")
        memory.add("The frame number of the bike is WVB-7741-K.")
        result = memory.search("which tea?")
        calibration = calibration_of(result.trace.embedder)
    for hit, record in zip(result, result.trace.to_dict()["results"], strict=True):
        evidence = ConfidenceEvidence(*record["evidence"].values())
        assert hit.confidence == pytest.approx(confidence(evidence, calibration))
    assert result.has_answer


def test_what_only_a_fallback_query_found_holds_half_as_much() -> None:
    note = Candidate("a", content="Bread dough 500.", score=0.5)
    assert scorer("48,500", note, fallback="500").evidence(note).coverage == 0.5
    assert scorer("500", note, fallback="500").evidence(note).coverage == 1.0
    assert scorer("bread dough", note, fallback="500").evidence(note).coverage == 1.0


def test_the_coverage_of_a_query_that_names_only_a_time_is_the_time_match() -> None:
    march, june = (
        Candidate(day, content="Sencha.", score=0.5, created_at=datetime.fromisoformat(day))
        for day in ("2026-03-14", "2026-06-14")
    )
    known = scorer("what happened in March?", march, june)
    assert [known.evidence(each).coverage for each in (march, june)] == [1.0, 0.0]


def test_a_query_of_stopwords_covers_nothing() -> None:
    note = Candidate("a", content="The tea is there.", score=0.5)
    assert scorer("is the tea", note).evidence(note).coverage == 1.0
    assert scorer("is the tea", note, only_stopwords=True).evidence(note).coverage == 0.0


MEASURED = Calibration(-6.0, 9.0, 2.0, -1.0, 4.0, 3.0)
CERTAINTY_MINILM = calibration_of("all-MiniLM-L6-v2/int8")


def test_it_is_the_logistic_function_of_the_weighted_evidence() -> None:
    # −6 + 9·0.5 + 2·1 − 1·0.5·1 + 4·0.25 + 3·1 = 4
    assert confidence(ConfidenceEvidence(0.5, 1.0, 0.25, 1.0), MEASURED) == pytest.approx(0.982013790)
    # −6 + 9·2/3 = 0
    assert confidence(ConfidenceEvidence(2 / 3, 0.0, 0.0), MEASURED) == pytest.approx(0.5)


def test_a_margin_counts_up_to_a_half_on_either_side() -> None:
    far, farther = (confidence(ConfidenceEvidence(0.5, 0.5, margin), MEASURED) for margin in (0.5, 0.9))
    assert far == farther
    behind, further = (confidence(ConfidenceEvidence(0.5, 0.5, margin), MEASURED) for margin in (-0.5, -3.0))
    assert behind == further < far


def test_without_a_similarity_the_lexical_weights_count() -> None:
    evidence = ConfidenceEvidence(None, 1.0, 0.5)
    assert confidence(evidence, MEASURED) == confidence(evidence, LEXICAL_ONLY) > 0.5
    assert confidence(ConfidenceEvidence(None, 0.2, 0.0), MEASURED) < 0.25
    assert LEXICAL_ONLY.similarity == 0.0


@given(st.floats(-1, 1) | st.none(), st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1))
def test_it_lies_between_0_and_1_and_rises_with_margin_and_time(
    similarity: float | None, coverage: float, margin: float, time: float
) -> None:
    evidence = ConfidenceEvidence(similarity, coverage, margin, time)
    value = confidence(evidence, CERTAINTY_MINILM)
    assert 0 <= value <= confidence(evidence._replace(margin=1.0, time_match=1.0), CERTAINTY_MINILM) <= 1


def test_a_single_exact_term_is_an_answer_and_an_unrelated_note_is_none() -> None:
    assert confidence(ConfidenceEvidence(0.1, 1.0, 0.5), CERTAINTY_MINILM) > 0.8
    assert confidence(ConfidenceEvidence(0.15, 0.0, 0.02), CERTAINTY_MINILM) < 0.05


def test_numbers_beyond_measure() -> None:
    assert confidence(ConfidenceEvidence(1e9, 1.0, 0.0), MEASURED) == pytest.approx(1.0)
    assert confidence(ConfidenceEvidence(-1e9, 1.0, 0.0), MEASURED) == pytest.approx(0.0)


def test_a_weak_model_is_known_to_be_weak() -> None:
    assert calibration_of("wordllama").model_quality == 0.45
    assert CERTAINTY_MINILM.model_quality == calibration_of("my own").model_quality == 1.0


def test_the_similarity_of_a_model_that_was_never_measured_does_not_count() -> None:
    assert calibration_of("") == calibration_of("my own") == LEXICAL_ONLY
