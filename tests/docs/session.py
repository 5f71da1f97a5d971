"""The commands of a page, run by one bash from top to bottom, as somebody would who copies them.

A block ``console`` has commands after ``$`` and what they show below them, ``...`` for what varies. A block ``bash`` is
run as a whole, for what has several lines; what it shows is not compared. Blocks of other languages are left alone.

A command must succeed, and in a pipe each of them, unless the page shows that it does not: with an ``error:``, with
``nothing was found`` or ``not significant``. In a block ``bash`` every single one must.
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
_FAILING = re.compile(r"^(error: |nothing was found |nothing in this memory fits |not significant: )", re.MULTILINE)
_GRACE = 10.0
"""Seconds in which what was told to stop must be gone."""


class Command(NamedTuple):
    """What is typed, and what the page shows below it; ``None`` where it shows nothing that is compared."""

    text: str
    shown: str | None


def commands(page: str) -> list[Command]:
    """Return the commands of a page, in order."""
    found = []
    for language, block in _BLOCK.findall(page):
        if language == "bash":
            found.append(Command(f"set -e\n{block}set +e\n", None))
        else:
            assert block.startswith("$ "), f"a console begins with a command, not with {block.splitlines()[0]!r}"
            found += [Command(text + "\n", shown.rstrip("\n")) for text, shown in _COMMAND.findall(block)]
    return found


def on_a_free_port(typed: list[Command]) -> list[Command]:
    """Return the commands with another port in the place of 7700, which somebody may use on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return [Command(text.replace("7700", port), shown) for text, shown in typed]


def run(typed: list[Command], folder: Path, environment: Mapping[str, str], *, seconds: float) -> None:
    """Run commands in ``folder``, and compare what they show; whatever happens, no process of theirs is left behind."""
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
        assert bash.returncode == 0, f"bash did not come to the end: {bash.returncode}"
        assert _all_gone(bash.pid), "a process that the page starts is not stopped by the page"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(bash.pid, signal.SIGKILL)
        bash.wait()


def _script(typed: list[Command], mark: str) -> str:
    """Return a script that says before which command it is, and ends where one does what the page does not show."""
    lines = ["set -o pipefail\n"]
    for number, command in enumerate(typed):
        lines.append(f"printf '\\n{mark} begins {number}\\n'\n{command.text}")
        lines.append(f"status_{mark}=$((!!$?))\nprintf '\\n{mark} ended %s\\n' $status_{mark}\n")
        lines.append(f"[ $status_{mark} = {int(_fails(command))} ] || exit 3\n")
    return "".join(lines)


def _fails(command: Command) -> bool:
    return bool(command.shown and _FAILING.search(command.shown))


def _compare(typed: list[Command], log: str, mark: str) -> None:
    """Hold what every command showed against the page."""
    parts = re.split(rf"\n{mark} begins \d+\n", log)[1:]
    for command, part in zip(typed, parts, strict=False):
        shown, ended, status = part.partition(f"\n{mark} ended ")
        assert ended, f"$ {command.text}did not come to an end\n{shown}"
        assert bool(int(status)) == _fails(command), f"$ {command.text}ended otherwise than the page shows\n{shown}"
        assert command.shown is None or same(command.shown, shown), f"$ {command.text}{shown}"
    assert len(parts) == len(typed), f"only {len(parts)} of {len(typed)} commands were run"


def same(expected: str, shown: str) -> bool:
    """Return whether a command showed what the page says, but for ``...`` and measures."""
    expected, shown = (f"{without_measures(text).rstrip()}\n" for text in (expected, shown))
    return OutputChecker().check_output(expected, shown, ELLIPSIS)


def without_measures(text: str) -> str:
    """Return ``text`` without the numbers of a model, whose last digits are another processor's affair, and times."""
    text = re.sub(r"raw [\d.e-]+ *", "raw ", text)
    text = re.sub(r"(?m)^    \d\.\d\d .{8} ", "    sure ", text)
    text = re.sub(r"confidence [\d.]+", "confidence", text)
    return re.sub(r"(?m)^(words|meaning|fusion|rerank|total) [█▏▎▍▌▋▊▉ ]+(–|[\d.]+ ms)", r"\1", text)


def _all_gone(group: int) -> bool:
    end = monotonic() + _GRACE
    while monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        sleep(0.05)
    return False
