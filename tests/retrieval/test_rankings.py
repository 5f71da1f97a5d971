"""Rankings of the default preset, over a real store with the built-in embedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect import Memory
from recollect.sample import sample_notes

EMBEDDER = "static"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=EMBEDDER) as memory:
        yield memory


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with recollect.open(tmp_path_factory.mktemp("sample") / "memory.db", embedder=EMBEDDER) as opened:
        opened.add_many(sample_notes())
        yield opened


def test_note_with_all_terms_ranks_first(memory: Memory) -> None:
    memory.add("Checklist for the move: 40 boxes, tape, a van, the keys.", path="checklist.md")
    memory.add("On 2026-05-04 I bought boxes for the cat to play in.", path="cat.md")
    result = memory.search("how many boxes for the move?")
    assert result.trace.mode == "hybrid"
    assert [hit.path for hit in result] == ["checklist.md", "cat.md"]


@pytest.mark.parametrize("query", ["BZH-20931", "bzh-20931", "booking BZH-20931"])
def test_exact_code_ranks_first(sample: Memory, query: str) -> None:
    result = sample.search(query)
    assert result.trace.mode == "hybrid"
    assert result[0].path == "travel/brittany-plan.md"
    assert "20931" in result[0].content


class AdversarialEmbedder:
    """An embedder for which every note is similar to every query, except those with the booking code."""

    name = "adversarial"
    dimension = 2

    def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 (the contract names it)
        return np.array([1.0, 0.0], np.float32)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [[0.0, 1.0] if "BZH" in text else [0.99, 0.01 * number] for number, text in enumerate(texts)]
        return np.array(rows, np.float32)


@pytest.mark.parametrize("candidate_k", [10, 200])
def test_exact_code_ranks_first_despite_low_similarity(tmp_path: Path, candidate_k: int) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=AdversarialEmbedder()) as memory:
        memory.add_many({"path": f"trip{n}.md", "content": f"Trip {n}: trains, tides and towns."} for n in range(30))
        memory.add("The house by the sea, booked as BZH-20931.", path="house.md")
        result = memory.search("BZH-20931", candidate_k=candidate_k)
    assert result[0].path == "house.md"
    assert result[0].candidate.vector_similarity == pytest.approx(0.0)  # computed, though not in the vector leg


def test_hits_have_scores_of_both_legs(sample: Memory) -> None:
    result = sample.search("tide tables for the holiday", top_k=20)
    for hit in result:
        assert hit.candidate.vector_similarity is not None
    assert {part.leg for part in result[0].candidate.contributions} == {"lexical", "vector"}
