"""Drawings of candidates and searches, and the same explanation as data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate, Step
from recollect.fusion import reciprocal_rank_fusion
from recollect.ranking import merge_reranked, reweight_by_intent
from recollect.retrieval import Attempt, SearchResult, StageRun, Trace, explain
from recollect.retrieval.explanation import _bar, _change_bar, _draw_head, _query_summary, _wrap, explain_search
from recollect.retrieval.messages import one_line, truncated
from recollect.retrieval.trace import Context
from tests.ranking.stages import importance_prior
from tests.strategies import any_text, ranked_list


def test_explain_shows_legs_stages_and_rank_changes() -> None:
    lexical = [Candidate("guide", path="wiki/tea-guide.md", title="Tea guide", content="tips", score=7.5)]
    vector = [
        Candidate("pref", path="memory/global/user-preference-tea.md", score=0.83),
        Candidate("guide", score=0.5),
    ]
    fused = reciprocal_rank_fusion([lexical, vector])
    drawing = explain(reweight_by_intent("recommend a tea", fused))
    assert drawing.splitlines() == [
        " 1  memory/global/user-preference-tea.md  (pref)",
        "    vector   +0.016393            █████████▍              rank 1 · raw 0.83",
        "    fused               0.016393  █████████▍              0.50 of the highest possible",
        "    intent      × 2.35  0.038525  █████████▓▓▓▓▓▓▓▓▓▓▓▓▓  rank 2 → 1 · asks for advice; a stated preference of",  # noqa: E501 (as wide as it is drawn)
        "                                                          the user",
        "    score               0.038525  ██████████████████████",
        "",
        " 2  Tea guide  (wiki/tea-guide.md)",
        "    lexical  +0.016393            █████████▍              rank 1 · raw 7.5",
        "    vector   +0.016129                     █████████▋     rank 2 · raw 0.5",
        "    fused               0.032522  ██████████████████▋     0.99 of the highest possible",
        "    intent      × 0.82  0.026668  ███████████████░░░░     rank 1 → 2 · asks for advice; generic advice, not",
        "                                                          the user's own",
        "    score               0.026668  ███████████████▎",
    ]


def test_explain_candidate_without_steps() -> None:
    assert explain([{"id": "a", "score": 0.5}]).splitlines()[1].split() == ["score", "0.500000", "█" * 22]
    assert explain([]) == ""


def test_explain_without_stages_ends_with_the_fused_score() -> None:
    fused = reciprocal_rank_fusion([[Candidate("a")]])
    assert explain(fused).splitlines()[-1].split()[0] == "fused"
    fused[0].confidence = 0.875
    assert explain(fused).endswith("1.00 of the highest possible · confidence 0.88")
    fused[0].ceiling = None
    assert explain(fused).endswith("██  confidence 0.88")


def test_explain_shows_addends() -> None:
    steps = (Step("bonus", "more", 1.0, 0.25, 0.5, 0.75, 1, 1), Step("malus", "less", 2.0, -0.5, 0.75, 1.0, 1, 1))
    drawing = explain([Candidate("a", score=1.0, steps=steps, confidence=0.5)])
    assert "+ 0.25" in drawing
    assert "× 2 − 0.5" in drawing
    assert drawing.endswith("  confidence 0.50")


def test_explain_omits_stages_without_effect() -> None:
    unchanged = Step("importance", "no rule of this stage applies", 1.0, 0.0, 0.5, 0.5, 1, 1)
    assert len(explain([Candidate("a", score=0.5, steps=(unchanged,))]).splitlines()) == 2
    falls = unchanged._replace(rank_after=3)
    rises = unchanged._replace(stage="superseded", rank_before=3)
    drawing = explain([Candidate("a", score=0.5, steps=(falls, rises))])
    assert "=  0.500000  ██████████████████████  rank 1 → 3 · others passed it\n" in drawing
    assert "=  0.500000  ██████████████████████  rank 3 → 1 · others fell behind it\n" in drawing


def test_explain_shows_the_rank_change_of_a_stage_once() -> None:
    steps = (
        Step("composite", "relevance", 2.0, 0.0, 0.25, 0.5, 4, 2),
        Step("composite", "importance", 1.0, 0.5, 0.5, 1.0, 4, 2),
        Step("temporal", "near", 1.0, 0.5, 1.0, 1.5, 2, 1),
    )
    reasons = [line.split("  ")[-1].strip() for line in explain([Candidate("a", score=1.5, steps=steps)]).splitlines()]
    assert reasons[1:4] == ["relevance", "rank 4 → 2 · importance", "rank 2 → 1 · near"]


def test_explain_shows_reranker_scores() -> None:
    drawing = explain(merge_reranked([{"id": "a"}, {"id": "b"}, {"id": "c"}], [(0, 0.9), (2, 0.5)]))
    assert "  reranker score 0.9\n" in drawing
    assert "  rank 3 → 2 · reranker score 0.5\n" in drawing
    assert "  rank 2 → 3 · not returned by the reranker\n" in drawing


def test_explain_lists_superseding_notes() -> None:
    old = Candidate("old", score=0.6, superseded_by=("new", "untitled", "elsewhere"))
    notes = [Candidate("new", path="tea.md", score=0.7), old, Candidate("untitled", title="Oolong")]
    assert explain(notes).splitlines()[3:7] == [
        " 2  old",
        "    ↳ superseded by tea.md, rank 1",
        "    ↳ superseded by Oolong, rank 3",
        "    ↳ superseded by elsewhere",
    ]


def test_explain_sanitises_titles() -> None:
    heading = explain([Candidate("a", title="Tea\x1b[31m\n\u202e" + "x" * 200)]).splitlines()[0]
    assert heading == " 1  Tea [31m " + "x" * 90 + "…  (a)"


def test_explain_blank_title_shows_the_path() -> None:
    assert explain([Candidate("a", title="  ", path="p.md")]).splitlines()[0] == " 1  p.md  (a)"


def test_explain_untitled_note_shows_its_content() -> None:
    turn = Candidate("t4", content="Sam: In the Rozenstraat,\nthird floor, with a balcony over the canal.")
    assert explain([turn]).splitlines()[0] == " 1  Sam: In the Rozenstraat, third floor, with a balc…  (t4)"


def test_explain_limit_and_width() -> None:
    notes = [Candidate(str(number)) for number in range(12)]
    assert explain(notes).count("score") == 10
    assert explain(notes, limit=3).count("score") == 3
    assert explain(notes, limit=None).count("score") == 12
    with pytest.raises(ArgumentError, match="^limit: must not be negative"):
        explain(notes, limit=-1)
    with pytest.raises(ArgumentError, match="^width: must not be negative"):
        explain(notes, width=-1)
    assert explain([Candidate("a", score=1.0)], width=1).endswith("  " + "█" * 12)


def test_explain_search_uses_only_the_trace() -> None:
    trace = Trace(mode="bm25", original_query="tea", total_elapsed=2.0)
    assert explain_search(trace).endswith("2.0 ms  0 shown")
    trace.results = reciprocal_rank_fusion([[Candidate("a"), Candidate("b")]])
    drawing = explain_search(trace, limit=1, width=80)
    assert drawing.endswith("2 shown\n\n" + explain(trace.results, limit=1, width=80))


def test_explain_search_shows_neighbours() -> None:
    turn = Candidate("b", session="s", position=2)
    trace = Trace(mode="hybrid", original_query="tea", contexts={"b": Context(2.5, ("a", "c"))})
    trace.results = reciprocal_rank_fusion([[Candidate("a"), turn], [turn]])
    drawing = explain_search(trace, width=140)
    assert drawing.count("rank 2 · raw 0 · with 2 neighbours, 2.50 before\n") == 1
    assert drawing.count("neighbours") == 1


@given(st.lists(ranked_list, max_size=3), st.floats(0, 3), st.integers(0, 200))
def test_explain_draws_any_candidates(lists: list[list[Candidate]], slope: float, width: int) -> None:
    ranked = importance_prior(reciprocal_rank_fusion(lists), slope=slope)
    drawing = explain(ranked, limit=None, width=width)
    assert drawing.count("fused ") == len(ranked)
    assert all((note.title or note.path) in drawing for note in ranked)


@given(any_text, any_text, any_text)
def test_explain_sanitises_notes(title: str, leg: str, reason: str) -> None:
    step = Step(leg, reason, 2.0, 0.0, 0.5, 1.0, 2, 1)
    note = Candidate("a", title=title, score=1.0, evidence=(leg, 1, 0.5, 0.5), steps=(step,), superseded_by=(title,))
    drawing = explain([note], width=110)
    assert drawing.count("\n") == 5 + max(0, drawing.count("\n" + " " * 50))
    assert all(character == "\n" or character.isprintable() for character in drawing)


class TestExplanationData:
    def test_explanation_data_has_waterfalls(self) -> None:
        steps = (
            Step("intent", "a preference", 2.0, 0.0, 0.75, 1.5, 2, 1),
            Step("session", "no rule applies", 1.0, 0.0, 1.5, 1.5, 1, 1),
            Step("superseded", "by another", 1.0, -0.5, 1.5, 1.0, 1, 1),
        )
        fused = Candidate("a", score=1.0, steps=steps, confidence=0.5, superseded_by=("b",))
        fused.evidence = ("lexical", 1, 7.0, 0.5, "vector", 3, 0.25, 0.25)
        trace = Trace(mode="hybrid", original_query="tea", results=[fused, Candidate("b", path="tea.md", score=0.5)])
        data = SearchResult("tea", (), trace).explanation_data()
        assert data["max_score"] == 1.5
        first, second = data["waterfalls"]
        ranks = "1st by lexical search and 3rd by vector search"
        assert first["sentence"] == f"{ranks}; lifted by intent, lowered by superseded: a preference."
        assert (first["id"], first["pointers"]) == ("a", ["superseded by tea.md, rank 2"])
        row_values = [(row["kind"], row["name"], row["start"], row["end"], row["change"]) for row in first["rows"]]
        assert row_values == [
            ("leg", "lexical", 0.0, 0.5, "+0.500000"),
            ("leg", "vector", 0.5, 0.75, "+0.250000"),
            ("fused", "fused", 0.0, 0.75, ""),
            ("stage", "intent", 0.75, 1.5, "× 2"),
            ("stage", "superseded", 1.5, 1.0, "− 0.5"),
            ("score", "score", 0.0, 1.0, ""),
        ]
        assert first["rows"][3]["reason"] == "rank 2 → 1 · a preference"
        assert second["sentence"] == "retrieved by neither leg."
        assert second["rows"] == [
            {"kind": "score", "name": "score", "start": 0.0, "end": 0.5, "change": "", "reason": ""}
        ]

    def test_explanation_data_has_timeline_and_attempts(self) -> None:
        attempts = [Attempt("initial", "kubernets", 0), Attempt("did_you_mean", "kubernetes", 2)]
        trace = Trace(mode="bm25", original_query="kubernets", attempts=attempts, bm25_elapsed=1.5, total_elapsed=2.0)
        data = SearchResult("kubernets", (), trace).explanation_data()
        assert data["notice"] == "nothing matched “kubernets”; did you mean “kubernetes”?"
        assert data["query_summary"][0] == {"label": "query", "text": "kubernets"}
        assert data["timeline"][0] == {"name": "lexical", "start": 0.0, "elapsed": 1.5, "message": "0 results"}
        assert data["timeline"][-1]["elapsed"] == 2.0

    def test_explanation_data_limit(self) -> None:
        trace = Trace(mode="bm25", original_query="tea", results=[Candidate(str(number)) for number in range(12)])
        result = SearchResult("tea", (), trace)
        assert [len(result.explanation_data(limit=limit)["waterfalls"]) for limit in (10, 3, None)] == [10, 3, 12]


def test_query_summary_without_answer() -> None:
    weak = Candidate("n1", confidence=0.25)
    trace = Trace(mode="bm25", original_query="tea", answer_threshold=0.5, results=[weak])
    line = "the best confidence is 0.25, below the answer threshold of 0.5"
    assert ("no answer", line) in list(_query_summary(trace))
    confident = replace(trace, results=[weak, Candidate("n2", confidence=0.5)])
    assert "no answer" not in dict(_query_summary(confident))
    assert "no answer" not in dict(_query_summary(replace(trace, results=[])))


def test_explain_search_head() -> None:
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
        stages=[StageRun("intent", 74, 0.1), StageRun("superseded", 75, 0.1), StageRun("duplicates", 70, 0.1)],
        reranked=True,
        rerank_provider="tei:localhost",
        below_min_confidence=60,
        results=[Candidate("a"), Candidate("b")],
    )
    assert _draw_head(trace, 80).splitlines() == [
        "query        what did I drnik two weeks ago?",
        "searched     drnik OR weeks",
        "embedded as  what did drnik two weeks ago?",
        "dates        2026/07/18, 2026-07-18",
        "preset       default · rrf, k 20",
        "mode         hybrid",
        "tried        initial       drnik OR weeks: no results",
        "             did_you_mean  drink: 31 results",
        "",
        "lexical      ██                     2.0 ms  31 results",
        "vector       ████████               8.0 ms  60 results · topics",
        "context              ██             2.0 ms  2 rescored",
        "graph                  ██           2.0 ms  12 results",
        "fusion                   █          1.0 ms  74 notes · intent, superseded +1,",
        "                                            duplicates −5",
        "rerank                    █████     5.0 ms  by tei:localhost",
        "total        ████████████████████  20.0 ms  2 shown, 60 below min_confidence",
    ]


def test_explain_search_shows_skipped_parts_and_warnings() -> None:
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
        warnings=["only lexical search ran: no model", "lexical search failed: torn"],
        error_stage="bm25",
        error_detail="torn",
    )
    lines = _draw_head(trace, 60).splitlines()
    assert lines[1:4] == [
        "searched     no terms",
        "preset       mine",
        "mode         bm25, since vector search failed",
    ]
    assert lines[4:7] == [
        "warning      only lexical search ran: no model",
        "warning      lexical search failed: torn",
        "",
    ]
    assert lines[7:] == [
        "vector       ███████████▎     3.0 ms  0 results",
        "graph                              –  skipped: the index",
        "                                      knows no edges",
        "fusion                  ████  1.0 ms  1 note",
        "rerank                             –  skipped: no reranker",
        "                                      is configured",
        "total        ███████████████  4.0 ms  0 shown",
    ]
    trace.warnings = []
    assert "failed       bm25: torn" in _draw_head(trace, 60).splitlines()


def test_explain_search_shows_the_embedded_query() -> None:
    trace = Trace(mode="bm25", original_query="tea NOT coffee", compiled_query="tea NOT coffee", embedded_query="tea")
    assert "embedded as" not in _draw_head(trace, 80)
    trace.embedder_used = True
    assert _draw_head(trace, 80).splitlines()[2] == "embedded as  tea"


def test_explain_search_nothing_rescored() -> None:
    trace = Trace(mode="bm25", original_query="tea", context_elapsed=1.0, total_elapsed=1.0)
    assert _draw_head(trace, 80).splitlines()[4].endswith("1.0 ms  none rescored")


def test_explain_search_without_candidates() -> None:
    trace = Trace(mode="hybrid", original_query="tea", rerank_skipped_reason="empty_candidates")
    assert [line.split() for line in _draw_head(trace, 80).splitlines()[4:]] == [
        ["vector", "–", "0", "results"],
        ["total", "–", "0", "shown"],
    ]


@given(any_text)
def test_explain_search_sanitises_queries(text: str) -> None:
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
    assert all(character == "\n" or character.isprintable() for character in _draw_head(trace, 80))


@given(any_text, st.integers(1, 50))
def test_one_line_is_printable_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit + 1


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0.0, 1.0, "██████████"),
        (0.0, 0.0, ""),
        (0.5, 0.4, ""),
        (0.0, 1e-9, "▏"),
        (1.0, 1.1, "         █"),  # beyond the scale: drawn at its end
        (-1.0, 0.25, "██▌"),
        (0.37, 0.5, "    █"),  # from the nearest whole cell
    ],
)
def test_bar(start: float, end: float, expected: str) -> None:
    assert _bar(start, end, 10) == expected


@given(st.floats(-1, 2), st.floats(-1, 2), st.integers(1, 40))
def test_bar_fits_its_scale(start: float, end: float, cells: int) -> None:
    assert len(_bar(start, end, cells)) <= cells
    assert len(_change_bar(start, end, cells)) <= cells


def test_wrap_indents_lines() -> None:
    assert _wrap("tea  ", "", 20) == ["tea"]
    assert _wrap("tea  ", "cool", 2) == ["tea  c", "     o", "     o", "     l"]


def test_truncated() -> None:
    assert truncated("tea", 3) == "tea"
    assert truncated("a tea", 3) == "a…"
