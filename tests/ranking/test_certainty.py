"""How sure it is that a note has to do with a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ranking import Calibration, calibration_of, confidence
from recollect.ranking.certainty import UNKNOWN, WORDS_ALONE

MEASURED = Calibration(-6.0, 9.0, 2.0)


def test_a_logistic_curve() -> None:
    assert confidence(4 / 9, 1.0, MEASURED) == pytest.approx(0.5)  # −6 + 4 + 2 = 0
    assert confidence(2 / 3, 0.0, MEASURED) == pytest.approx(0.5)
    assert confidence(1.0, 1.0, MEASURED) == pytest.approx(0.993307149)  # −6 + 9 + 2 = 5


def test_without_a_similarity_words_count_alone() -> None:
    assert confidence(None, 0.0, MEASURED) < 0.2
    assert confidence(None, 1.0, MEASURED) == confidence(None, 1.0, UNKNOWN) > 0.5
    assert WORDS_ALONE.similarity == 0.0


@given(st.floats(-1, 1) | st.none(), st.floats(0, 1), st.sampled_from([UNKNOWN, MEASURED]))
def test_it_lies_between_0_and_1_and_rises_with_what_is_held(
    similarity: float | None, coverage: float, calibration: Calibration
) -> None:
    value = confidence(similarity, coverage, calibration)
    assert 0 <= value <= confidence(similarity, 1.0, calibration) <= 1


def test_numbers_beyond_measure() -> None:
    assert confidence(1e9, 1.0, MEASURED) == pytest.approx(1.0)
    assert confidence(-1e9, 1.0, MEASURED) == pytest.approx(0.0)


def test_a_weak_model_is_known_to_be_weak() -> None:
    assert calibration_of("wordllama").strength == 0.45
    assert calibration_of("all-MiniLM-L6-v2").strength == calibration_of("my own").strength == 1.0


def test_a_model_that_was_never_measured() -> None:
    assert calibration_of("") == calibration_of("my own") == UNKNOWN
