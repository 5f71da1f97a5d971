from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect
from recollect.evaluation import load_dataset
from recollect.sample import sample_notes
from tests.cli.conftest import Run, error_of


@pytest.fixture
def sample() -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add_many(sample_notes())


@pytest.mark.usefixtures("sample")
def test_questions_writes_a_folder(run: Run) -> None:
    result = run("questions", "asked", "--each", "5")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:5]] == [
        ["exact", "5"],
        ["multi-hop", "5"],
        ["typo", "5"],
        ["temporal", "5"],
        ["stale", "5"],
    ]
    assert lines[5].split() == ["unanswerable", "0"]  # the sample cannot be foreign to itself
    made = load_dataset("asked")
    assert made.synthetic
    assert f"  {made.questions[0].text} · " in lines[0]
    assert lines[6].startswith("synthetic: made by rule from ")
    assert lines[7].startswith("unanswerable: 0 of 5 made; ")
    assert lines[8:] == ["written to asked; use them with:", "  recollect eval asked", "  recollect tune asked"]


@pytest.mark.usefixtures("filled")
def test_questions_names_the_memory_in_commands(run: Run) -> None:
    Path("recollect.db").rename("my notes.db")
    shown = run("questions", "asked", "--db", "my notes.db", "--namespace", "default", "--seed", "3").stdout
    assert "  recollect tune asked --db 'my notes.db' --namespace default\n" in shown
    assert "multi-hop: 0 of 100 made; no other notes are connected and have rare words of their own\n" in shown
    assert "seed 3" in shown


@pytest.mark.usefixtures("filled")
def test_questions_json(run: Run) -> None:
    data = json.loads(run("questions", "asked", "--json").stdout)
    assert data["folder"] == "asked"
    assert data["synthetic"] is True
    assert data["strata"]["exact"] == 3
    assert data["strata"]["unanswerable"] == 100  # about the sample's notes
    assert len(data["remarks"]) == 6


@pytest.mark.usefixtures("sample")
def test_questions_from_a_foreign_memory(run: Run) -> None:
    with recollect.open("stars.db", embedder=None) as memory:
        memory.add("Comet Borrelly crossed the orbit of Neptune, trailing ionised plasma.")
    data = json.loads(run("questions", "asked", "--each", "3", "--foreign", "stars.db", "--json").stdout)
    assert data["strata"]["unanswerable"] == 1
    (question,) = load_dataset("asked").unanswerable
    assert question.strata == ("unanswerable",)


def test_questions_without_notes(run: Run) -> None:
    run("add", "the")
    result = run("questions", "asked")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "no question could be generated: too few notes have terms of their own\n"
    assert not Path("asked").exists()
    result = run("questions", "asked", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["folder"] is None


@pytest.mark.usefixtures("filled")
def test_questions_wrong_use(run: Run) -> None:
    assert error_of(run("questions", "."), 2).startswith("folder: . has something in it already")
    assert "there is no memory at none.db" in error_of(run("questions", "asked", "--db", "none.db"), 2)
    assert "--each" in error_of(run("questions", "asked", "--each", "0"), 2)
