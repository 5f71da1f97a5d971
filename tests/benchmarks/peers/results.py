"""Results of a run, for tests."""

from __future__ import annotations

from typing import Any


def engine_result(engine: str, about: str, notes: int, **fields: Any) -> dict[str, Any]:
    """Return the result of an engine."""
    common = {"engine": engine, "about": about, "corpus": "generated, seed 0", "notes": notes, "dimension": 384}
    return {**common, **fields}


def latency(p50: float, **fields: float) -> dict[str, float]:
    """Return the latencies of a search mode."""
    return {"p50_ms": p50, "p95_ms": 2 * p50, "p99_ms": 3 * p50, "queries": 400, **fields}


RECOLLECT = engine_result(
    "recollect",
    "Recollect",
    10_000,
    words=latency(0.5),
    vectors=latency(1.25),
    hybrid_rrf=latency(3, per_second_1=300.4, per_second_2=500),
    hybrid_default={**latency(40), "queries": 97},
    words_recall_10=1.0,
    words_recall_60=0.9954,
    target_found_rrf=0.99,
    notes_per_second=3456.7,
    disk_bytes=12_400_000,
    build_rss_peak=99e6,
    first_answer_ms=120.4,
    write={"written_ms": 0.9, "visible_ms": 250.1, "durable": True},
)
CHROMA = engine_result("chroma", "Chroma", 10_000, vectors=latency(0.95), vectors_recall_10=0.9)
