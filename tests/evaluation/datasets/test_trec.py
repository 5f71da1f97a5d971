from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import IngestError
from recollect.evaluation import Question, Ranking, read_qrels, write_qrels, write_run

IDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


@example({"\ufeff": ["0"]})
@given(st.dictionaries(IDS, st.lists(IDS, unique=True, min_size=1, max_size=4), max_size=4))
def test_ids_round_trip(tmp_path_factory: pytest.TempPathFactory, rankings: dict[str, list[str]]) -> None:
    folder = tmp_path_factory.mktemp("trec")
    by_question = {question: Ranking(tuple(ids), (0.5,) * len(ids), 1.0) for question, ids in rankings.items()}
    write_run(folder / "run", by_question, tag="a tag")
    rows = [line.split(" ") for line in (folder / "run").read_text(encoding="utf-8").splitlines()]
    assert [(unquote(row[0]), unquote(row[2])) for row in rows] == [
        (question, note) for question, notes in rankings.items() for note in notes
    ]
    questions = [
        Question(id=question_id, text="?", collection="", relevant=dict.fromkeys(ids, 2))
        for question_id, ids in rankings.items()
    ]
    write_qrels(folder / "qrels", questions)
    assert read_qrels(folder / "qrels") == {question.id: question.relevant for question in questions}


def test_write_run_format(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"conv 1/q1": Ranking(("D1:3", "50%"), (0.7, 0.7), 3.0)}, tag="default")
    assert (tmp_path / "run").read_text() == "conv%201/q1 Q0 D1:3 1 2 default\nconv%201/q1 Q0 50%25 2 1 default\n"


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("query-id\tcorpus-id\tscore\nq 1\tn%201\t2\n", {"q 1": {"n%201": 2}}),
        ("q1\tn1\t1.0\nq1\tn2\t0\n", {"q1": {"n1": 1, "n2": 0}}),
        ("q1\t0\tn1\t-1\n", {"q1": {"n1": -1}}),
        ("q%201 0 n1 3\n", {"q 1": {"n1": 3}}),
    ],
)
def test_read_qrels_header(tmp_path: Path, text: str, grades: dict[str, dict[str, int]]) -> None:
    (tmp_path / "qrels.tsv").write_text(text)
    assert read_qrels(tmp_path / "qrels.tsv") == grades


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 n1\n", "line 1: must be a question, a note and a grade, got 'q1 n1'"),
        ("q1\tn1\t1\nq1\tn2\tmuch\n", "line 2: the grade must be a number, got 'much'"),
        ("q1\tn1\t0.5\n", "line 1: the grade must be a whole number, got '0.5'"),
        ("q1\tn1\tinf\n", "line 1: the grade must be a whole number, got 'inf'"),
        ("q1\tn1\tyes\n", "line 1: the grade must be a number, got 'yes'"),
        ("q1\tn1\t1\nq1\tn1\t0\n", "line 2: 'n1' already has another grade for 'q1'"),
    ],
)
def test_read_qrels_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "qrels.tsv").write_text(text)
    with pytest.raises(IngestError, match=message):
        read_qrels(tmp_path / "qrels.tsv")


def test_paths_may_be_strings(tmp_path: Path) -> None:
    path = str(tmp_path / "qrels")
    write_qrels(path, [Question(id="q1", text="?", collection="", relevant={"n1": 1})])
    assert read_qrels(path) == {"q1": {"n1": 1}}
