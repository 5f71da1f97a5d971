"""What the default preset ranks first, over a real store with the embedder that comes with Recollect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Memory
from recollect.sample import sample_notes

EMBEDDER = "static"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=EMBEDDER) as opened:
        yield opened


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with recollect.open(tmp_path_factory.mktemp("sample") / "memory.db", embedder=EMBEDDER) as opened:
        opened.add_many(sample_notes())
        yield opened


def test_a_note_that_holds_all_terms_ranks_above_one_that_tells_of_a_purchase(memory: Memory) -> None:
    memory.add("Checklist for the move: 40 boxes, tape, a van, the keys.", path="checklist.md")
    memory.add("On 2026-05-04 I bought boxes for the cat to play in.", path="cat.md")
    result = memory.search("how many boxes for the move?")
    assert result.trace.mode == "hybrid"
    assert [hit.path for hit in result] == ["checklist.md", "cat.md"]


@pytest.mark.parametrize("query", ["BZH-20931", "bzh-20931", "booking BZH-20931"])
def test_an_exact_booking_code_ranks_first(sample: Memory, query: str) -> None:
    result = sample.search(query)
    assert result.trace.mode == "hybrid"
    assert result[0].path == "travel/brittany-plan.md"
    assert "20931" in result[0].content


def test_a_note_that_both_legs_know_is_scored_by_both(sample: Memory) -> None:
    result = sample.search("tide tables for the holiday", top_k=20)
    for hit in result:
        assert hit.candidate.vector_similarity is not None
    assert {part.leg for part in result[0].candidate.contributions} == {"lexical", "vector"}
