from __future__ import annotations

import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

from recollect import Memory, RecollectWarning, __version__
from recollect.cli import main
from recollect.cli import recollect as commands
from recollect.cli.group import COMMANDS
from tests.cli.conftest import Run, error_of

READING = [["search", "tea"], ["explain", "tea"], ["compare", "tea"], ["get", "n1"], ["stats"], ["export"], ["doctor"]]
READING += [["backup", "copy.db"]]
CHANGING = [["delete", "n1"], ["reindex"], ["doctor", "--repair"]]


def test_help_lists_every_command(run: Run) -> None:
    listed = run("--help").stdout.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"recollect {__version__}\n"


def test_no_command_prints_help(run: Run) -> None:
    result = run()
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: recollect")


LIGHT = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom recollect.cli import recollect\n"
        f"try: recollect.main({arguments!r}, prog_name='recollect')\nexcept SystemExit: pass\n"
        "print({'numpy', 'apsw', 'rich', 'yaml', 'regex', 'onnxruntime'} & {*sys.modules}, file=sys.stderr)"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stderr == "set()\n"


@pytest.mark.parametrize("arguments", [*READING, *CHANGING], ids=" ".join)
def test_missing_memory_is_not_created(run: Run, arguments: list[str], tmp_path: Path) -> None:
    message = error_of(run(*arguments, "--db", "none.db"), 2)
    assert message.startswith("there is no memory at none.db; recollect add")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [*READING, *CHANGING, ["add", "tea"]], ids=" ".join)
def test_not_a_memory_is_one_line(run: Run, arguments: list[str], tmp_path: Path) -> None:
    Path("junk.db").write_bytes(b"not a database at all" * 100)
    Path("folder.db").mkdir()
    assert "is not an SQLite database" in error_of(run(*arguments, "--db", "junk.db"), 1)
    assert "is a directory" in error_of(run(*arguments, "--db", "folder.db"), 2)
    assert error_of(run(*arguments, "--db", "redis://host"), 2).startswith("--db: no store opens 'redis://host'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.db", "junk.db"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "No such option '--nonsense'; see recollect --help"),
        (["nonsense"], "No such command 'nonsense'; see recollect --help"),
        (["search"], "Missing argument 'QUERY...'; see recollect search --help"),
        (["search", "--nonsense", "tea"], "No such option '--nonsense'; see recollect search --help"),
        (["add", "tea", "--embedder", "word2vec"], "embedder: must be 'auto', 'none'"),
        (["add", "tea", "--db", "no/folder/m.db"], "no/folder does not exist; create it first"),
    ],
)
def test_wrong_use_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert error_of(result, 1 if "no/folder/m.db" in arguments else 2).replace(": -", " '-").startswith(message[:20])
    assert message.rsplit(";", maxsplit=1)[-1] in result.stderr


@pytest.mark.usefixtures("sample_path")
def test_own_warnings_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stats(_: Memory) -> None:
        warnings.warn("the kettle\nis cold", RecollectWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "stats", stats)
    assert run("stats").stderr == "warning: the kettle is cold\nerror: interrupted\n"
    assert run("stats", "-q").stderr == "error: interrupted\n"
    assert run("stats").exit_code == 130


@pytest.mark.usefixtures("sample_path")
def test_other_warnings_are_left_to_python(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []

    def stats(_: Memory) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("not ours", UserWarning, stacklevel=1)
        raise click.exceptions.Exit(3)

    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: messages.append(str(message)))
    monkeypatch.setattr(Memory, "stats", stats)
    result = run("stats")
    assert (result.exit_code, result.stderr, messages) == (3, "", ["not ours"])


@pytest.mark.usefixtures("sample_path")
def test_bug_is_one_line_unless_debugging(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "stats", lambda _: 1 // 0)
    assert error_of(run("stats"), 1).startswith("a bug in Recollect: ZeroDivisionError(")
    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    assert isinstance(run("stats").exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "x.db"), "x.db: Permission denied"),
        (OSError("odd"), "odd"),
    ],
)
@pytest.mark.usefixtures("sample_path")
def test_system_errors_are_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str) -> None:
    def stats(_: Memory) -> None:
        raise error

    monkeypatch.setattr(Memory, "stats", stats)
    assert error_of(run("stats"), 1) == message


@pytest.mark.usefixtures("sample_path")
def test_closed_pipe_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as ended:
            commands.main(["stats"], prog_name="recollect")
        monkeypatch.undo()
    assert ended.value.code == 141


def test_entry_point_and_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["whatever", "--version"])
    with pytest.raises(SystemExit):
        main()
    with pytest.raises(SystemExit):
        runpy.run_module("recollect", run_name="__main__")
    assert capsys.readouterr().out == f"recollect {__version__}\n" * 2
