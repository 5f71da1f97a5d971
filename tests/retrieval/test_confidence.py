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
    has_margins: bool = True,
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
        has_margins=has_margins,
    )


def test_coverage_weighs_terms_by_idf() -> None:
    # ln(1 + 90.5/10.5) = 2.264 and ln(1 + 99.5/1.5) = 4.210
    frequencies = TermFrequencies(100, {"tea": 10, "sencha": 1})
    note = Candidate("a", content="Sencha.", title="", score=0.5)
    assert scorer("tea sencha", note, frequencies=frequencies).evidence(note).coverage == pytest.approx(
        4.2098 / 6.4737, abs=1e-4
    )
    assert scorer("tea sencha", note).evidence(note).coverage == 0.5
    assert scorer("tea sencha", note).evidence(Candidate("b", title="tea", summary="sencha")).coverage == 1.0
    assert scorer("?", note).evidence(note).coverage == 0.0


def test_margin_is_the_distance_to_the_next_candidate() -> None:
    first, second, third = (
        Candidate(name, score=score, ceiling=2.0) for name, score in zip("abc", (1.0, 0.6, 0.5), strict=True)
    )
    confidence_scorer = scorer("tea", first, second, third)
    assert [confidence_scorer.evidence(note).margin for note in (first, second, third)] == pytest.approx(
        [0.2, -0.2, -0.25]
    )
    assert scorer("tea", first).evidence(first).margin == 0.5
    assert scorer("tea").evidence(Candidate("x")).margin == 0.0
    assert scorer("tea", first, second, has_margins=False).evidence(second).margin == AVERAGE_MARGIN


def test_missing_similarity_is_the_background() -> None:
    note = Candidate("a", score=1.0)
    assert scorer("tea", note, background=0.12).evidence(note).similarity == 0.12
    assert scorer("tea", note).evidence(note).similarity is None


def test_time_match_is_evidence() -> None:
    march, june = (
        Candidate(day, score=0.5, created_at=datetime.fromisoformat(day)) for day in ("2026-03-14", "2026-06-14")
    )
    confidence_scorer = scorer("decided in March", march, june)
    assert (confidence_scorer.evidence(march).time_match, confidence_scorer.evidence(june).time_match) == (1.0, 0.0)


def test_time_match_covers_time_terms() -> None:
    query = "haircut in March"
    march = Candidate("a", content="A haircut.", score=0.5, created_at=datetime(2026, 3, 14, tzinfo=UTC))
    unrelated = Candidate("b", content="Van insurance paid.", score=0.4, created_at=datetime(2026, 3, 14, tzinfo=UTC))
    june = Candidate("c", content="A haircut.", score=0.3, created_at=datetime(2026, 6, 14, tzinfo=UTC))
    confidence_scorer = scorer(query, march, unrelated, june)
    assert [confidence_scorer.evidence(note).coverage for note in (march, unrelated, june)] == [1.0, 0.5, 0.5]


def test_confidence_at_ignores_supersession() -> None:
    old = Candidate("a", score=0.4, ceiling=1.0, vector_similarity=0.5)
    new = Candidate("b", score=0.8, ceiling=1.0)
    confidence_scorer = scorer("tea", new, old)
    # margin (0.8 − 0.4) / 1
    assert confidence_scorer.confidence_at(old, 0.8) == confidence(ConfidenceEvidence(0.5, 0.0, 0.4), MINILM)
    assert confidence_scorer.confidence_at(old, 0.8) > confidence(confidence_scorer.evidence(old), MINILM)


def test_confidence_is_recomputed_from_the_trace(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder="static") as memory:
        memory.add("Prefers green tea.")
        memory.add("The frame number of the bike is WVB-7741-K.")
        result = memory.search("which tea?")
        calibration = calibration_of(result.trace.embedder)
    for hit, record in zip(result, result.trace.to_dict()["results"], strict=True):
        evidence = ConfidenceEvidence(*record["evidence"].values())
        assert hit.confidence == pytest.approx(confidence(evidence, calibration))
    assert result.has_answer


def test_fallback_query_halves_coverage() -> None:
    note = Candidate("a", content="Bread dough 500.", score=0.5)
    assert scorer("48,500", note, fallback="500").evidence(note).coverage == 0.5
    assert scorer("500", note, fallback="500").evidence(note).coverage == 1.0
    assert scorer("bread dough", note, fallback="500").evidence(note).coverage == 1.0


def test_coverage_of_a_time_query_is_the_time_match() -> None:
    march, june = (
        Candidate(day, content="Sencha.", score=0.5, created_at=datetime.fromisoformat(day))
        for day in ("2026-03-14", "2026-06-14")
    )
    confidence_scorer = scorer("what happened in March?", march, june)
    assert [confidence_scorer.evidence(note).coverage for note in (march, june)] == [1.0, 0.0]


def test_stopword_query_has_no_coverage() -> None:
    note = Candidate("a", content="The tea is there.", score=0.5)
    assert scorer("is the tea", note).evidence(note).coverage == 1.0
    assert scorer("is the tea", note, only_stopwords=True).evidence(note).coverage == 0.0


CALIBRATION = Calibration(-6.0, 9.0, 2.0, -1.0, 4.0, 3.0)
MINILM_INT8 = calibration_of("all-MiniLM-L6-v2/int8")


def test_confidence_is_logistic() -> None:
    # −6 + 9·0.5 + 2·1 − 1·0.5·1 + 4·0.25 + 3·1 = 4
    assert confidence(ConfidenceEvidence(0.5, 1.0, 0.25, 1.0), CALIBRATION) == pytest.approx(0.982013790)
    # −6 + 9·2/3 = 0
    assert confidence(ConfidenceEvidence(2 / 3, 0.0, 0.0), CALIBRATION) == pytest.approx(0.5)


def test_margin_is_clamped_to_half() -> None:
    at_limit, above_limit = (confidence(ConfidenceEvidence(0.5, 0.5, margin), CALIBRATION) for margin in (0.5, 0.9))
    assert at_limit == above_limit
    at_negative_limit, below_negative_limit = (
        confidence(ConfidenceEvidence(0.5, 0.5, margin), CALIBRATION) for margin in (-0.5, -3.0)
    )
    assert at_negative_limit == below_negative_limit < at_limit


def test_confidence_without_similarity_uses_lexical_weights() -> None:
    evidence = ConfidenceEvidence(None, 1.0, 0.5)
    assert confidence(evidence, CALIBRATION) == confidence(evidence, LEXICAL_ONLY) > 0.5
    assert confidence(ConfidenceEvidence(None, 0.2, 0.0), CALIBRATION) < 0.25
    assert LEXICAL_ONLY.similarity == 0.0


@given(st.floats(-1, 1) | st.none(), st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1))
def test_confidence_is_bounded_and_monotonic(
    similarity: float | None, coverage: float, margin: float, time: float
) -> None:
    evidence = ConfidenceEvidence(similarity, coverage, margin, time)
    value = confidence(evidence, MINILM_INT8)
    assert 0 <= value <= confidence(evidence._replace(margin=1.0, time_match=1.0), MINILM_INT8) <= 1


def test_confidence_of_exact_and_unrelated_notes() -> None:
    assert confidence(ConfidenceEvidence(0.1, 1.0, 0.5), MINILM_INT8) > 0.8
    assert confidence(ConfidenceEvidence(0.15, 0.0, 0.02), MINILM_INT8) < 0.05


def test_confidence_of_extreme_similarities() -> None:
    assert confidence(ConfidenceEvidence(1e9, 1.0, 0.0), CALIBRATION) == pytest.approx(1.0)
    assert confidence(ConfidenceEvidence(-1e9, 1.0, 0.0), CALIBRATION) == pytest.approx(0.0)


def test_model_quality() -> None:
    assert calibration_of("wordllama").model_quality == 0.45
    assert MINILM_INT8.model_quality == calibration_of("my own").model_quality == 1.0


def test_unknown_model_uses_lexical_weights() -> None:
    assert calibration_of("") == calibration_of("my own") == LEXICAL_ONLY
