"""Properties of every search, over real stores, any preset and any query: the trace accounts for the scores, a smaller
top_k returns a prefix, and no query makes a search fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recollect
from recollect import Memory
from recollect.model import draft_of
from recollect.retrieval import (
    ContextRules,
    FusionRules,
    GraphRules,
    LadderRules,
    Preset,
    QueryRules,
    RerankRules,
    presets,
    recomputed_score,
)
from recollect.retrieval.options import Mode
from tests.strategies import ENGINE_EXAMPLES, query_text

WORDS = "tea coffee kettle green black oolong sencha morning recommend tips bought overview summary".split()
EDGES = ("previous", "next", "session", "mention", "entity", "link", "supersedes")


class LetterEmbedder:
    """An embedder that counts letters."""

    name = "letters"
    dimension = 26

    def embed_documents(self, texts: Any) -> Any:
        rows = [[1 + text.lower().count(chr(97 + offset)) for offset in range(26)] for text in texts]
        matrix = np.array(rows, dtype=np.float32)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def reverse_order(_: str, documents: list[str]) -> list[float]:
    return [float(index) for index in range(len(documents))]


_texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
_notes = st.lists(
    st.fixed_dictionaries(
        {
            "content": _texts | _texts.map(lambda text: f"{text}. " * 40),
            "title": st.sampled_from(["", "Green tea", "Kettle", "Overview of mornings", "Oolong (tea)"]),
            "importance": st.floats(0, 1),
            "session": st.sampled_from(["", "s1", "s2"]),
            "position": st.none() | st.integers(0, 9),
            "created_at": st.sampled_from(["2026-03-01", "2026-04-04", "2026-04-17"]),
            "last_accessed_at": st.sampled_from([None, "2026-04-10", "2027-01-01"]),
            "links": st.lists(
                st.tuples(
                    st.sampled_from(["supersedes", "superseded-by", "related"]), st.integers(0, 7).map("n{}.md".format)
                ),
                max_size=2,
            ),
            "metadata": st.sampled_from([{}, {"entities": ["Maren"]}]),
        }
    ),
    min_size=1,
    max_size=8,
).map(lambda notes: [{**note, "id": f"n{number}", "path": f"n{number}.md"} for number, note in enumerate(notes)])

_stages = st.sampled_from(
    [
        {"stage": "intent"},
        {"stage": "composite"},
        {"stage": "temporal", "combine": "multiply"},
        {"stage": "temporal_boost"},
        {"stage": "time_match", "boost": 0.7},
        {"stage": "time_match", "combine": "add"},
        {"stage": "importance", "slope": 0.5},
        {"stage": "session", "weight": 0.7},
        {"stage": "speaker_turns", "asks": 0.5, "length": 0.9},
        {"stage": "superseded", "factor": 0.3},
        {"stage": "duplicates"},
    ]
)
_presets: st.SearchStrategy[Preset] = st.one_of(
    st.sampled_from(list(presets().values())),
    st.builds(
        Preset,
        name=st.just("drawn"),
        query=st.builds(
            QueryRules,
            semantics=st.sampled_from(["strict", "literal"]),
            match=st.sampled_from(["any", "all_then_any"]),
            max_words=st.sampled_from([0, 2, 128]),
            max_document_frequency=st.sampled_from([0.0, 0.45, 1.0]),
        ),
        ladder=st.builds(
            LadderRules,
            on=st.booleans(),
            titles=st.booleans(),
            vocabulary=st.booleans(),
            guess_weight=st.sampled_from([0.3, 1.0]),
        ),
        fusion=st.builds(
            FusionRules,
            method=st.sampled_from(["rrf", "convex"]),
            k=st.floats(0.5, 100),
            rank_base=st.integers(0, 1),
            ties=st.sampled_from(["path", "id", "first_seen"]),
            weights=st.dictionaries(st.sampled_from(["lexical", "vector", "graph"]), st.floats(0, 3)),
            weight_by_model_quality=st.booleans(),
            score_union=st.booleans(),
            chunk_penalty=st.sampled_from([0.0, 0.2]),
            deviations=st.sampled_from([0.0, 6.0]),
        ),
        context=st.builds(
            ContextRules,
            on=st.booleans(),
            seeds=st.integers(1, 5),
            reach=st.integers(1, 3),
            previous=st.floats(0, 1),
            next=st.floats(0, 1),
            passage=st.floats(0, 1),
            k1=st.sampled_from([0.0, 0.8]),
            b=st.sampled_from([0.0, 0.4, 1.0]),
        ),
        graph=st.builds(
            GraphRules,
            use=st.sampled_from(["off", "source", "multiplier", "addition"]),
            weight=st.floats(0, 3),
            seeds=st.integers(1, 5),
            reach=st.integers(1, 3),
            degree_penalty=st.sampled_from([0.0, 0.5]),
            max_lift=st.sampled_from([0.0, 0.5, 1.0]),
            edges=st.dictionaries(st.sampled_from(EDGES), st.floats(0, 2)),
        ),
        stages=st.lists(_stages, max_size=4),
        rerank=st.builds(RerankRules, on=st.booleans(), agree_min=st.integers(0, 3)),
        min_confidence=st.sampled_from([0.0, 0.0, 0.4]),
    ),
)
_queries = st.one_of(_texts, st.sampled_from(["recommend tea tips", "tea NOT green", "tee 2 weeks ago", "oolnog", ""]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


_number = iter(range(10**9))


def open_memory(folder: Path, notes: list[dict[str, Any]]) -> Memory:
    memory = recollect.open(
        folder / f"{next(_number)}.db", embedder=LetterEmbedder(), reranker=reverse_order, record_access=False
    )
    writer = memory._writer
    writer._write([draft_of(note) for note in notes], writer._model())  # bypasses Memory, which rejects blank notes
    return memory


@given(_notes, _presets, _queries, st.sampled_from(["auto", "bm25", "semantic"]), st.integers(0, 9))
def test_scores_are_recomputed_from_the_trace(
    folder: Path, notes: list[dict[str, Any]], preset: Preset, query: str, mode: Mode, top_k: int
) -> None:
    options: dict[str, Any] = {"preset": preset, "mode": mode, "question_date": "2026-04-18", "rerank_top_n": 3}
    with open_memory(folder, notes) as memory:
        result = memory.search(query, top_k=50, **options)
        again = memory.search(query, top_k=50, **options)
        shorter = memory.search(query, top_k=top_k, **options)
    trace = json.loads(json.dumps(result.trace.to_dict()))
    results = trace.get("results", [])
    assert [item["id"] for item in results] == [hit.id for hit in result]
    assert [recomputed_score(item) for item in results] == [hit.score for hit in result]
    for item in results:
        check_fusion(item["contributions"], trace["fusion"])
        check_steps(item)
    expected = [(hit.id, hit.score, hit.confidence) for hit in result]
    assert [(hit.id, hit.score, hit.confidence) for hit in again] == expected
    assert [(hit.id, hit.score, hit.confidence) for hit in shorter] == expected[:top_k]
    assert "errorStage" not in trace
    assert result.explain()


def check_fusion(contributions: list[dict[str, Any]], fusion: dict[str, Any]) -> None:
    """Check the points of each leg: from its rank, or from its score if the leg has a scale."""
    for part in contributions:
        weight = fusion["weights"].get(part["leg"], 1.0)
        if fusion["method"] == "rrf":
            assert part["points"] == pytest.approx(weight / (fusion["k"] + fusion["rank_base"] + part["rank"] - 1))
        elif part["leg"] in fusion["min_scores"] and part["leg"] in fusion["max_scores"]:
            low, high = fusion["min_scores"][part["leg"]], fusion["max_scores"][part["leg"]]
            share = (part["score"] - low) / (high - low) if high > low else float(part["score"] >= high)
            assert part["points"] == pytest.approx(weight * max(0.0, share), abs=1e-9)


def check_steps(result: dict[str, Any]) -> None:
    """Check that each step starts with the score of the step before."""
    score = sum(part["points"] for part in result["contributions"])
    for step in result["steps"]:
        assert step["scoreBefore"] == pytest.approx(score)
        score = step["scoreAfter"]
    assert result["score"] == pytest.approx(score)


@pytest.fixture(scope="module")
def sample(folder: Path) -> Iterator[Memory]:
    notes = [{"id": f"n{number}", "path": f"{word}.md", "content": f"{word} note"} for number, word in enumerate(WORDS)]
    with open_memory(folder, notes) as memory:
        yield memory


@given(query_text, st.sampled_from(sorted(presets())))
@settings(max_examples=ENGINE_EXAMPLES // 20)
def test_no_query_makes_a_search_fail(sample: Memory, query: str, preset: str) -> None:
    result = sample.search(query, preset=preset, question_date="2026-04-18")
    assert result.trace.error_stage == ""
    assert len(result) <= 10
    assert json.dumps(result.to_dict())
    assert "\x1b" not in result.explain()


_ODD_CONTENTS = ("", " ", "🍵", "tea", "Ada: tea?", "tea. " * 300, " " * 2000, "?! " * 400)
_odd_notes = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(_ODD_CONTENTS) | query_text,
            "title": st.sampled_from(["", "Tea", "🍵", "T" * 300]),
            "session": st.sampled_from(["", "s1", "s2", "🍵"]),
            "position": st.none() | st.integers(0, 2),
            "tags": st.sampled_from([(), ("tea",)]),
        }
    ),
    max_size=14,
).map(lambda notes: [{**note, "id": f"n{number}", "path": f"n{number}.md"} for number, note in enumerate(notes)])
_odd_queries = (
    query_text
    | st.sampled_from(["tea", "the of and", "", "🍵", "tea NOT tea", '"tea" OR t*', "tea " * 25_000, "x" * 100_000])
    | st.sampled_from(["Ada tea", "NOT", "tea AND", '"', "???", " ".join(f"w{number}" for number in range(40))])
)


@given(_odd_notes, st.lists(_odd_queries, min_size=1, max_size=4), st.sampled_from(["auto", "bm25", "semantic"]))
@settings(max_examples=ENGINE_EXAMPLES // 60)
def test_no_note_makes_a_search_fail(folder: Path, notes: list[dict[str, Any]], queries: list[str], mode: Mode) -> None:
    """Notes without content or words, turns at the same position or without one, sessions of one turn."""
    with open_memory(folder, notes) as memory:
        for query in queries:
            result = memory.search(query, mode=mode, question_date="2026-04-18", top_k=50)
            trace = json.loads(json.dumps(result.trace.to_dict()))
            assert "errorStage" not in trace
            assert not any("not known" in warning or "were not" in warning for warning in result.warnings)
            assert len({hit.id for hit in result}) == len(result)
            assert [recomputed_score(item) for item in trace.get("results", [])] == [hit.score for hit in result]
            assert result.explain()


def test_graph_expansion_returns_no_duplicates(folder: Path) -> None:
    """More notes than candidate_k, so that the graph adds notes that no leg returned."""
    notes = [
        {
            "id": f"n{number}",
            "path": f"n{number}.md",
            "content": f"{WORDS[number % 13]} {WORDS[number * 7 % 13]} {number}",
            "session": f"s{number // 10}",
            "position": number % 10,
            "links": [("related", f"n{(number * 37 + 11) % 120}.md")],
        }
        for number in range(120)
    ]
    with open_memory(folder, notes) as memory:
        for query in ("green tea", "kettle morning", "oolong 7"):
            for preset in presets():
                result = memory.search(query, preset=preset, candidate_k=8, top_k=8, now="2026-04-18", rerank=False)
                trace_data = json.loads(json.dumps(result.trace.to_dict()))
                assert len({hit.id for hit in result}) == len(result) == 8
                assert [recomputed_score(item) for item in trace_data["results"]] == [hit.score for hit in result]
                assert not result.warnings
        trace = memory.search("green tea", candidate_k=8, top_k=8, rerank=False).trace
        assert trace.contexts
        assert trace.transfers


_SEARCHES = """
import json, sys
import recollect
from recollect.retrieval import presets
from tests.retrieval.test_search_properties import LetterEmbedder
with recollect.open(sys.argv[1], embedder=LetterEmbedder(), record_access=False) as memory:
    for preset in presets():
        for query in ("green tea", "recommend tips", "tea kettle coffee", "oolnog"):
            result = memory.search(query, preset=preset, now="2026-04-18")
            print(json.dumps([(hit.id, hit.score, hit.confidence) for hit in result]))
"""


def test_results_do_not_depend_on_the_hash_seed(folder: Path) -> None:
    notes = [
        {
            "id": f"n{number}",
            "path": f"n{number % 7}/{number}.md",
            "content": " ".join(WORDS[number % 13 :: number % 3 + 1]),
        }
        for number in range(40)
    ]
    path = folder / "same.db"
    with recollect.open(path, embedder=LetterEmbedder()) as memory:
        memory.add_many(notes)
    answers = {
        subprocess.run(
            [sys.executable, "-c", _SEARCHES, str(path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert answers.pop().count("\n") == 20
