"""Tuning from the command line, over memories in which it is known which constant is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import recollect
from recollect.evaluation import Collection, Dataset, Question
from recollect.evaluation.synthetic import write_questions
from recollect.retrieval import preset_from
from tests.cli.conftest import Run, error_of

NARROW = """
[fusion]
method = "rrf"
[graph]
use = "off"
[[stages]]
stage = "importance"
base = 1.0
slope = 0.0
"""
"""A preset in which importance counts for nothing."""


def asked(count: int, *, synthetic: bool = False) -> None:
    """Write questions that two notes answer alike by their words, and the important one in truth."""
    questions = [
        Question(id=f"q{place}", text=f"code{place}", collection="default", relevant={f"right{place}": 1})
        for place in range(count)
    ]
    empty = {"default": Collection(id="default", notes=())}
    write_questions(Dataset(name="", collections=empty, questions=tuple(questions), synthetic=synthetic), "asked")


@pytest.fixture(autouse=True)
def _memory() -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        for place in range(30):
            memory.add(f"code{place}", id=f"right{place}", path=f"z/{place}", importance=1.0)
            memory.add(f"code{place}", id=f"wrong{place}", path=f"a/{place}", importance=0.0)
    Path("narrow.toml").write_text(NARROW)


def test_a_gain_is_reported_and_written(run: Run) -> None:
    asked(30)
    result = run("tune", "asked", "--preset", "narrow.toml", "--measure", "mrr", "--out", "mine.toml")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0].startswith("asked  30 questions · narrow mrr 0.500 · ")
    assert lines[0].endswith(" settings tried · 5 folds")
    assert lines[2].split() == ["setting", "before", "after", "chosen", "in"]
    assert lines[3].split() == ["stages.importance.slope", "0", "0.1", "5", "of", "5", "folds"]
    assert lines[5] == "significant: held out, it gained +0.500 (+0.500 to +0.500, p < 0.001)"
    assert lines[6] == "written to mine.toml; recollect search QUERY --preset mine.toml searches with it"
    tuned = preset_from("mine.toml")
    assert tuned.name == "mine"
    assert tuned.about == "narrow tuned on 30 questions of asked: mrr +0.500 (+0.500 to +0.500) held out"
    assert tuned.stages[0].settings["slope"] == 0.1
    found = json.loads(run("search", "code7", "--preset", "mine.toml", "--json").stdout)
    assert found["hits"][0]["id"] == "right7"


def test_a_terminal_sees_how_far_it_has_come(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(30)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    shown = run("tune", "asked", "--preset", "narrow.toml", "--measure", "mrr").stderr
    assert "Measuring the preset to begin with" in shown
    assert re.search(r"Trying settings .* \d+/\d+", shown)
    assert "Reading" not in shown
    assert run("tune", "asked", "--preset", "narrow.toml", "--measure", "mrr", "--force", "-q").stderr == ""


def test_as_json(run: Run) -> None:
    asked(30, synthetic=True)
    told = json.loads(run("tune", "asked", "--preset", "narrow.toml", "--measure", "mrr", "--json", "-q").stdout)
    assert told["out"] == "tuned.toml"
    assert told["synthetic"] is True
    assert told["recommended"] is True
    assert told["before"] == 0.5
    assert "synthetic questions of asked" in preset_from("tuned.toml").about


def test_what_is_not_significant_is_not_written(run: Run) -> None:
    asked(20, synthetic=True)
    result = run("tune", "asked", "--measure", "any@5", "--preset", "narrow.toml", "--folds", "2")
    assert result.exit_code == 1
    assert "not significant: nothing that was tried is better on all questions; keep the preset narrow" in result.stdout
    assert "synthetic: made by rule, they say little about other questions" in result.stdout
    assert not Path("tuned.toml").exists()
    assert (
        json.loads(run("tune", "asked", "--measure", "any@5", "--preset", "narrow.toml", "--json").stdout)["out"]
        is None
    )


def test_questions_of_another_memory(run: Run) -> None:
    asked(20)
    with recollect.open("other.db", embedder=None) as memory:
        memory.add("tea")
    said = error_of(run("tune", "asked", "--db", "other.db", "--preset", "narrow.toml"), 2)
    assert said.startswith("memory: holds none of the notes that judgements name in namespace 'default'")
    with recollect.open("other.db", embedder=None) as memory:
        memory.add("milk", id="right0")
    result = run("tune", "asked", "--db", "other.db", "--preset", "narrow.toml")
    assert result.exit_code == 1
    assert "warning: judgements name notes that this memory lacks" in result.stderr
    assert "warning: under the preset it begins with, no question found any of its notes" in result.stderr


def test_a_dataset_with_notes_of_its_own(run: Run) -> None:
    asked(20)
    rows = [
        {"_id": f"{kind}{place}", "text": f"code{place}", "metadata": {"importance": worth, "path": f"{worth}/{place}"}}
        for place in range(20)
        for kind, worth in (("right", 1.0), ("wrong", 0.0))
    ]
    Path("asked/corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("tune", "asked", "--preset", "narrow.toml", "--measure", "mrr", "--db", "none.db", "--cache", "kept")
    assert result.exit_code == 0, result.output
    assert "written to tuned.toml" in result.stdout


def test_searches_that_had_to_do_without_something_say_so(run: Run) -> None:
    pytest.importorskip("wordllama")
    asked(20)
    result = run("tune", "asked", "--preset", "narrow.toml", "--embedder", "static")
    assert "warning: no note has a vector yet" in result.stderr


def test_wrong_use(run: Run) -> None:
    asked(19)
    told = error_of(run("tune", "asked"), 2)
    assert told.startswith("questions: there must be at least 20 to tell a gain from chance, got 19")
    assert error_of(run("tune", "asked", "--out", "tuned"), 2).startswith("--out must end in .toml")
    Path("tuned.toml").write_text("mine")
    assert error_of(run("tune", "asked"), 2).startswith("tuned.toml exists; choose another name")
    assert error_of(run("tune", "asked", "--force", "--preset", "best"), 2).startswith("preset: must be one of")
    assert Path("tuned.toml").read_text() == "mine"
    assert "does not exist" in error_of(run("tune", "nowhere"), 2)
    assert "--folds" in error_of(run("tune", "asked", "--folds", "1"), 2)
