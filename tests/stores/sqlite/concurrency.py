"""Threads of one process that read and write a memory while other processes do the same.

Every thread adds, changes and deletes its own notes and checks the store after every call. At the end the process
prints the notes that must be stored.

    python -m tests.stores.sqlite.concurrency FILE NAME THREADS SECONDS
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import traceback

import recollect
from recollect import Memory
from tests.stores.sqlite.crashes import embed


class WriterThread(threading.Thread):
    """A thread that writes and checks its own notes."""

    def __init__(self, memory: Memory, name: str, until: float) -> None:
        super().__init__(name=name)
        self.memory, self.until = memory, until
        self.random = random.Random(name)  # noqa: S311 (no secret)
        self.mine: dict[str, str] = {}
        self.calls = 0
        self.error = ""

    def run(self) -> None:
        try:
            while time.monotonic() < self.until:
                self.step()
                self.calls += 1
        except Exception as error:  # noqa: BLE001 (reported to the test)
            self.error = "".join(traceback.format_exception(error))

    def step(self) -> None:
        word = f"{self.name}w{self.calls}"
        match self.random.randrange(6):
            case 0 | 1:
                self.memory.add(f"about {word}", path=word)
                self.mine[word] = word
                self.expect(word)
            case 2 if self.mine:
                path = self.random.choice(list(self.mine))
                self.memory.update(path, content=f"about {word}")
                self.mine[path] = word
                self.expect(path)
            case 3 if len(self.mine) > 20:
                path = self.random.choice(list(self.mine))
                del self.mine[path]
                assert self.memory.delete(path) == 1
                assert self.memory.get(path) is None
            case 4:
                assert len(self.memory.search("about", mode="hybrid")) <= 10
            case _ if self.mine:
                self.expect(self.random.choice(list(self.mine)))

    def expect(self, path: str) -> None:
        word = self.mine[path]
        note = self.memory.get(path)
        assert note is not None
        assert note.content == f"about {word}", (note.content, word)
        assert [hit.path for hit in self.memory.search(word, mode="bm25", top_k=1)] == [path]
        assert [hit.path for hit in self.memory.search(f"about {word}", mode="semantic", top_k=1)] == [path]


def main(file: str, name: str, threads: int, seconds: float) -> None:
    with recollect.open(file, embedder=embed) as memory:
        until = time.monotonic() + seconds
        members = [WriterThread(memory, f"{name}t{number}", until) for number in range(threads)]
        for member in members:
            member.start()
        for member in members:
            member.join()
    report = {
        "calls": sum(member.calls for member in members),
        "errors": [member.error for member in members if member.error],
        "notes": {path: word for member in members for path, word in member.mine.items()},
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
