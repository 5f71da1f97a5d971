"""Confidence: how likely it is that a note answers a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ranking import Calibration, ConfidenceEvidence, calibration_of, confidence
from recollect.ranking.certainty import LEXICAL_ONLY

MEASURED = Calibration(-6.0, 9.0, 2.0, -1.0, 4.0, 3.0)
MINILM = calibration_of("all-MiniLM-L6-v2/int8")


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
    value = confidence(evidence, MINILM)
    assert 0 <= value <= confidence(evidence._replace(margin=1.0, time_match=1.0), MINILM) <= 1


def test_a_single_exact_term_is_an_answer_and_an_unrelated_note_is_none() -> None:
    assert confidence(ConfidenceEvidence(0.1, 1.0, 0.5), MINILM) > 0.8
    assert confidence(ConfidenceEvidence(0.15, 0.0, 0.02), MINILM) < 0.05


def test_numbers_beyond_measure() -> None:
    assert confidence(ConfidenceEvidence(1e9, 1.0, 0.0), MEASURED) == pytest.approx(1.0)
    assert confidence(ConfidenceEvidence(-1e9, 1.0, 0.0), MEASURED) == pytest.approx(0.0)


def test_a_weak_model_is_known_to_be_weak() -> None:
    assert calibration_of("wordllama").strength == 0.45
    assert MINILM.strength == calibration_of("my own").strength == 1.0


def test_the_similarity_of_a_model_that_was_never_measured_does_not_count() -> None:
    assert calibration_of("") == calibration_of("my own") == LEXICAL_ONLY
