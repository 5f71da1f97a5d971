from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import recollect
from recollect.cli.demo import EXAMPLES
from recollect.sample import sample_notes
from tests.cli.conftest import Run, error_of
from tests.requirements import require_embedder


def test_demo_tour(run: Run) -> None:
    require_embedder()
    result = run("demo", "--embedder", "auto", "--db", "demo.db")
    assert (result.exit_code, result.stderr) == (0, "excluding notes with: friday\n")
    assert result.stdout.startswith(
        "Recollect · a year of Maren Oduya's life and work\n327 notes, 96 links, 327 vectors\n"
    )
    commands = [shlex.split(line[2:]) for line in result.stdout.splitlines() if line.startswith("$ recollect search")]
    assert len(commands) == len(EXAMPLES)
    assert result.stdout.count("$ recollect explain") == 2
    for part in ("An exact error code", " 1  Liv and amoxicillin\n", "vector 1", "    fused  ", "Next steps"):
        assert part in result.stdout
    for arguments in commands[:3]:
        output = run(*arguments[1:], "-k", "3", "-q", "--db", "demo.db", "--embedder", "auto").stdout
        assert output in result.stdout
    again = run("demo", "--db", "demo.db", "--embedder", "auto", "frame number of the bike")
    assert "$ recollect search 'frame number of the bike'\n" in again.stdout


def test_demo_query(run: Run) -> None:
    result = run("demo", "ERR_4021", "root")
    assert result.exit_code == 0
    assert "$ recollect search 'ERR_4021 root'\n" in result.stdout
    assert "$ recollect demo --db demo.db " in result.stdout
    weak = run("demo", "root", "lantern", "violin", "harbour")
    assert weak.exit_code == 1
    assert "no answer to 'root lantern violin harbour'" in weak.stderr
    nothing = run("demo", "-q", "--", "-xyzzyx")
    assert nothing.exit_code == 1
    assert "$ recollect search -- -xyzzyx\n" in nothing.stdout
    assert nothing.stderr == ""
    assert not list(Path().iterdir())


def test_demo_without_a_model(run: Run) -> None:
    result = run("demo")
    assert result.exit_code == 0
    assert "nothing was found for 'which medicine is dangerous for my daughter?'; try other words" in result.stderr
    assert " 1  Deploy day moves to Tuesday\n" in result.stdout


def test_demo_json(run: Run) -> None:
    data = json.loads(run("demo", "--json").stdout)
    assert [(example["arguments"], example["why"]) for example in data] == [(list(args), why) for args, why in EXAMPLES]
    assert all(example["trace"] for example in data)


@pytest.mark.usefixtures("sample_path")
def test_demo_leaves_other_memories_alone(run: Run) -> None:
    assert error_of(run("demo", "--db", "recollect.db"), 2).startswith(
        "recollect.db contains other notes; choose a new"
    )
    assert len(run("export").stdout.splitlines()) == 3


def test_demo_prints_warnings(run: Run) -> None:
    pytest.importorskip("wordllama")
    with recollect.open("demo.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add_many(sample_notes())
    result = run("demo", "--db", "demo.db", "ERR_4021", "--embedder", "static")
    assert result.exit_code == 0
    assert "reindex the memory to embed its notes again\n" in result.stderr
