"""Concurrent threads and processes lose no writes and do not deadlock, in one or several namespaces."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from recollect.model import Filters, Link
from recollect.query import parse
from recollect.stores.postgres.store import PostgresStore
from tests.stores.postgres import concurrency

NAMESPACE = "default"


def test_concurrent_threads_lose_no_notes(database: str) -> None:
    with closing(PostgresStore(database, pool_size=4)) as store, ThreadPoolExecutor(4) as executor:

        def write(writer: int) -> None:
            for number in range(8):
                store.write([{"path": f"{writer}/{number}", "content": f"tea {writer}", "title": f"Tea {number}"}])
                store.write([{"path": "shared", "content": f"by {writer} {number}"}])
                store.link("shared", Link("related", f"{writer}/{number}"), namespace=NAMESPACE)

        list(executor.map(write, range(4)))
        assert len(list(store.notes())) == 4 * 8 + 1
        (shared,) = store.get(["shared"], namespace=NAMESPACE)
        assert shared is not None
        assert len(shared.links) == 4 * 8
        assert store.note_counts([parse("tea")], namespace=NAMESPACE) == (33, [32])
        assert not any(finding.problem for finding in store.check())


def test_concurrent_processes_lose_no_notes(database: str) -> None:
    batches = 6
    running = [
        subprocess.Popen([sys.executable, "-m", "tests.stores.postgres.concurrency", database, name, str(batches)])
        for name in ("ines", "jo")
    ]
    concurrency.main(database, "self", batches)
    assert [process.wait(120) for process in running] == [0, 0]
    with closing(PostgresStore(database)) as store:
        notes = {(note.namespace, note.path): note for note in store.notes()}
        writers = [f"{name}{thread}" for name in ("ines", "jo", "self") for thread in range(concurrency.THREADS)]
        deleted = len(range(0, batches, 3))
        for writer in writers:
            mine = [path for _, path in notes if path.startswith(f"{writer}/")]
            assert len(mine) == batches * concurrency.BATCH - deleted
        assert {namespace for namespace, path in notes if path == "shared"} == set(concurrency.NAMESPACES)
        for namespace in concurrency.NAMESPACES:
            expected = [note for note in notes.values() if note.namespace == namespace]
            results = store.search_text(parse("tea"), 1_000, namespace=namespace, filters=Filters())
            assert {candidate.id for candidate in results} == {note.id for note in expected}
        assert sum(store.stats().vectors.values()) == len(notes)
        assert not any(finding.problem for finding in store.check())
