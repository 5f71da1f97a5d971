"""The command line as a separate process: pipes, terminals and exit codes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from recollect.cli import recollect as commands

RECOLLECT = [sys.executable, "-m", "recollect"]


def recollect(*arguments: str, text: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run(
        [*RECOLLECT, *arguments], input=text, capture_output=True, text=True, env=environment, check=False
    )


def run_in_terminal(*arguments: str, typed: str) -> tuple[int, str]:
    """Run with a terminal as all three streams; return the exit code and the output."""
    primary, replica = pty.openpty()
    with subprocess.Popen([*RECOLLECT, *arguments], stdin=replica, stdout=replica, stderr=replica) as process:
        os.close(replica)
        os.write(primary, typed.encode())
        output = b""
        while True:
            try:
                chunk = os.read(primary, 4096)
            except OSError:  # on Linux: the process has closed the terminal
                chunk = b""
            if not chunk:
                break
            output += chunk
    os.close(primary)
    return process.returncode, output.decode()


def test_pipes() -> None:
    added = recollect("add", "-q", "--path", "tea.md", text="Prefers green tea.\n")
    assert (added.returncode, added.stderr) == (0, "")
    search = recollect("search", "green", "tea")
    assert (search.returncode, search.stderr) == (0, "")
    assert "    Prefers green tea.\n" in search.stdout
    assert "\x1b" not in search.stdout
    exported = recollect("export")
    assert recollect("import", "-", "--db", "copy.db", text=exported.stdout).stdout == "imported 1 note\n"
    assert recollect("get", added.stdout.strip(), "-q", "--db", "copy.db").stdout == "Prefers green tea.\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["search", "tea"], 2), (["search"], 2), (["nonsense"], 2), (["add", "tea", "--created-at", "soon"], 2)],
)
def test_errors_without_traceback(arguments: list[str], code: int) -> None:
    failed = recollect(*arguments)
    assert (failed.returncode, failed.stdout) == (code, "")
    assert failed.stderr.startswith("error: ")
    assert failed.stderr.count("\n") == 1


@pytest.mark.usefixtures("sample_path")
def test_export_to_head() -> None:
    lines = "".join(f'{{"content": "Tea number {number}. {"x" * 500}"}}\n' for number in range(2000))
    assert recollect("import", "-", "-q", text=lines).returncode == 0
    shell = f"set -o pipefail; {sys.executable} -m recollect export | head -n 1"
    completed = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr, completed.stdout.count("\n")) == (141, "", 1)


@pytest.mark.usefixtures("sample_path")
def test_terminal_colours_and_confirmation() -> None:
    code, output = run_in_terminal("delete", "n1", "n2", typed="n\n")
    assert code == 1
    assert "Delete 2 notes? [y/N]: " in output
    assert output.rstrip().endswith("nothing was deleted")
    code, output = run_in_terminal("search", "tea", typed="")
    assert code == 0
    assert "\x1b[1mTea\x1b[0m" in output


@pytest.mark.usefixtures("sample_path")
def test_terminal_without_unicode() -> None:
    recollect("add", "Tea: 茶 🍵")
    completed = recollect("search", "tea", PYTHONIOENCODING="ascii")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "Tea: ? ?\n" in completed.stdout


def test_completion() -> None:
    completed = recollect(_RECOLLECT_COMPLETE="bash_complete", COMP_WORDS="recollect sea", COMP_CWORD="1")
    assert completed.stdout == "plain,search\n"


def test_import_from_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"content": "Tea."}\n')
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        with pytest.raises(SystemExit) as ended:
            commands.main(["import", "-"], prog_name="recollect")
    assert ended.value.code == 0
    assert capsys.readouterr().out == "imported 1 note\n"


def test_export_to_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    written = StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    with pytest.raises(SystemExit):
        commands.main(["--version"], prog_name="recollect")
    assert written.getvalue().startswith("recollect ")


@pytest.mark.usefixtures("sample_path")
@pytest.mark.parametrize("arguments", [["--version"], ["stats"], ["export"], ["search", "tea", "--json"]])
def test_full_disk(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ended:
            commands.main(arguments, prog_name="recollect")
        monkeypatch.undo()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: No space left on device\n"


@pytest.mark.usefixtures("sample_path")
def test_closed_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as ended:
        commands.main(["stats", "--json"], prog_name="recollect")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()
    assert ended.value.code == 0
    completed = subprocess.run(["bash", "-c", f"{sys.executable} -m recollect add <&- >&- 2>&-"], check=False)
    assert completed.returncode == 2
