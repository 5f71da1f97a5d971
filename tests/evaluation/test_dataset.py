from __future__ import annotations

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import Dataset, Question, load_dataset
from tests.evaluation.samples import TALKS


def test_sample_is_spread_evenly() -> None:
    all_questions = tuple(Question(id=f"q{number}", text="?", collection="", relevant={"n": 1}) for number in range(10))
    dataset = Dataset(name="ten", collections={}, questions=all_questions)
    assert [question.id for question in dataset.sample(3).questions] == ["q0", "q3", "q6"]
    assert dataset.sample(3).remarks == ("a sample of 3 of 10 questions",)
    assert dataset.sample(10) is dataset
    with pytest.raises(ArgumentError, match="size: must be at least 1"):
        dataset.sample(0)


def test_sample_covers_collections() -> None:
    assert {question.collection for question in load_dataset(TALKS).sample(2).questions} == {"talk-1"}
    assert {question.collection for question in load_dataset(TALKS).sample(4).questions} == {"talk-1", "conversation-2"}
