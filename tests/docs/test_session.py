"""The runner of pages compares outputs and leaves no process running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.docs.session import Command, commands, on_a_free_port, run, same


def page(*blocks: str) -> str:
    return "\n".join(f"Some words.\n\n{block}\n" for block in blocks)


def run_page(text: str, folder: Path, seconds: float = 20) -> None:
    workdir = folder / "place"
    workdir.mkdir()
    run(commands(text), workdir, os.environ, seconds=seconds)


def test_commands_of_console_and_bash_blocks() -> None:
    text = page("```console\n$ echo one\none\n\nmore\n$ true\n```", "```sh\nnot me\n```", "```bash\ncat <<E\nx\nE\n```")
    assert commands(text) == [
        Command("echo one\n", "one\n\nmore"),
        Command("true\n", ""),
        Command("set -e\ncat <<E\nx\nE\nset +e\n", None),
    ]


def test_console_starts_with_a_command() -> None:
    with pytest.raises(AssertionError, match="begins with a command, not with 'tea'"):
        commands(page("```console\ntea\n```"))


def test_commands_share_one_shell(tmp_path: Path) -> None:
    run_page(
        page(
            "```bash\ncat > tea.txt <<'END'\n$ sencha\nEND\ncd ..\n```",
            "```console\n$ word=oolong\n$ cat place/tea.txt\n$ sencha\n```".replace("\n$ sencha", "\n... sencha"),
            "```console\n$ echo $word; printf 'no line end'\noolong\nno line end\n$ cat\n```",
        ),
        tmp_path,
    )


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```console\n$ echo tea\ncoffee\n```", "echo tea\ntea"),
        ("```console\n$ echo tea\n```", "echo tea\ntea"),
        ("```console\n$ true\ntea\n```", "true"),
        ("```console\n$ echo tea; false\ntea\n```", "ended differently"),
        ("```console\n$ no-such-command\n...\n```", "ended differently"),
        ("```console\n$ echo 'error: none'\nerror: none\n```", "ended differently"),
        ("```console\n$ false | cat\n```", "ended differently"),
        ("```bash\nfalse\ntrue\n```", "did not end"),
        ("```console\n$ exit 0\n$ true\n```", "did not end"),
        ("```console\n$ sleep 60\n```", "did not end"),
    ],
)
def test_different_results_fail(block: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=message):
        run_page(page(block), tmp_path, seconds=1)


def test_failure_stops_the_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ended differently"):
        run_page(page("```console\n$ false\n$ touch after\n```"), tmp_path)
    assert not (tmp_path / "place" / "after").exists()


def test_commands_may_fail_if_shown(tmp_path: Path) -> None:
    run_page(page("```console\n$ echo 'error: no tea' >&2; false\nerror: no ...\n$ true\n```"), tmp_path)


@pytest.mark.parametrize("then", ["", "\n$ false"])
def test_leftover_processes_are_killed(then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.session._GRACE", 0.2)
    with pytest.raises(AssertionError, match="ended differently" if then else "does not stop"):
        run_page(page(f"```console\n$ sleep 60 & echo $! > pid{then}\n```"), tmp_path)
    process = Path("/proc", (tmp_path / "place" / "pid").read_text().strip())
    for _ in range(100):
        if not process.exists() or "Z (zombie)" in (process / "status").read_text():
            return
        time.sleep(0.05)
    pytest.fail("it is still running")


def test_stopped_processes_are_fine(tmp_path: Path) -> None:
    run_page(page("```console\n$ sleep 60 &\n$ kill %1; wait\n```"), tmp_path)


def test_port_is_replaced() -> None:
    (served,) = on_a_free_port([Command("serve --port 7700", "at 7700")])
    assert served.text != "serve --port 7700"
    assert served.shown == "at 7700"


def test_only_measured_values_may_differ() -> None:
    assert same("    0.88 ███████   2026-11-16  words 1", "    0.87 ██████▉   2026-11-16  words 1")
    assert not same("    0.88 ███████   2026-11-16  words 1", "    0.87 ██████▉   2026-11-16  words 2")
    assert same("total        ██  8.6 ms  1 shown", "total        ██████  318.6 ms  1 shown")
