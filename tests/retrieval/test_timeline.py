from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from recollect import Candidate
from recollect.retrieval import Attempt, StageRun, Trace
from recollect.retrieval.timeline import draw_head, story
from recollect.retrieval.trace import Context
from tests.strategies import any_text


def test_a_search_without_an_answer_says_so() -> None:
    weak = Candidate("n1", confidence=0.25)
    trace = Trace(mode="bm25", original_query="tea", answer_threshold=0.5, results=[weak])
    line = "nothing in the memory fits: the best confidence is 0.25, below the answer threshold of 0.5"
    assert ("no answer", line) in list(story(trace))
    sure = replace(trace, results=[weak, Candidate("n2", confidence=0.5)])
    assert "no answer" not in dict(story(sure))
    assert "no answer" not in dict(story(replace(trace, results=[])))


def test_a_whole_search() -> None:
    trace = Trace(
        mode="hybrid",
        original_query="what did I drnik two weeks ago?",
        compiled_query="drnik OR weeks",
        date_hints=("2026/07/18", "2026-07-18"),
        preset="default",
        fusion={"method": "rrf", "k": 20.0},
        attempts=[Attempt("initial", "drnik OR weeks", 0), Attempt("did_you_mean", "drink", 31)],
        embedder="topics",
        embedder_used=True,
        embedded_query="what did drnik two weeks ago?",
        bm25_elapsed=2.0,
        vector_elapsed=8.0,
        context_elapsed=2.0,
        contexts={"a": Context(2.5, ("b",)), "b": Context(None, ("a",))},
        graph_elapsed=2.0,
        fusion_elapsed=1.0,
        rerank_elapsed=5.0,
        total_elapsed=20.0,
        bm25_count=31,
        vector_count=60,
        graph_count=12,
        fused_count=74,
        stages=[StageRun("intent", 74, 0.1), StageRun("replaced", 75, 0.1), StageRun("duplicates", 70, 0.1)],
        reranked=True,
        rerank_provider="tei:localhost",
        below_min_confidence=60,
        results=[Candidate("a"), Candidate("b")],
    )
    assert draw_head(trace, 80).splitlines() == [
        "query        what did I drnik two weeks ago?",
        "looked for   drnik OR weeks",
        "by meaning   what did drnik two weeks ago?",
        "dates        2026/07/18, 2026-07-18",
        "preset       default · rrf, k 20",
        "mode         hybrid",
        "tried        initial       drnik OR weeks: none found",
        "             did_you_mean  drink: 31 found",
        "",
        "words        ██                     2.0 ms  31 found",
        "meaning      ████████               8.0 ms  60 found · topics",
        "context              ██             2.0 ms  2 read more closely",
        "connections            ██           2.0 ms  12 found",
        "fusion                   █          1.0 ms  74 notes · intent, replaced +1,",
        "                                            duplicates −5",
        "rerank                    █████     5.0 ms  by tei:localhost",
        "total        ████████████████████  20.0 ms  2 shown, 60 below min_confidence",
    ]


def test_what_was_done_without() -> None:
    trace = Trace(
        mode="bm25",
        original_query="tea",
        compiled_query="",
        preset="mine",
        fell_back_to_bm25=True,
        vector_elapsed=3.0,
        fused_count=1,
        fusion_elapsed=1.0,
        total_elapsed=4.0,
        graph_skipped_reason="the index knows no edges",
        rerank_skipped_reason="no_reranker",
        warnings=["the search was by words alone: no model", "the search by words failed: torn"],
        error_stage="bm25",
        error_detail="torn",
    )
    told = draw_head(trace, 60).splitlines()
    assert told[1:4] == [
        "looked for   nothing by words",
        "preset       mine",
        "mode         bm25, since there was no answer by meaning",
    ]
    assert told[4:7] == [
        "warning      the search was by words alone: no model",
        "warning      the search by words failed: torn",
        "",
    ]
    assert told[7:] == [
        "meaning      ███████████▎     3.0 ms  0 found",
        "connections                        –  skipped: the index",
        "                                      knows no edges",
        "fusion                  ████  1.0 ms  1 note",
        "rerank                             –  skipped: there is no",
        "                                      reranker",
        "total        ███████████████  4.0 ms  0 shown",
    ]
    trace.warnings = []
    assert "failed       bm25: torn" in draw_head(trace, 60).splitlines()


def test_what_stood_for_the_meaning_is_told_where_it_was_embedded() -> None:
    trace = Trace(mode="bm25", original_query="tea NOT coffee", compiled_query="tea NOT coffee", embedded_query="tea")
    assert "by meaning" not in draw_head(trace, 80)
    trace.embedder_used = True
    assert draw_head(trace, 80).splitlines()[2] == "by meaning   tea"


def test_where_there_was_nothing_to_read_more_closely() -> None:
    trace = Trace(mode="bm25", original_query="tea", context_elapsed=1.0, total_elapsed=1.0)
    assert draw_head(trace, 80).splitlines()[4].endswith("1.0 ms  none read more closely")


def test_where_nothing_was_found_there_is_nothing_to_rerank() -> None:
    trace = Trace(mode="hybrid", original_query="tea", rerank_skipped_reason="empty_candidates")
    assert [line.split() for line in draw_head(trace, 80).splitlines()[4:]] == [
        ["meaning", "–", "0", "found"],
        ["total", "–", "0", "shown"],
    ]


@given(any_text)
def test_no_query_breaks_a_line(text: str) -> None:
    trace = Trace(
        mode="bm25",
        original_query=text,
        compiled_query=text,
        date_hints=(text,),
        preset=text,
        attempts=[Attempt(text, text, 0)] * 2,
        warnings=[text],
        embedder=text,
        embedder_used=True,
        embedded_query=text,
        graph_skipped_reason=text,
        stages=[StageRun(text, 1, 0.0)],
    )
    assert all(character == "\n" or character.isprintable() for character in draw_head(trace, 80))
