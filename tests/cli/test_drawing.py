from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

import pytest
from rich.console import Console

from recollect import Candidate, Hit, SearchResult, Step, Trace
from recollect.cli.drawing import draw_hits, draw_summary


def drawn(hits: Iterable[Hit], indent: int = 0) -> str:
    console = Console(file=StringIO(), width=80)
    draw_hits(console, hits, indent=indent)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_hit_that_was_never_fused_has_nothing_to_be_sure_of() -> None:
    assert drawn([Hit(1, Candidate("n1", title="Tea"))], indent=2) == "   1  Tea\n      n1\n\n"


def test_confidence_before_relevance() -> None:
    note = Candidate("n1", ceiling=1.0, evidence=("lexical", 1, 2.0, 0.5))
    assert drawn([Hit(1, note)]) == " 1  n1\n    0.50 ████      words 1\n\n"
    note.confidence = 0.25
    assert drawn([Hit(1, note)]) == " 1  n1\n    0.25 ██        words 1\n\n"


@pytest.mark.parametrize(
    ("evidence", "steps", "told"),
    [
        (("vector", 2, 0.5, 0.1, "graph", 3, 0.5, 0.1), (), "meaning 2 · graph 3"),
        (("graph", 3, 0.5, 0.1), (), "by connections"),
        ((), (Step("graph", "after 'Tea'", 1.0, 0.2, 0.0, 0.2, 9, 1),), "by connections"),
    ],
)
def test_how_a_hit_was_found(evidence: tuple[object, ...], steps: tuple[Step, ...], told: str) -> None:
    assert drawn([Hit(1, Candidate("n1", evidence=evidence, steps=steps))]) == f" 1  n1\n    {told}\n\n"


def test_a_hit_shows_its_tags() -> None:
    note = Candidate("n1", title="Tea", tags=("drinks", "two words"))
    assert drawn([Hit(1, note)]) == " 1  Tea\n    n1  #drinks #two words\n\n"


def test_a_hit_that_was_replaced_says_by_which() -> None:
    old = Candidate("n1", superseded_by=("n2", "n3", "n4"))
    shown = drawn([Hit(1, old), Hit(2, Candidate("n2", path="tea.md")), Hit(3, Candidate("n3"))])
    assert shown.startswith(" 1  n1\n      replaced by tea.md, n3, n4\n")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"mode": "hybrid", "graph_count": 12}, "0 of 74 · 31 by words, 60 by meaning, 12 by connections · 9 ms"),
        ({"mode": "bm25"}, "0 of 74 · 31 by words · 9 ms"),
        (
            {"mode": "semantic", "reranked": True, "rerank_provider": "tei:\x07"},
            "0 of 74 · 60 by meaning · reranked by tei:� · 9 ms",
        ),
    ],
)
def test_the_summary(fields: dict[str, object], told: str) -> None:
    console = Console(file=StringIO(), width=80)
    trace = Trace(mode="", original_query="tea", fused_count=74, bm25_count=31, vector_count=60, total_elapsed=9.4)
    for name, value in fields.items():
        setattr(trace, name, value)
    draw_summary(console, SearchResult("tea", (), trace), 0)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == f"{told}\n"
