from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import IngestError
from recollect.evaluation import Question, Ranking, read_qrels, read_run, write_qrels, write_run

IDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


@example({"\ufeff": ["0"]})
@given(st.dictionaries(IDS, st.lists(IDS, unique=True, min_size=1, max_size=4), max_size=4))
def test_ids_round_trip(tmp_path_factory: pytest.TempPathFactory, rankings: dict[str, list[str]]) -> None:
    folder = tmp_path_factory.mktemp("trec")
    made = {question: Ranking(tuple(ids), (0.5,) * len(ids), 1.0) for question, ids in rankings.items()}
    write_run(folder / "run", made, tag="a tag")
    assert {question: list(notes) for question, notes in read_run(folder / "run").items()} == rankings
    questions = [
        Question(id=identity, text="?", collection="", relevant=dict.fromkeys(ids, 2))
        for identity, ids in rankings.items()
    ]
    write_qrels(folder / "qrels", questions)
    assert read_qrels(folder / "qrels") == {question.id: question.relevant for question in questions}


def test_write_run_format(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"conv 1/q1": Ranking(("D1:3", "50%"), (0.7, 0.7), 3.0)}, tag="default")
    assert (tmp_path / "run").read_text() == "conv%201/q1 Q0 D1:3 1 2 default\nconv%201/q1 Q0 50%25 2 1 default\n"


def test_read_run_sorts_by_rank(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 2 9.5 t\nq Q0 a 1 1 t\n\nq Q0 c 10 0 t\n")
    assert list(read_run(tmp_path / "run")["q"].items()) == [("a", 1.0), ("b", 9.5), ("c", 0.0)]


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("query-id\tcorpus-id\tscore\nq 1\tn%201\t2\n", {"q 1": {"n%201": 2}}),
        ("q1\tn1\t1.0\nq1\tn2\t0\n", {"q1": {"n1": 1, "n2": 0}}),
        ("q1\t0\tn1\t-1\n", {"q1": {"n1": -1}}),
        ("q%201 0 n1 3\n", {"q 1": {"n1": 3}}),
    ],
)
def test_read_qrels_header(tmp_path: Path, text: str, judged: dict[str, dict[str, int]]) -> None:
    (tmp_path / "qrels.tsv").write_text(text)
    assert read_qrels(tmp_path / "qrels.tsv") == judged


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 n1\n", "line 1: must be a question, a note and a grade, got 'q1 n1'"),
        ("q1\tn1\t1\nq1\tn2\tmuch\n", "line 2: the grade must be a number, got 'much'"),
        ("q1\tn1\t0.5\n", "line 1: the grade must be a whole number, got '0.5'"),
        ("q1\tn1\tinf\n", "line 1: the grade must be a whole number, got 'inf'"),
        ("q1\tn1\tyes\n", "line 1: the grade must be a number, got 'yes'"),
        ("q1\tn1\t1\nq1\tn1\t0\n", "line 2: 'n1' has another grade before for 'q1'"),
    ],
)
def test_read_qrels_errors(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "qrels.tsv").write_text(text)
    with pytest.raises(IngestError, match=said):
        read_qrels(tmp_path / "qrels.tsv")


@pytest.mark.parametrize("line", ["q1 Q0 n1 1 0.5", "q1 Q0 n1 first 0.5 t", "q1 Q0 n1 1 nan t"])
def test_read_run_errors(tmp_path: Path, line: str) -> None:
    (tmp_path / "run").write_text(line)
    with pytest.raises(IngestError, match="run, line 1: must be question Q0 note rank score tag, got 'q1"):
        read_run(tmp_path / "run")


def test_read_run_duplicate_note(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 n1 1 0.5 t\nq1 Q0 n1 2 0.4 t\n")
    with pytest.raises(IngestError, match="run, line 2: 'n1' is there twice for 'q1'"):
        read_run(tmp_path / "run")


def test_paths_may_be_strings(tmp_path: Path) -> None:
    place = str(tmp_path / "file")
    write_qrels(place, [Question(id="q1", text="?", collection="", relevant={"n1": 1})])
    assert read_qrels(place) == {"q1": {"n1": 1}}
    write_run(place, {"q1": Ranking(("n1",), (0.5,), 1.0)}, tag="t")
    assert read_run(place) == {"q1": {"n1": 1.0}}
