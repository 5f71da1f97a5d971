"""Export, import, backup."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import recollect
from tests.cli.conftest import Run, error_of


@pytest.mark.usefixtures("sample_path")
def test_export_and_import(run: Run) -> None:
    assert run("export", "notes.jsonl").stdout == "exported 3 notes to notes.jsonl\n"
    assert run("import", "notes.jsonl", "--db", "copy.db").stdout == "imported 3 notes\n"
    assert run("export", "--db", "copy.db").stdout == Path("notes.jsonl").read_text() == run("export", "-").stdout


@pytest.mark.usefixtures("sample_path")
def test_export_one_namespace(run: Run) -> None:
    run("add", "Tea.", "--namespace", "maren")
    assert run("export", "--namespace", "maren", "one.jsonl").stdout == "exported 1 note to one.jsonl\n"
    assert len(run("export").stdout.splitlines()) == 4
    assert run("import", "one.jsonl", "--namespace", "tomas").stdout == "imported 1 note\n"
    assert [json.loads(line)["namespace"] for line in run("export", "--namespace", "tomas").stdout.splitlines()] == [
        "tomas"
    ]


def test_export_vectors(run: Run) -> None:
    with recollect.open("recollect.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add("tea")
    assert "vector" in json.loads(run("export").stdout)
    assert "vector" not in json.loads(run("export", "--no-vectors").stdout)


@pytest.mark.usefixtures("sample_path")
def test_export_does_not_overwrite(run: Run) -> None:
    Path("notes.jsonl").write_text("precious")
    assert "notes.jsonl exists; choose another name" in error_of(run("export", "notes.jsonl"), 2)
    assert Path("notes.jsonl").read_text() == "precious"
    assert run("export", "notes.jsonl", "--force", "-q").output == ""
    assert len(Path("notes.jsonl").read_text().splitlines()) == 3


@pytest.mark.usefixtures("sample_path")
def test_export_is_atomic(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("real.jsonl").write_text("precious")
    Path("link.jsonl").symlink_to("real.jsonl")
    before = {path.name for path in tmp_path.iterdir()}
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda _: 1 // 0)
        assert run("export", "link.jsonl", "--force").exit_code == 1
    assert Path("real.jsonl").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == before
    assert run("export", "link.jsonl", "--force").exit_code == 0
    assert Path("link.jsonl").is_symlink()
    assert len(Path("real.jsonl").read_text().splitlines()) == 3


@pytest.mark.usefixtures("sample_path")
def test_export_to_a_device(run: Run) -> None:
    assert run("export", "/dev/null", "--force").stdout == "exported 3 notes to /dev/null\n"
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("command", ["export", "backup"])
@pytest.mark.usefixtures("sample_path")
def test_export_wrong_targets(run: Run, command: str) -> None:
    Path("folder").mkdir()
    assert "'folder' is a directory" in error_of(run(command, "folder"), 2)
    assert error_of(run(command, "no/such/file"), 2).startswith("the folder no/such does not exist; create it first")
    message = error_of(run(command, "postgresql://ines:hush@db/notes"), 2)
    assert message.startswith("this command writes a file; recollect copy writes to a server")


def test_import_from_a_pipe(run: Run) -> None:
    result = run("import", "-", "--json", input='{"content": "Tea."}\n\n{"content": "Coffee."}\n')
    assert json.loads(result.stdout) == {"imported": 2}
    assert run("import", "-", "-q", input='{"content": "Tea."}\n').output == ""


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b'{"content": "Tea."}\n{"content": 3}\n', "line 2: content: must be a string"),
        (b"\x00\xff\xfe\n", "line 1: is not JSON"),
        (b'\n\n["tea"]\n', "line 3: is not a JSON object"),
        (b'{"text": "tea"}\n', "line 1: note: has no field 'text'"),
    ],
)
def test_import_names_the_wrong_line(run: Run, lines: bytes, message: str) -> None:
    assert error_of(run("import", "-", input=lines), 1).startswith(f"<stdin>, {message}")


def test_import_refuses_blank_namespace(run: Run) -> None:
    assert error_of(run("import", "-", "--namespace", " ", input=b"{}"), 2) == "namespace: must not be empty"


def test_import_error_names_the_file_and_keeps_the_notes_before_it(run: Run) -> None:
    Path("bad.jsonl").write_text('{"content": "Tea."}\n{oops\n')
    error = error_of(run("import", "bad.jsonl"), 1)
    assert error.startswith("bad.jsonl, line 2: is not JSON: Expecting property name")
    assert error.endswith(" at character 2; 1 note before it is stored")
    assert len(run("export").stdout.splitlines()) == 1
    Path("secret.jsonl").write_text('{"content": "the card is 4111 1111 1111 1111"}\n')
    error = error_of(run("import", "secret.jsonl", "--secrets", "refuse"), 2)
    assert error.startswith("secret.jsonl, line 1: content: contains a secret")


def test_import_missing_file(run: Run) -> None:
    assert "'nowhere.jsonl': No such file or directory" in error_of(run("import", "nowhere.jsonl"), 2)
    assert not Path("recollect.db").exists()


@pytest.mark.usefixtures("sample_path")
def test_backup_is_a_memory(run: Run) -> None:
    result = run("backup", "copy.db")
    size = Path("copy.db").stat().st_size
    assert result.stdout == f"backed up to copy.db ({size / 1000:.1f} kB)\n"
    assert run("export", "--db", "copy.db").stdout == run("export").stdout


@pytest.mark.usefixtures("sample_path")
def test_backup_does_not_overwrite(run: Run) -> None:
    Path("copy.db").write_text("precious")
    assert "copy.db exists; choose another name" in error_of(run("backup", "copy.db"), 2)
    data = json.loads(run("backup", "copy.db", "--force", "--json").stdout)
    assert data == {"target": "copy.db", "bytes": Path("copy.db").stat().st_size}
    assert "exists" in error_of(run("backup", "recollect.db", "--force"), 2)
