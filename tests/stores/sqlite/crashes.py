"""Kill a writer repeatedly and check the store after every kill.

Every round forks a child that writes to a memory, reports every call before and after it, and is killed at a random
moment. The store must then have the result of all finished calls, and all or nothing of the interrupted one. Both legs
must find every note.

    python -m tests.stores.sqlite.crashes FOLDER ROUNDS SEED
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import recollect
from recollect import Memory

MAX_LIFETIME = 0.06  # seconds that a child lives after it is ready


def embed(texts: list[str]) -> list[list[float]]:
    """Return a distinct vector for every text."""
    return [[byte - 127.5 for byte in blake2b(text.encode(), digest_size=16).digest()] for text in texts]


class Writer:
    """The child process: it runs random calls until it is killed."""

    def __init__(self, folder: Path, notes: dict[str, str], seed: int, pipe: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (no secret)
        self.vault = folder / "vault"
        self.memory = recollect.open(folder / "memory.db", embedder=embed)
        self.notes, self.pipe = dict(notes), pipe
        self.serial = seed * 1_000_000

    def run(self) -> None:
        calls = [self.add, self.add, self.add_many, self.update, self.delete, self.ingest]
        os.write(self.pipe, b"ready\n")
        while True:
            self.random.choice(calls)()

    def new_word(self) -> str:
        self.serial += 1
        return f"w{self.serial}"

    def report_call(self, **call: Any) -> None:
        os.write(self.pipe, json.dumps(call).encode() + b"\n")

    def report_end(self) -> None:
        os.write(self.pipe, b"done\n")

    def add(self) -> None:
        word = self.new_word()
        self.report_call(notes={word: word})
        self.memory.add(f"about {word}", path=word, tags=["x"], links=["vault"])
        self.notes[word] = word
        self.report_end()

    def add_many(self) -> None:
        words = [self.new_word() for _ in range(self.random.randint(2, 30))]
        self.report_call(notes={word: word for word in words})
        self.memory.add_many([{"content": f"about {word}", "path": word} for word in words])
        self.notes.update((word, word) for word in words)
        self.report_end()

    def update(self) -> None:
        if self.notes:
            path, word = self.random.choice(list(self.notes)), self.new_word()
            self.report_call(notes={path: word})
            self.memory.update(path, content=f"about {word}")
            self.notes[path] = word
            self.report_end()

    def delete(self) -> None:
        if len(self.notes) > 40:
            paths = self.random.sample(list(self.notes), 20)
            self.report_call(notes=dict.fromkeys(paths))
            self.memory.delete(*paths)
            for path in paths:
                del self.notes[path]
            self.report_end()

    def ingest(self) -> None:
        name = f"{self.random.choice('abc')}.md"
        version = self.versions().get(name, 0) + 1
        draft = self.vault.with_name("draft.md")
        draft.write_text("\n\n".join(f"# Part {part}\n\n{self.text(name, version)}" for part in range(4)))
        draft.replace(self.vault / name)
        # Includes files that a killed child wrote but did not ingest.
        self.report_call(files=self.versions())
        self.memory.ingest(self.vault)
        self.report_end()

    def versions(self) -> dict[str, int]:
        """Return the versions of the files in the vault."""
        matches = ((file.name, re.search(r"version(\d+)x", file.read_text())) for file in self.vault.iterdir())
        return {name: int(version[1]) for name, version in matches if version}

    @staticmethod
    def text(name: str, version: int) -> str:
        return f"file {name[0]} in version{version}x. " + "Long enough to be a note of its own. " * 30


def check_contents(memory: Memory, notes: dict[str, str], files: dict[str, int], changed: set[str]) -> None:
    """Assert that the memory has exactly these notes and files, and that searches find them."""
    problems = [finding for finding in memory.doctor() if finding.problem]
    assert not problems, problems
    stored = {note.path: note for note in memory.notes()}
    added = {path: note.content.removeprefix("about ") for path, note in stored.items() if path in notes}
    assert added == notes, added.items() ^ notes.items()
    for path in changed & notes.keys():
        word = notes[path]
        assert [hit.path for hit in memory.search(word, mode="bm25", top_k=1)] == [path]
        assert [hit.path for hit in memory.search(f"about {word}", mode="semantic", top_k=1)] == [path]
    ingested = [note for path, note in stored.items() if path not in notes]
    for name, version in files.items():
        chunks = [note for note in ingested if note.path.partition("#")[0] == name]
        assert len(chunks) == 4, (name, len(chunks))
        assert all(f"version{version}x" in note.content for note in chunks), name
    assert len(ingested) == 4 * len(files)


def run_and_kill(folder: Path, notes: dict[str, str], seed: int) -> list[str]:
    """Start a child, kill it at a random moment, and return its reports."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            Writer(folder, notes, seed, writing).run()
        except BaseException as error:
            os.write(writing, f"failed {type(error).__name__}: {error}\n".encode())
            raise
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as reports:
        assert reports.readline() == "ready\n"
        time.sleep(random.Random(seed).uniform(0, MAX_LIFETIME))  # noqa: S311 (no secret)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return reports.read().splitlines()


def main(folder: Path, rounds: int, seed: int) -> None:
    (folder / "vault").mkdir()
    notes: dict[str, str] = {}
    files: dict[str, int] = {}
    calls = interrupted = 0
    for number in range(seed, seed + rounds):
        reports = run_and_kill(folder, notes, number)
        assert not any(report.startswith("failed") for report in reports), reports[-1]
        changed: set[str] = set()
        pending: dict[str, Any] = {}
        for report in reports:
            if report == "done":
                _apply(pending, notes, files)
                pending = {}
                calls += 1
            else:
                pending = json.loads(report)
            changed |= set(pending.get("notes", ()))
        with recollect.open(folder / "memory.db", embedder=embed) as memory:
            try:
                check_contents(memory, notes, files, changed)
            except AssertionError:
                if not pending:
                    raise
                _apply(pending, notes, files)
                check_contents(memory, notes, files, changed)
        interrupted += bool(pending)
    sys.stdout.write(json.dumps({"rounds": rounds, "calls": calls, "interrupted": interrupted}))


def _apply(call: dict[str, Any], notes: dict[str, str], files: dict[str, int]) -> None:
    for path, word in call.get("notes", {}).items():
        if word is None:
            notes.pop(path, None)
        else:
            notes[path] = word
    files.update(call.get("files", {}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
