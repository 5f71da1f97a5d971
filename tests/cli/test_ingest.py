from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of


@pytest.fixture
def vault() -> Path:
    folder = Path("vault")
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nPrefers green tea.\n")
    (folder / "bad.md").write_bytes(b"\x00\x01\x02" * 100)
    return folder


@pytest.mark.usefixtures("vault")
def test_ingest_folder_with_unreadable_files(run: Run) -> None:
    result = run("ingest", "vault", "--prefix", "work/")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: bad.md: ")
    assert result.stdout.splitlines() == [
        "files  1 read, 0 unchanged, 0 removed, 1 failed",
        "notes  1 added, 0 updated, 0 unchanged, 0 removed, 0 failed",
    ]
    assert "work/tea.md" in run("search", "green tea").stdout


@pytest.mark.usefixtures("vault")
def test_ingest_sums_reports(run: Run) -> None:
    Path("more.txt").write_text("Coffee.")
    run("ingest", "vault", "-q")
    data = json.loads(run("ingest", "vault", "more.txt", "--json").stdout)
    assert data["files"] == {"read": 1, "unchanged": 1, "removed": 0, "failed": 1}
    assert data["notes"] == {"added": 1, "updated": 0, "unchanged": 0, "removed": 0, "failed": 0}
    assert [problem["name"] for problem in data["problems"]] == ["bad.md"]


@pytest.mark.usefixtures("vault")
def test_ingest_counts_skipped_files(run: Run, vault: Path) -> None:
    for name in ("a.pdf", "b.pdf", "c.docx", "d.html", "e.csv", ".hidden.pdf", "tmp.bak"):
        (vault / name).write_text("x")
    (vault / ".gitignore").write_text("*.bak\n")
    (vault / "bad.md").unlink()
    result = run("ingest", "vault")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2] == (
        "skipped  2 .pdf, 1 .docx, 1 .html, 1 .csv; only Markdown, plain text, JSON and JSONL are read: "
        "convert the others to Markdown or text"
    )
    data = json.loads(run("ingest", "vault", "vault", "--json").stdout)
    assert data["skipped"] == {".pdf": 4, ".csv": 2, ".docx": 2, ".html": 2}


def test_ingest_empty_file_does_not_fail(run: Run) -> None:
    Path("vault").mkdir()
    Path("vault", "card.md").write_text("---\ntitle: Card\ntags: [x]\n---\n\n")
    result = run("ingest", "vault")
    assert result.exit_code == 0
    assert result.stderr == (
        "error: card.md: skipped: it has front matter and no text; write something below the front matter\n"
    )
    assert "notes  0 added" in result.stdout
    assert run("ingest", "vault").stderr == ""


def test_ingest_quiet_prints_errors(run: Run, vault: Path) -> None:
    (vault / "odd.md").write_text("---\nimportance: huge\n---\nTea.\n")
    result = run("ingest", "vault", "-q")
    assert result.stdout == ""
    assert [line.split(",")[0].split(":")[:2] for line in result.stderr.splitlines()] == [["error", " bad.md"]]
    (vault / "odd.md").write_text("---\nimportance: vast\n---\nTea.\n")
    assert "warning: odd.md" in run("ingest", "vault").stderr


@pytest.mark.usefixtures("vault")
def test_ingest_only_unreadable_files(run: Run) -> None:
    result = run("ingest", "vault/bad.md", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["files"] == {"read": 0, "unchanged": 0, "removed": 0, "failed": 1}


def test_ingest_keeps_the_notes_of_a_broken_file(run: Run, vault: Path) -> None:
    (vault / "bad.md").unlink()
    assert run("ingest", "vault").exit_code == 0
    (vault / "tea.md").write_text("---\na: b: c\n---\nBlack tea.\n")
    for _ in range(2):  # it is read again until it can be read
        result = run("ingest", "vault")
        assert result.exit_code == 1
        assert result.stderr == (
            "error: tea.md, line 2: the front matter is not YAML: mapping values are not allowed here; "
            "the earlier version stays\n"
        )
        assert result.stdout.startswith("files  0 read, 0 unchanged, 0 removed, 1 failed\n")
    assert "Prefers green tea." in run("search", "green tea").stdout


def test_ingest_counts_unreadable_records(run: Run) -> None:
    Path("notes.jsonl").write_text('{"content": "Tea."}\n' + "[]\n" * 25)
    result = run("ingest", "notes.jsonl")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "files  1 read, 0 unchanged, 0 removed, 0 failed",
        "notes  1 added, 0 updated, 0 unchanged, 0 removed, 25 failed",
    ]
    assert run("ingest", "notes.jsonl").exit_code == 0  # unchanged, so that it is not read


def test_ingest_warns_of_supersession_cycles(run: Run, vault: Path) -> None:
    (vault / "bad.md").unlink()
    (vault / "a.md").write_text('---\nsupersedes: "[[Cement B]]"\n---\n# Cement A\n\nCement is mixed 1 to 3.\n')
    (vault / "b.md").write_text('---\nsupersedes: "[[Cement A]]"\n---\n# Cement B\n\nCement is mixed 1 to 4.\n')
    result = run("ingest", "vault")
    assert (result.exit_code, result.stderr) == (
        0,
        "warning: a.md: these notes supersede each other, so none of them is demoted: 'a.md', 'b.md'; remove one of "
        "the links\n",
    )
    assert "replaced by" not in run("search", "how is cement mixed").stdout
    doctor = run("doctor")
    assert doctor.exit_code == 0
    assert re.search(
        "^! supersessions +these notes supersede each other, so none .*: 'a.md'", doctor.stdout, re.MULTILINE
    )
    assert doctor.stdout.count("supersede each other") == 1


def test_ingest_empty_folder(run: Run) -> None:
    Path("empty").mkdir()
    assert run("ingest", "empty").exit_code == 0


def test_ingest_missing_source(run: Run) -> None:
    assert "'nowhere' does not exist" in error_of(run("ingest", "nowhere"), 2)
    assert not Path("recollect.db").exists()
