"""A million notes in one file, in the longer tier of tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import recollect

NOTES = 1_000_000


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "full", reason="takes minutes: scripts/test --full runs it")
def test_million_notes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    vectors = np.empty((0, 8), dtype=np.float32)
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        for start in range(0, NOTES, 50_000):
            vectors = rng.standard_normal((50_000, 8)).astype(np.float32)
            memory.add_many(
                {"content": f"note{n} about topic{n % 1000}", "path": f"{n}.md", "vector": vectors[n - start]}
                for n in range(start, start + 50_000)
            )
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        assert memory.stats().store.notes == {"default": NOTES}
        assert [hit.path for hit in memory.search("note777777")] == ["777777.md"]
        assert len(memory.search("topic77", top_k=2000)) == NOTES / 1000
        nearest = memory.search("", vector=vectors[-1], mode="semantic", top_k=1)
        assert [hit.path for hit in nearest] == [f"{NOTES - 1}.md"]
        assert memory.delete("777777.md") == 1
        assert len(memory.search("note777777")) == 0
        assert not any(finding.problem for finding in memory.doctor())
