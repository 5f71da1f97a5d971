from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation import DATASETS, Collection, Dataset, Question, load_dataset
from recollect.evaluation.datasets.files import DatasetFormat, DatasetSource
from recollect.model import Note
from tests.evaluation.samples import HAYSTACKS, KITCHEN, TALKS


def test_load_dataset_detects_formats() -> None:
    for path, name in ((KITCHEN, "beir"), (TALKS, "locomo"), (HAYSTACKS, "longmemeval")):
        assert load_dataset(path) == load_dataset(str(path), format=name)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (KITCHEN, {"format": "csv"}, "format: must be one of beir, locomo, longmemeval"),
        (KITCHEN, {"level": "word"}, "level: must be one of turn, session"),
        (KITCHEN, {"pool": True}, "pool: is for longmemeval; leave it out for "),
        (TALKS, {"pool": True}, "pool: is for longmemeval; leave it out for "),
        (KITCHEN, {"corrections": TALKS}, "corrections: is for locomo; leave it out for beir"),
        (TALKS, {"corrections": KITCHEN}, "corrections: there is no file "),
        (KITCHEN / "nowhere", {}, "dataset: there is no "),
        (KITCHEN / "qrels", {}, "is no BEIR folder: there is no queries.jsonl in it"),
        (KITCHEN, {"format": "locomo"}, "is a folder; LoCoMo and LongMemEval are JSON files"),
    ],
)
def test_load_dataset_errors(path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        load_dataset(path, **options)


def test_load_dataset_unknown_json(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(IngestError, match="must be a list of objects"):
        load_dataset(path)
    path.write_text('[{"tea": "green"}]')
    with pytest.raises(ArgumentError, match="is not recognised as beir, locomo, longmemeval"):
        load_dataset(path)


def test_load_dataset_without_questions(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text("[]")
    with pytest.raises(ArgumentError, match=r"has no question with a relevant note$"):
        load_dataset(path, format="locomo")
    path.write_text('[{"conversation": {}, "qa": [{"question": "Tea?", "evidence": []}]}]')
    with pytest.raises(ArgumentError, match=r"note \(1 question left out: the evidence names no existing turn\)"):
        load_dataset(path)


def test_a_new_format_is_one_registry_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_pairs(source: DatasetSource, *, split: str = "all") -> Dataset:
        (pair,) = source.samples
        notes = (Note(id="n1", content=pair["note"]),)
        question = Question(id="q1", text=pair["question"], collection=split, relevant={"n1": 1})
        return Dataset(name="pairs", collections={split: Collection(id=split, notes=notes)}, questions=(question,))

    pairs = DatasetFormat(lambda source: {"question", "note"} <= source.keys, load_pairs, frozenset(("split",)))
    monkeypatch.setitem(DATASETS, "pairs", pairs)
    path = tmp_path / "pairs.json"
    path.write_text('[{"question": "which tea?", "note": "Green tea."}]')
    assert load_dataset(path) == load_dataset(path, format="pairs")
    assert load_dataset(path, split="dev").questions[0].collection == "dev"
    with pytest.raises(ArgumentError, match="level: is for locomo and longmemeval; leave it out for pairs"):
        load_dataset(path, level="turn")
