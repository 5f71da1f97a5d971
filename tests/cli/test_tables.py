from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

import pytest
from rich.console import Console

from recollect import Candidate, Hit, SearchResult, Step, Trace
from recollect.cli.tables import print_hits


def printed(hits: Iterable[Hit], trace: Trace | None = None) -> tuple[str, str]:
    """Return the printed hits, and the summary below them."""
    console = Console(file=StringIO(), width=80)
    trace = trace or Trace(mode="hybrid", original_query="tea")
    print_hits(console, SearchResult("tea", tuple(hits), trace), show_weak=True)
    assert isinstance(console.file, StringIO)
    *lines, summary = console.file.getvalue().splitlines(keepends=True)
    return "".join(lines), summary


def test_hit_without_score() -> None:
    assert printed([Hit(1, Candidate("n1", title="Tea"))])[0] == " 1  Tea\n    n1\n\n"


def test_hit_shows_confidence_or_else_relevance() -> None:
    note = Candidate("n1", ceiling=1.0, evidence=("lexical", 1, 2.0, 0.5))
    assert printed([Hit(1, note)])[0] == " 1  n1\n    0.50 ████      lexical 1\n\n"
    note.confidence = 0.25
    assert printed([Hit(1, note)])[0] == " 1  n1\n    0.25 ██        lexical 1\n\n"


@pytest.mark.parametrize(
    ("evidence", "steps", "legs"),
    [
        (("vector", 2, 0.5, 0.1, "graph", 3, 0.5, 0.1), (), "vector 2 · graph 3"),
        (("graph", 3, 0.5, 0.1), (), "graph 3"),
        ((), (Step("graph", "after 'Tea'", 1.0, 0.2, 0.0, 0.2, 9, 1),), "graph"),
    ],
)
def test_hit_shows_its_rank_in_each_leg(evidence: tuple[object, ...], steps: tuple[Step, ...], legs: str) -> None:
    assert printed([Hit(1, Candidate("n1", evidence=evidence, steps=steps))])[0] == f" 1  n1\n    {legs}\n\n"


def test_hit_shows_its_tags() -> None:
    note = Candidate("n1", title="Tea", tags=("drinks", "two words"))
    assert printed([Hit(1, note)])[0] == " 1  Tea\n    n1  #drinks #two words\n\n"


def test_superseded_hit_names_the_newer_notes() -> None:
    old = Candidate("n1", superseded_by=("n2", "n3", "n4"))
    output, _ = printed([Hit(1, old), Hit(2, Candidate("n2", path="tea.md")), Hit(3, Candidate("n3"))])
    assert output.startswith(" 1  n1\n      superseded by tea.md, n3, n4\n")


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"mode": "hybrid", "graph_count": 12}, "0 of 74 · 31 lexical, 60 vector, 12 graph · 9 ms"),
        ({"mode": "bm25"}, "0 of 74 · 31 lexical · 9 ms"),
        (
            {"mode": "semantic", "reranked": True, "rerank_provider": "tei:\x07"},
            "0 of 74 · 60 vector · reranked by tei:� · 9 ms",
        ),
    ],
)
def test_search_summary(fields: dict[str, object], summary: str) -> None:
    trace = Trace(mode="", original_query="tea", fused_count=74, bm25_count=31, vector_count=60, total_elapsed=9.4)
    for name, value in fields.items():
        setattr(trace, name, value)
    assert printed([], trace) == ("", f"{summary}\n")
