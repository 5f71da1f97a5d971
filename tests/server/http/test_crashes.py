"""A killed server loses no acknowledged note."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

import recollect
from tests.server.http.running import process, wait_until

WRITERS = 4
ROUNDS = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 2


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_killed_server_loses_no_acknowledged_note(tmp_path: Path, round_: int) -> None:
    acknowledged: list[str] = []
    killed = Event()

    def write(writer: int) -> None:
        with httpx.Client(base_url=server.url) as client:
            for number in range(100_000):
                ids = [f"w{writer}n{number}p{part}" for part in range(3 if number % 5 == 0 else 1)]
                notes = [{"content": f"about {item}", "id": item, "path": f"{item}.md"} for item in ids]
                try:
                    if len(notes) > 1:
                        response = client.post("/v1/notes/batch", json={"notes": notes})
                    else:
                        response = client.post("/v1/notes", json=notes[0])
                except httpx.TransportError:
                    assert killed.is_set()
                    return
                assert response.status_code == 201
                acknowledged.extend(ids)

    with process(tmp_path) as server, ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(write, writer) for writer in range(WRITERS)]
        wait_until(lambda: len(acknowledged) > 40 + 30 * round_)
        killed.set()
        os.kill(server.process.pid, signal.SIGKILL)
        for writer in writing:
            writer.result()

    with recollect.open(tmp_path / "recollect.db", embedder=None) as memory:
        assert not [finding for finding in memory.doctor() if finding.problem]
        stored = {note.id: note for note in memory.notes()}
        assert set(acknowledged) <= set(stored)
        assert all(note.content == f"about {note.id}" and note.path == f"{note.id}.md" for note in stored.values())
        for first in [item for item in stored if item.endswith("p0") and int(item[3:].partition("p")[0]) % 5 == 0]:
            assert {f"{first[:-1]}1", f"{first[:-1]}2"} <= set(stored)  # batches are atomic
        for item in acknowledged[-20:]:
            assert [hit.id for hit in memory.search(f'"{item}"', mode="bm25", top_k=1)] == [item]
