"""Messages for users about a search: summaries, notices and warnings."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model import Candidate, Step
from recollect.retrieval import Attempt, Trace
from recollect.retrieval.messages import (
    ONLY_STOPWORDS,
    context_message,
    error_summary,
    exclusion_message,
    fusion_summary,
    index_warnings,
    no_answer_message,
    no_results_message,
    rank_summary,
    rerank_message,
    retry_message,
    stem_only_message,
)
from recollect.retrieval.rescoring import StemDiscount
from recollect.retrieval.trace import Context


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, ""),
        ({"method": "rrf", "k": 5.0, "rank_base": 0}, "rrf, k 5, ranks from 0"),
        ({"method": "rrf", "k": 0.5, "rank_base": 1, "weights": {"vector": 1.0}}, "rrf, k 0.5"),
        (
            {"method": "convex", "k": 60, "weights": {"lexical": 0.3, "vector": 0.7}},
            "convex, lexical × 0.3, vector × 0.7",
        ),
    ],
)
def test_fusion_summary(rules: dict[str, Any], expected: str) -> None:
    assert fusion_summary(rules) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"reranked": True, "rerank_provider": "tei:\x1b[31mx"}, "by tei: [31mx"),
        ({"error_stage": "rerank", "error_detail": "refused"}, "failed"),
        ({"rerank_skipped_reason": "mode_off"}, "skipped: it is off"),
        ({"rerank_skipped_reason": "empty_candidates"}, "skipped: there are no candidates"),
        ({"rerank_skipped_reason": "unanimity", "unanimity": 2}, "skipped: both legs agree on 2 of the first 3"),
        ({"rerank_skipped_reason": "a reason\nof one's own"}, "skipped: a reason of one's own"),
    ],
)
def test_rerank_message(fields: dict[str, Any], expected: str) -> None:
    assert rerank_message(Trace(mode="hybrid", original_query="tea", **fields)) == expected


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (None, ""),
        (Attempt("did_you_mean", "green", 0), ""),
        (Attempt("did_you_mean", "green", 2), "nothing matched “gren tea”; did you mean “green”?"),
        (Attempt("trigram_fuzzy", "gren tea", 2), "nothing matched “gren tea”; showing notes with a similar name"),
        (Attempt("strongest_term", "gren", 2), "nothing matched “gren tea”; showing what matches “gren”"),
        (Attempt("any_word", "a OR b", 2), "nothing matched all words; showing notes that match any of them"),
    ],
)
def test_retry_message(attempt: Attempt | None, expected: str) -> None:
    attempts = [Attempt("initial", "gren OR tea", 0), *([attempt] if attempt else [])]
    assert retry_message(Trace(mode="bm25", original_query="gren\ntea", attempts=attempts)) == expected


@pytest.mark.parametrize(
    ("context", "fields", "expected"),
    [
        (Context(2.125, ("a",)), {"session": "s", "position": 2}, "with its neighbour, 2.12 before"),
        (Context(None, ("a", "c")), {"session": "s", "position": 2}, "with 2 neighbours, not retrieved before"),
        (Context(1e-6, ()), {"session": "s", "position": 1}, "without neighbours, 0.00 before"),
        (Context(3.0, ()), {"session": "s"}, "with its best chunk, 3.00 before"),
        (Context(3.0, ()), {}, "with its best chunk, 3.00 before"),
    ],
)
def test_context_message(context: Context, fields: dict[str, Any], expected: str) -> None:
    assert context_message(context, Candidate("b", **fields)) == expected


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_rank_summary_ordinals(rank: int, expected: str) -> None:
    assert rank_summary(Candidate("a", evidence=("vector", rank, 0.5, 0.1))) == f"{expected} by vector search."


def test_rank_summary_of_an_expanded_note() -> None:
    transfer = Step("graph", "linked by 'Tea' (related)", 1.0, 0.25, 0.0, 0.25, 9, 2)
    summary = rank_summary(Candidate("a", steps=(transfer,)))
    assert summary == "retrieved by neither leg; lifted by the graph: linked by 'Tea' (related)."


def trace(**fields: Any) -> Trace:
    return Trace(mode="bm25", original_query="tea", **fields)


def test_error_summary_is_one_line() -> None:
    assert error_summary(ValueError("disk\n full\x1b")) == "disk full"
    assert error_summary(KeyError()) == "KeyError"


def test_messages_about_missing_results() -> None:
    assert no_results_message(trace()) == "nothing was found for 'tea'; try other words, or fewer filters"
    assert "3 candidates were found, all below it" in no_results_message(trace(below_min_confidence=3))
    assert "1 candidate was found, which is below it" in no_results_message(trace(below_min_confidence=1))
    assert no_answer_message(0.0912, 0.5) == "the best confidence is 0.0912, below the answer threshold of 0.5"


def test_exclusion_message_names_the_terms() -> None:
    assert exclusion_message(trace()) == ""
    assert exclusion_message(trace(excluded=("decaf", "mate"))) == "excluding notes with: decaf, mate"


def test_index_warnings_omits_query_warnings() -> None:
    assert index_warnings(trace(warnings=[ONLY_STOPWORDS, "the disk is full"])) == ["the disk is full"]


def test_stem_only_message() -> None:
    assert stem_only_message(StemDiscount(3.5, ("ines",))) == "only another form of ines, 3.5 before the discount"


def test_rank_summary_nets_the_steps_of_a_stage() -> None:
    about = Step("speaker_turns", "the query is about its speaker, Ada", 1.3, 0.0, 0.5, 0.65, 1, 1)
    short = Step("speaker_turns", "short for a turn", 0.9, 0.0, 0.65, 0.585, 1, 1)
    candidate = Candidate("a", evidence=("lexical", 2, 7.0, 0.5), steps=(about, short))
    assert rank_summary(candidate) == (
        "2nd by lexical search; lifted by speaker turns: the query is about its speaker, Ada."
    )
    undone = Step("speaker_turns", "long for a turn", 1 / 0.9, 0.0, 0.585, 0.5, 1, 1)
    steps = (about, short, undone)
    assert rank_summary(Candidate("a", evidence=("lexical", 2, 7.0, 0.5), steps=steps)) == "2nd by lexical search."
