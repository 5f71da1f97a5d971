from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation import load_dataset
from recollect.model import Link
from tests.evaluation.samples import KITCHEN


def write_beir_folder(
    folder: Path, corpus: list[dict[str, Any]] | None, queries: list[dict[str, Any]], qrels: str = "q1\tn1\t1\n"
) -> Path:
    """Write a BEIR dataset into an empty folder; return the folder."""
    (folder / "qrels").mkdir()
    (folder / "qrels" / "train.tsv").write_text(qrels)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        if rows is not None:
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_beir_sample() -> None:
    dataset = load_dataset(KITCHEN)
    assert (dataset.name, dataset.notes, len(dataset.questions)) == ("kitchen", 12, 6)
    assert dataset.strata == ("exact", "multi-hop", "paraphrase")
    assert dataset.remarks == ("1 question left out: no note is relevant",)
    assert not dataset.synthetic
    third = dataset.questions[2]
    assert (third.id, dict(third.relevant), third.strata) == ("q3", {"k2": 2, "k1": 1}, ("multi-hop", "paraphrase"))
    assert dict(dataset.questions[1].relevant) == {"k6": 2}  # a grade of 0 is no answer
    assert [question.asked_at for question in dataset.questions] == ["", "", "", "2025-03-01", "", ""]


def test_beir_metadata_becomes_note_fields() -> None:
    notes = {note.id: note for note in load_dataset(KITCHEN).collections["default"].notes}
    sourdough = notes["k1"]
    assert (sourdough.path, sourdough.tags, sourdough.title) == ("bread/sourdough.md", ("bread",), "Sourdough")
    assert sourdough.links == (Link("related", "k2"),)
    assert sourdough.created_at is not None
    assert sourdough.created_at.isoformat() == "2025-01-04T00:00:00+00:00"
    assert notes["k2"].metadata == {"oven": "none"}
    assert notes["k6"].importance == 0.9
    assert (notes["k8"].session, notes["k8"].position) == ("oma", 1)


def test_beir_document_without_text() -> None:
    (note,) = (note for note in load_dataset(KITCHEN).collections["default"].notes if note.id == "k9")
    assert (note.title, note.content) == ("", "A drawer that sticks")


def test_beir_unanswerable_queries(tmp_path: Path) -> None:
    queries: list[dict[str, Any]] = [
        {"_id": "q1", "text": "which tea?"},
        {"_id": "q2", "text": "who is king?", "metadata": {"strata": ["unanswerable", "names"]}},
        {"_id": "q3", "text": "which milk?", "metadata": {"stratum": "exact"}},
    ]
    dataset = load_dataset(write_beir_folder(tmp_path, [{"_id": "n1", "text": "Green tea."}], queries))
    assert [(question.id, dict(question.relevant), question.strata) for question in dataset.questions] == [
        ("q1", {"n1": 1}, ()),
        ("q2", {}, ("unanswerable", "names")),
    ]
    assert [question.id for question in dataset.unanswerable] == ["q2"]
    assert dataset.remarks == ("1 question left out: no note is relevant",)


def test_beir_needs_an_answerable_query(tmp_path: Path) -> None:
    queries = [{"_id": "q2", "text": "who is king?", "metadata": {"stratum": "unanswerable"}}]
    with pytest.raises(ArgumentError, match="has no question with a relevant note"):
        load_dataset(write_beir_folder(tmp_path, [{"_id": "n1", "text": "Green tea."}], queries, qrels=""))


def test_beir_split() -> None:
    dataset = load_dataset(KITCHEN, split="dev")
    assert [question.id for question in dataset.questions] == ["q1", "q5"]
    assert dataset.remarks == (
        "5 questions left out: no note is relevant",
        "1 judged question left out: not in queries.jsonl",
        "1 judgement of notes that are not in the corpus: these notes can never be found",
    )
    with pytest.raises(ArgumentError, match="split: must be one of dev, test, got 'train'"):
        load_dataset(KITCHEN, split="train")


def test_beir_default_split(tmp_path: Path) -> None:
    folder = write_beir_folder(tmp_path, [{"_id": "n1", "text": "tea"}], [{"_id": "q1", "text": "tea?"}])
    assert len(load_dataset(folder).questions) == 1
    (folder / "qrels" / "dev.tsv").write_text("q1\tn1\t1\n")
    with pytest.raises(ArgumentError, match="split: must be one of dev, train$"):
        load_dataset(folder)
    for path in (folder / "qrels").iterdir():
        path.unlink()
    with pytest.raises(IngestError, match="has no judgements; put them into qrels/test.tsv"):
        load_dataset(folder)


def test_beir_without_corpus(tmp_path: Path) -> None:
    folder = write_beir_folder(tmp_path, None, [{"_id": "q1", "text": "tea?", "metadata": {"synthetic": True}}])
    dataset = load_dataset(folder)
    assert (dataset.notes, len(dataset.questions), dataset.synthetic, dataset.remarks) == (0, 1, True, ())


def test_beir_empty_corpus(tmp_path: Path) -> None:
    folder = write_beir_folder(tmp_path, [], [{"_id": "q1", "text": "tea?"}])
    with pytest.raises(IngestError, match="corpus.jsonl: has no notes"):
        load_dataset(folder)
    (folder / "corpus.jsonl").rename(folder / "corpus.jsonl.gz")
    with pytest.raises(IngestError, match="corpus.jsonl.gz: is compressed; decompress it with gunzip"):
        load_dataset(folder)


@pytest.mark.parametrize("repeated_id", ["q1", "q2"])
def test_beir_duplicate_question_id(tmp_path: Path, repeated_id: str) -> None:
    questions = [{"_id": entry, "text": "tea?"} for entry in ("q1", "q2", repeated_id)]
    with pytest.raises(IngestError, match=f"line 3: the _id '{repeated_id}' occurs twice"):
        load_dataset(write_beir_folder(tmp_path, [{"_id": "n1", "text": "tea"}], questions))


def test_beir_unreadable_date(tmp_path: Path) -> None:
    questions = [{"_id": "q1", "text": "tea?", "metadata": {"asked": "whenever"}}]
    dataset = load_dataset(write_beir_folder(tmp_path, [{"_id": "n1", "text": "tea"}], questions))
    assert dataset.remarks == ("1 question with a date that cannot be read: the date is ignored",)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "tea"}], "corpus.jsonl, line 1: '_id' is missing"),
        ([{"_id": "n1", "text": "a"}, {"_id": "n1", "text": "b"}], "line 2: the id n1 occurs twice"),
        (
            [{"_id": str(number), "text": "a", "metadata": {"path": "tea.md"}} for number in range(2)],
            "line 2: the path tea.md occurs twice",
        ),
        ([{"_id": "n1", "text": "a", "metadata": {"importance": 7}}], "line 1: importance: must be at most 1, got 7"),
        ([{"_id": "n1", "text": "a", "metadata": {"created_at": "soon"}}], "line 1: created_at: must be an ISO-8601"),
        ([{"_id": "n1", "text": "a", "metadata": [1]}], "line 1: 'metadata' cannot be list"),
    ],
)
def test_beir_corpus_errors_name_the_line(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    folder = write_beir_folder(tmp_path, rows, [{"_id": "q1", "text": "tea?"}])
    with pytest.raises(IngestError, match=re.escape(message)):
        load_dataset(folder)


def test_beir_strata_types(tmp_path: Path) -> None:
    folder = write_beir_folder(tmp_path, None, [{"_id": "q1", "text": "tea?", "metadata": {"strata": {"a": 1}}}])
    with pytest.raises(IngestError, match="line 1: strata must be a list of names, got dict"):
        load_dataset(folder)


def test_beir_null_metadata(tmp_path: Path) -> None:
    row = {"_id": 1, "title": None, "text": None, "metadata": None}
    dataset = load_dataset(write_beir_folder(tmp_path, [row], [{"_id": 1, "text": "tea?"}], qrels="1\t1\t1\n"))
    assert [(note.id, note.content) for note in dataset.collections["default"].notes] == [("1", "")]
