from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation import load_dataset
from tests.evaluation.samples import HAYSTACKS, KITCHEN, TALKS


def test_formats_are_seen_or_named() -> None:
    for path, name in ((KITCHEN, "beir"), (TALKS, "locomo"), (HAYSTACKS, "longmemeval")):
        assert load_dataset(path) == load_dataset(str(path), format=name)


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        (KITCHEN, {"format": "csv"}, "format: must be one of beir, locomo, longmemeval"),
        (KITCHEN, {"level": "word"}, "level: must be one of turn, session"),
        (KITCHEN, {"pool": True}, "pool: is for LongMemEval"),
        (TALKS, {"pool": True}, "pool: is for LongMemEval"),
        (KITCHEN / "nowhere", {}, "dataset: there is no "),
        (KITCHEN / "qrels", {}, "is no BEIR folder: there is no queries.jsonl in it"),
        (KITCHEN, {"format": "locomo"}, "is a folder; locomo is a JSON file"),
    ],
)
def test_what_cannot_be_read(path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        load_dataset(path, **options)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(IngestError, match="must be a list of objects"):
        load_dataset(path)
    path.write_text('[{"tea": "green"}]')
    with pytest.raises(ArgumentError, match="is none of beir, locomo, longmemeval"):
        load_dataset(path)


def test_without_questions_there_is_nothing_to_judge(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text("[]")
    with pytest.raises(ArgumentError, match=r"has no question that could be judged$"):
        load_dataset(path, format="locomo")
    path.write_text('[{"conversation": {}, "qa": [{"question": "Tea?", "evidence": []}]}]')
    with pytest.raises(ArgumentError, match=r"judged \(1 question whose evidence names no turn left out\)"):
        load_dataset(path)
