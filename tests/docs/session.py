"""Run the commands of a page in one bash from top to bottom, and compare their output.

A block ``console`` has commands after ``$`` and their output below, with ``...`` for what varies. A block ``bash`` is
run as a whole and its output is not compared. Blocks of other languages are ignored.

A command, and every part of a pipe, must succeed, unless the page shows that it fails: with ``error:``, ``no answer``,
``nothing was found`` or ``not significant``. In a block ``bash`` every command must succeed.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple
from uuid import uuid4

DOCS = Path(__file__).parent.parent.parent / "docs"
_BLOCK = re.compile(r"^```(console|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FAILING = re.compile(r"^(error: |nothing was found |no answer to |not significant: )", re.MULTILINE)
_GRACE = 10.0
"""Seconds in which a stopped process must end."""


class Command(NamedTuple):
    """A command and its output on the page; ``None`` if it is not compared."""

    text: str
    shown: str | None


def commands(page: str) -> list[Command]:
    """Return the commands of a page, in order."""
    result = []
    for language, block in _BLOCK.findall(page):
        if language == "bash":
            result.append(Command(f"set -e\n{block}set +e\n", None))
        else:
            assert block.startswith("$ "), f"a console begins with a command, not with {block.splitlines()[0]!r}"
            result += [Command(text + "\n", shown.rstrip("\n")) for text, shown in _COMMAND.findall(block)]
    return result


def on_a_free_port(typed: list[Command]) -> list[Command]:
    """Replace port 7700, which may be in use, by a free one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return [Command(text.replace("7700", port), shown) for text, shown in typed]


def run(typed: list[Command], folder: Path, environment: Mapping[str, str], *, seconds: float) -> None:
    """Run commands in ``folder`` and compare their output; processes that they leave are killed."""
    mark = uuid4().hex
    script = folder.parent / f"{folder.name}.sh"
    script.write_text(_script(typed, mark), encoding="utf-8")
    log = folder.parent / f"{folder.name}.log"
    with log.open("wb") as output:
        bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", script],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with suppress(subprocess.TimeoutExpired):
            bash.wait(seconds)
        _compare(typed, log.read_text(encoding="utf-8"), mark)
        assert bash.returncode == 0, f"bash failed: {bash.returncode}"
        assert _all_gone(bash.pid), "the page does not stop a process that it starts"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(bash.pid, signal.SIGKILL)
        bash.wait()


def _script(typed: list[Command], mark: str) -> str:
    """Return a script that prints command numbers and stops at the first status that differs from the page."""
    lines = ["set -o pipefail\n"]
    for number, command in enumerate(typed):
        lines.append(f"printf '\\n{mark} begins {number}\\n'\n{command.text}")
        lines.append(f"status_{mark}=$((!!$?))\nprintf '\\n{mark} ended %s\\n' $status_{mark}\n")
        lines.append(f"[ $status_{mark} = {int(_fails(command))} ] || exit 3\n")
    return "".join(lines)


def _fails(command: Command) -> bool:
    return bool(command.shown and _FAILING.search(command.shown))


def _compare(typed: list[Command], log: str, mark: str) -> None:
    """Compare the output of every command with the page."""
    parts = re.split(rf"\n{mark} begins \d+\n", log)[1:]
    for command, part in zip(typed, parts, strict=False):
        shown, ended, status = part.partition(f"\n{mark} ended ")
        assert ended, f"$ {command.text}did not end\n{shown}"
        assert bool(int(status)) == _fails(command), f"$ {command.text}ended differently from the page\n{shown}"
        assert command.shown is None or same(command.shown, shown), f"$ {command.text}{shown}"
    assert len(parts) == len(typed), f"only {len(parts)} of {len(typed)} commands were run"


def same(expected: str, shown: str) -> bool:
    """Return whether the output is that of the page, apart from ``...`` and measured values."""
    expected, shown = (f"{without_measures(text).rstrip()}\n" for text in (expected, shown))
    return OutputChecker().check_output(expected, shown, ELLIPSIS)


def without_measures(text: str) -> str:
    """Remove scores of models, whose last digits depend on the processor, and times."""
    text = re.sub(r"raw [\d.e-]+ *", "raw ", text)
    text = re.sub(r"(?m)^    \d\.\d\d .{8} ", "    score ", text)
    text = re.sub(r"confidence [\d.]+", "confidence", text)
    return re.sub(r"(?m)^(words|meaning|lexical|vector|fusion|rerank|total) [█▏▎▍▌▋▊▉ ]+(–|[\d.]+ ms)", r"\1", text)


def _all_gone(group: int) -> bool:
    end = monotonic() + _GRACE
    while monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        sleep(0.05)
    return False
