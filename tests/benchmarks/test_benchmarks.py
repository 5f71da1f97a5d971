"""Both sides of the ratio benchmarks do the same work; tables of the stores benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import capacity, serving, storage, stores
from benchmarks.fusion import bare_loop, ranked_lists
from benchmarks.parsing import NO_STOPWORDS, PLAIN, split_and_look_up
from benchmarks.timing import Comparison, compare

import recollect
from recollect.fusion import reciprocal_rank_fusion
from recollect.query import parse
from tests.server.http.running import running


def test_bare_loop_gives_the_same_scores() -> None:
    lists = ranked_lists(60)
    fused = reciprocal_rank_fusion(lists)
    assert {len(ranking) for ranking in lists} == {60}
    assert bare_loop([[hit.id for hit in ranking] for ranking in lists]) == {hit.id: hit.score for hit in fused}


@pytest.mark.parametrize("text", [PLAIN, NO_STOPWORDS])
def test_parsing_drops_the_same_stopwords(text: str) -> None:
    dropped = split_and_look_up(text.lower())
    assert len(dropped) == 10
    assert len(parse(text).tokens) == dropped.count(False)


def test_comparison_has_a_target() -> None:
    assert Comparison("ours", 30.0, "theirs", 10.0, at_most=3).holds
    assert not Comparison("ours", 31.0, "theirs", 10.0, at_most=3).holds


def test_compare_runs_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.timing._ROUNDS", 1)
    monkeypatch.setattr("benchmarks.timing._ROUND_NS", 1)
    calls = []
    comparison = compare("ours", lambda: calls.append("ours"), "theirs", lambda: calls.append("theirs"), at_most=1)
    assert set(calls) == {"ours", "theirs"}
    assert comparison.ratio > 0


def test_storage_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.timing._ROUNDS", 10)
    monkeypatch.setattr("benchmarks.timing._ROUND_NS", 1)
    monkeypatch.setattr("benchmarks.storage.NOTES", 2000)
    rows = list(storage.comparisons())
    assert [row.at_most for row in rows] == [4, 2, 1, 3, 1, 2.5]
    assert [row.unit for row in rows] == ["µs"] * 5 + ["MB"]
    assert all(row.ours > 0 and row.theirs > 0 for row in rows)


def test_stores_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"sqlite", "postgres"} <= set(stores.installed())
    stores.main(["--notes", "120", "--rounds", "1", "--queries", "3", "--engines", "sqlite", "postgres", "--json"])
    metrics = json.loads(capsys.readouterr().out)
    assert all(
        engine[f"{search}_same_as_sqlite"] == 1 and engine[f"{search}_p95_ms"] >= engine[f"{search}_p50_ms"] > 0
        for engine in metrics.values()
        for search in ("search_text", "search_vectors", "Memory.search")
    )
    assert metrics["postgres"]["server_mb"] > 10
    lines = stores.table(metrics).splitlines()
    assert lines[:2] == ["| | sqlite | postgres |", "|---|---|---|"]
    assert lines[-1].startswith("| server mb | – | ")


def test_serving_reads_metrics(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.")
        with running(memory) as server:
            assert serving._search_seconds(server.url) == {"searches": 0.0}
            server.client.get("/v1/search?q=tea")
            after = serving._search_seconds(server.url)
    assert after.pop("searches") == 1
    assert set(after) == {"queued", "legs", "context", "graph", "ranking", "rerank", "other", "server"}


def test_capacity_measured_table() -> None:
    search = {
        f"{kind}_p{share}_ms": float(share)
        for kind in ("search_text", "search_vectors", "Memory.search")
        for share in (50, 95)
    }
    sqlite_result = {
        **search,
        "search_vectors_same_as_sqlite": 1.0,
        "notes_per_second": 9876.5,
        "disk_mb": 12.3,
        "client_mb": 99.0,
    }
    table = capacity.measured_table(
        {10_000: {"sqlite": sqlite_result, "postgres": {**sqlite_result, "server_mb": 1234.0}}}, 10_000
    )
    assert table.splitlines() == [
        "| 10,000 notes | SQLite | PostgreSQL |",
        "|---|---|---|",
        "| lexical search, best 60, p50 / p95 ms | 50.0 / 95.0 | 50.0 / 95.0 |",
        "| vector search, best 60 | 50.0 / 95.0 | 50.0 / 95.0 |",
        "| `Memory.search`, default preset | 50.0 / 95.0 | 50.0 / 95.0 |",
        "| recall@60 against SQLite, which is exact | 100.0% | 100.0% |",
        "| ingest, in batches of 1,000 with vectors | 9,876 notes/s | 9,876 notes/s |",
        "| disk | 12.3 MB | 12.3 MB |",
        "| memory of the client | 99 MB | 99 MB |",
        "| memory of the server | – | 1.23 GB |",
    ]


def test_capacity_model_table() -> None:
    points: capacity.Points = {
        10_000: {"sqlite": {"disk_mb": 20.0, "notes_per_second": 500.0}},
        100_000: {"sqlite": {"disk_mb": 110.0, "notes_per_second": 400.0}},
        1_000_000: {"sqlite": {"disk_mb": 1500.0, "notes_per_second": 300.0}, "postgres": {"disk_mb": 3000.0}},
    }
    _, _, *rows = capacity.model_table(points, "sqlite").splitlines()
    assert rows[:4] == [
        "| 10⁴ | **20 MB** | **500 notes/s** | 20 s |",
        "| 10⁵ | **110 MB** | **400 notes/s** | 4 min |",
        "| 10⁶ | **1.5 GB** | **300 notes/s** | 56 min |",
        "| 10⁷ | 15.4 GB | 300 notes/s | 9 hours |",
    ]
    assert capacity.check_table(points).splitlines()[2:] == [
        "| SQLite, disk | 1.01 GB | 1.5 GB | 1.49 |",
        "| SQLite, ingest | 400 notes/s | 300 notes/s | 0.75 |",
    ]
    assert (
        capacity.predicted(
            {10: {"postgres": {"x": 9.0}}, 100: {"postgres": {"x": 4.0}}}, "postgres", "x", 10_000, (10, 100)
        )
        == 8.0
    )
