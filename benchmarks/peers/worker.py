"""The process of one engine: ``python -m benchmarks.peers.worker STEP TASK RESULT``, both files of JSON.

How far it is goes to standard output, in lines that begin with a sign: whatever an engine prints is none of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.measuring import Task, ask, build

__all__ = ["SIGN", "main"]

SIGN = "\x1e"
STEPS = {"build": build, "ask": ask}


def main(arguments: Sequence[str]) -> None:
    """Do one step of one engine, and write what came of it."""
    step, task, result = arguments
    told = STEPS[step](Task(**json.loads(Path(task).read_text(encoding="utf-8"))), _tell)
    Path(result).write_text(json.dumps(told), encoding="utf-8")


def _tell(done: int, total: int, what: str) -> None:
    sys.stdout.write(f"{SIGN}{done} {total} {what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
