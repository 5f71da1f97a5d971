"""Stats, doctor, reindex."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import Memory
from recollect.errors import EmbedderError
from recollect.stores.base import Finding
from tests.cli.conftest import NOTES, Run, error_of
from tests.embedders.test_registry import without

STATIC = ("--embedder", "static")
PARTS = ("file", "references", "words", "vectors", "mentions", "entities", "snapshots", "supersessions")


@pytest.mark.usefixtures("sample_path")
def test_stats(run: Run) -> None:
    lines = run("stats").stdout.splitlines()
    assert lines[0].startswith("memory           recollect.db (")
    assert lines[1:] == [
        "notes            3",
        "links            1",
        "documents        0",
        "embedder         no embedder: none requested",
    ]


def test_stats_of_namespaces_and_vectors(run: Run) -> None:
    with recollect.open("recollect.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add("tea")
        memory.add("tea", namespace="maren")
    output = run("stats").stdout
    assert "notes            2 (1 in default, 1 in maren)\n" in output
    assert "vectors          2 of " in output
    assert "not searched" not in output
    other_embedder = run("stats", "--embedder", "openai:m@http://localhost:1/v1")
    assert "                 2 notes without a vector of this model; run recollect reindex\n" in other_embedder.stdout
    assert other_embedder.stderr.startswith("warning: vector search is off: the stored vectors are of ")


@pytest.mark.usefixtures("sample_path")
def test_stats_json(run: Run) -> None:
    data = json.loads(run("stats", "--json").stdout)
    with recollect.open("recollect.db", embedder="none") as memory:
        assert data.keys() == memory.stats().to_dict().keys()
    assert data["notes"] == {"default": 3}


@pytest.mark.usefixtures("sample_path")
def test_doctor_warns_of_a_missing_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnxruntime", "wordllama")
    doctor = run("doctor", "--embedder", "auto")
    assert doctor.exit_code == 0
    line = doctor.stdout.splitlines()[-1]
    assert line.startswith("! embedder               no embedder: vector search is off, because no embedding model is")
    assert "pip install --force-reinstall recollectdb" in line
    assert "vector search is off" in run("stats", "--embedder", "auto").stdout


COMMANDS = (
    ["add", "More tea."],
    ["ingest", "vault"],
    ["import", "notes.jsonl"],
    ["search", "tea"],
    ["explain", "tea"],
    ["compare", "tea"],
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("sample_path")
def test_missing_model_is_a_warning_of_all_commands(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    Path("vault").mkdir()
    Path("vault", "tea.md").write_text("Tea at four.")
    Path("notes.jsonl").write_text('{"content": "Tea at five."}\n')
    assert "vector search" not in run(*command).output  # no embedder was requested
    without(monkeypatch, "onnxruntime", "wordllama")
    result = run(*command, "--embedder", "auto")
    assert result.exit_code == 0
    assert result.output.count("vector search is off, because no embedding model is installed") == 1
    if command[0] != "explain":  # the explanation has the warnings
        assert result.stderr.startswith(
            "warning: vector search is off, because no embedding model is installed: arctic-embed-s"
        )
        assert result.stderr.count("\n") == 1
    assert run(*command, "--embedder", "auto", "--quiet").stderr == ""


@pytest.mark.parametrize("size", [5000, 100_000])
@pytest.mark.usefixtures("sample_path")
def test_doctor_repair_of_a_file_that_cannot_be_repaired(run: Run, size: int) -> None:
    Path("recollect.db").write_bytes(Path("recollect.db").read_bytes()[:size])
    assert "is damaged; 'recollect doctor --repair' rebuilds" in error_of(run("doctor"), 1)
    assert error_of(run("doctor", "--repair"), 1) == (
        "recollect.db is damaged and cannot be repaired; restore a backup, or save what can be read with "
        "sqlite3 recollect.db .recover"
    )


def test_stats_name_a_namespace_other_than_the_default(run: Run) -> None:
    run("add", "Tea.", "--namespace", "other")
    assert re.search(r"^notes +1 \(1 in other\)$", run("stats").stdout, re.MULTILINE)


@pytest.mark.usefixtures("sample_path")
def test_doctor_of_a_healthy_memory(run: Run) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        *(["✓", part] for part in PARTS),
        ["!", "embedder"],
        ["vector", "search"],
    ]
    assert "none requested" in result.stdout
    warning = "vector search is off: to use it, choose an embedder"
    assert result.stdout.splitlines()[-1].strip() == warning
    assert run("doctor", "-q").output == ""
    data = json.loads(run("doctor", "--json").stdout)
    assert data["healthy"] is True
    healthy_finding = {"part": "file", "problem": "", "repairable": False, "warning": "", "advice": ""}
    assert data["findings"][0] == healthy_finding
    assert data["findings"][-1] == healthy_finding | {"part": "embedder", "warning": warning, "advice": warning}


def test_doctor_repairs_derived_data(run: Run, sample_path: Path) -> None:
    connection = apsw.Connection(str(sample_path))
    connection.execute("INSERT INTO words_1 (words_1) VALUES ('delete-all')")
    connection.close()
    result = run("doctor")
    assert result.exit_code == 1
    assert "✗ words of 'default'     the index does not agree" in result.stdout
    assert "recollect doctor --repair rebuilds it\n" in result.stdout
    assert len(run("doctor", "-q").stdout.splitlines()) == 2
    assert run("doctor", "--repair").exit_code == 0
    assert run("search", "tea").exit_code == 0


@pytest.mark.usefixtures("sample_path")
def test_doctor_advises_on_unrepairable_problems(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Finding("file", "page 3 is torn", repairable=False)]
    monkeypatch.setattr(Memory, "doctor", lambda *_, **__: findings)
    data = json.loads(run("doctor", "--json").stdout)
    assert data["findings"][0]["advice"].startswith("restore a backup")
    assert data["healthy"] is False


@pytest.mark.usefixtures("sample_path")
def test_reindex_embeds_missing_vectors(run: Run) -> None:
    pytest.importorskip("wordllama")
    unhealthy = run("doctor", *STATIC)
    assert unhealthy.exit_code == 1
    assert "3 notes have no vector" in unhealthy.stdout
    assert "; reindex the memory\n" in unhealthy.stdout
    assert "recollect reindex embeds them" in unhealthy.stdout
    assert run("reindex", *STATIC).stdout == "embedded 3 notes\n"
    assert run("reindex", *STATIC).stdout == "every note already has a vector\n"
    run("add", "Rooibos.")
    assert run("reindex", *STATIC, "-q").output == ""
    run("add", "Mate.")
    assert json.loads(run("reindex", *STATIC, "--json").stdout) == {"embedded": 1}
    assert run("doctor", *STATIC).exit_code == 0


@pytest.mark.usefixtures("sample_path")
def test_reindex_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordllama")

    def interrupted(_: Memory, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "reindex", interrupted)
    message = error_of(run("reindex", *STATIC), 130)
    assert message == "interrupted; embedded notes stay embedded, and reindex continues from there"


def test_stats_of_vectors_not_in_use(run: Run) -> None:
    pytest.importorskip("wordllama")
    with recollect.open("recollect.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add("tea")
    assert run("add", "Rooibos.", *STATIC, "-q").exit_code == 0
    assert ", not in use yet\n" in run("stats").stdout


@pytest.mark.usefixtures("sample_path")
def test_reindex_without_an_embedder(run: Run) -> None:
    message = "this memory has no embedder (none requested); choose an embedder"
    assert error_of(run("reindex"), 1) == message


def test_read_only_memory(run: Run, sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("sealed")
    folder.mkdir()
    with recollect.open(folder / "memory.db", embedder=None) as memory:
        memory.add_many(NOTES)
    sample_path = folder / "memory.db"
    sample_path.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    monkeypatch.setattr(os, "access", lambda _, wanted, **__: wanted != os.W_OK)  # the superuser can read every file
    try:
        for arguments in (["search", "tea"], ["get", "n1"], ["stats"], ["export"], ["backup", "copy.db"]):
            assert run(*arguments, "--db", str(sample_path)).exit_code == 0
    finally:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.usefixtures("sample_path")
def test_doctor_reports_an_embedder_that_cannot_be_loaded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise EmbedderError("onnxruntime cannot be imported")

    monkeypatch.setattr("recollect.embedders.static.StaticEmbedder.embed_query", broken)
    unhealthy = run("doctor", *STATIC)
    assert unhealthy.exit_code == 1
    assert unhealthy.stdout.splitlines()[-2:] == [
        "✗ embedder               cannot embed: onnxruntime cannot be imported",
        "                         reinstall it, or choose another --embedder",
    ]
