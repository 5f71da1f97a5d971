from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import RecollectError
from recollect.evaluation import Collection, Question, Ranking
from recollect.evaluation.journal import Journal, code_digest, collection_digest, question_digest
from recollect.model import Note

FOUND = Ranking(("n1", "Ünï"), (0.1 + 0.2, 1e-30), 1.25, confidences=(0.7, 0.1 + 0.2))


def test_what_was_written_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a.jsonl"
    with Journal(path) as journal:
        assert journal.rankings == {}
        journal.write("q1", FOUND)
        journal.write("q2", Ranking((), (), 0.5))
    with Journal(path) as journal:
        assert journal.rankings == {"q1": FOUND, "q2": Ranking((), (), 0.5)}


def test_lines_of_version_1_have_no_confidences_and_those_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('["q1", ["n1"], [0.5], 1.25]\n["q2", "n1"]\n{"version": 3, "question": "q3"}\n7\n')
    with Journal(path) as journal:
        assert journal.rankings == {"q1": Ranking(("n1",), (0.5,), 1.25)}


def test_what_had_to_do_without_something_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.write("q1", Ranking(("n1",), (0.5,), 1.0, ("the embedder did not answer",)))
        assert journal.rankings["q1"].ids == ("n1",)
    with Journal(path) as journal:
        assert journal.rankings == {}


def test_a_line_that_is_not_whole_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.write("q1", FOUND)
        journal.write("q2", FOUND)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with Journal(path) as journal:
            assert set(journal.rankings) <= {"q1", "q2"}
            journal.write("q3", FOUND)
        with Journal(path) as journal:
            assert journal.rankings["q3"] == FOUND
            assert all(ranking == FOUND for ranking in journal.rankings.values())


def test_afresh(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.write("q1", FOUND)
    with Journal(path, fresh=True) as journal:
        assert journal.rankings == {}
    with Journal(path, fresh=True) as journal:
        journal.write("q2", FOUND)
    with Journal(path) as journal:
        assert list(journal.rankings) == ["q2"]


def test_two_may_write_at_once(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl") as one, Journal(tmp_path / "a.jsonl") as other:
        for number in range(20):
            (one if number % 2 else other).write(f"q{number}", FOUND)
    with Journal(tmp_path / "a.jsonl") as journal:
        assert len(journal.rankings) == 20


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with Journal(tmp_path / "taken" / "a.jsonl", fresh=True) as journal, pytest.raises(RecollectError, match="--cache"):
        journal.write("q1", FOUND)


def test_digests_change_with_what_matters() -> None:
    tea, milk = Note(id="n1", content="Tea."), Note(id="n1", content="Milk.")
    digests = [collection_digest(Collection(id="a", notes=notes)) for notes in ((), (tea,), (milk,), (tea, milk))]
    assert len(set(digests)) == 4
    question = Question(id="q1", text="tea?", collection="a", relevant={"n1": 1})
    same = Question(id="q2", text="tea?", collection="a", relevant={"n2": 1}, strata=("exact",))
    dated = Question(id="q1", text="tea?", collection="a", relevant={"n1": 1}, asked="2026-04-18")
    assert question_digest(question, "x") == question_digest(same, "x")
    assert len({question_digest(question, "x"), question_digest(dated, "x"), question_digest(question, "y")}) == 3
    assert len(code_digest()) == 16
