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

    def __init__(self, memory: Memory, name: str, deadline: float) -> None:
        super().__init__(name=name)
        self.memory, self.deadline = memory, deadline
        self.random = random.Random(name)  # noqa: S311 (no secret)
        self.own_notes: dict[str, str] = {}
        self.calls = 0
        self.error = ""

    def run(self) -> None:
        try:
            while time.monotonic() < self.deadline:
                self.step()
                self.calls += 1
        except Exception as error:  # noqa: BLE001 (reported to the test)
            self.error = "".join(traceback.format_exception(error))

    def step(self) -> None:
        word = f"{self.name}w{self.calls}"
        match self.random.randrange(6):
            case 0 | 1:
                self.memory.add(f"about {word}", path=word)
                self.own_notes[word] = word
                self.check_note(word)
            case 2 if self.own_notes:
                path = self.random.choice(list(self.own_notes))
                self.memory.update(path, content=f"about {word}")
                self.own_notes[path] = word
                self.check_note(path)
            case 3 if len(self.own_notes) > 20:
                path = self.random.choice(list(self.own_notes))
                del self.own_notes[path]
                assert self.memory.delete(path) == 1
                assert self.memory.get(path) is None
            case 4:
                assert len(self.memory.search("about", mode="hybrid")) <= 10
            case _ if self.own_notes:
                self.check_note(self.random.choice(list(self.own_notes)))

    def check_note(self, path: str) -> None:
        word = self.own_notes[path]
        note = self.memory.get(path)
        assert note is not None
        assert note.content == f"about {word}", (note.content, word)
        assert [hit.path for hit in self.memory.search(word, mode="bm25", top_k=1)] == [path]
        assert [hit.path for hit in self.memory.search(f"about {word}", mode="semantic", top_k=1)] == [path]


def main(file: str, name: str, threads: int, seconds: float) -> None:
    with recollect.open(file, embedder=embed) as memory:
        deadline = time.monotonic() + seconds
        writers = [WriterThread(memory, f"{name}t{number}", deadline) for number in range(threads)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    report = {
        "calls": sum(writer.calls for writer in writers),
        "errors": [writer.error for writer in writers if writer.error],
        "notes": {path: word for writer in writers for path, word in writer.own_notes.items()},
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
