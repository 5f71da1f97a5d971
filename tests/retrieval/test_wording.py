from __future__ import annotations

from typing import Any

import pytest

from recollect.model import Candidate, Step
from recollect.retrieval import Attempt, Trace
from recollect.retrieval.trace import Context
from recollect.retrieval.wording import (
    context_in_words,
    fusion_in_words,
    rerank_in_words,
    retry_in_words,
    standing_in_words,
)


@pytest.mark.parametrize(
    ("rules", "told"),
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
def test_fusion(rules: dict[str, Any], told: str) -> None:
    assert fusion_in_words(rules) == told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, ""),
        ({"reranked": True, "rerank_provider": "tei:\x1b[31mx"}, "by tei: [31mx"),
        ({"error_stage": "rerank", "error_detail": "refused"}, "failed"),
        ({"rerank_skipped_reason": "mode_off"}, "skipped: it is switched off"),
        ({"rerank_skipped_reason": "empty_candidates"}, "skipped: there was nothing to rerank"),
        ({"rerank_skipped_reason": "unanimity", "unanimity": 2}, "skipped: both legs agree on 2 of the first 3"),
        ({"rerank_skipped_reason": "a reason\nof one's own"}, "skipped: a reason of one's own"),
    ],
)
def test_rerank(fields: dict[str, Any], told: str) -> None:
    assert rerank_in_words(Trace(mode="hybrid", original_query="tea", **fields)) == told


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (None, ""),
        (Attempt("did_you_mean", "green", 0), ""),
        (Attempt("did_you_mean", "green", 2), "nothing matched “gren tea”; did you mean “green”?"),
        (Attempt("trigram_fuzzy", "gren tea", 2), "nothing matched “gren tea”; shown are notes with a similar name"),
        (Attempt("strongest_term", "gren", 2), "nothing matched “gren tea”; shown is what matches “gren”"),
        (Attempt("any_word", "a OR b", 2), "nothing matched all words; shown are notes that match any of them"),
    ],
)
def test_retry(attempt: Attempt | None, told: str) -> None:
    attempts = [Attempt("initial", "gren OR tea", 0), *([attempt] if attempt else [])]
    assert retry_in_words(Trace(mode="bm25", original_query="gren\ntea", attempts=attempts)) == told


@pytest.mark.parametrize(
    ("context", "fields", "told"),
    [
        (Context(2.125, ("a",)), {"session": "s", "position": 2}, "with the note beside it, at first 2.12"),
        (Context(None, ("a", "c")), {"session": "s", "position": 2}, "with 2 notes beside it, not found at first"),
        (Context(1e-6, ()), {"session": "s", "position": 1}, "read once more, at first 0.00"),
        (Context(3.0, ()), {"session": "s"}, "with its best passage, at first 3.00"),
        (Context(3.0, ()), {}, "with its best passage, at first 3.00"),
    ],
)
def test_what_a_note_was_read_with(context: Context, fields: dict[str, Any], told: str) -> None:
    assert context_in_words(context, Candidate("b", **fields)) == told


@pytest.mark.parametrize(
    ("rank", "told"),
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
def test_places(rank: int, told: str) -> None:
    assert standing_in_words(Candidate("a", evidence=("vector", rank, 0.5, 0.1))) == f"{told} by meaning."


def test_a_note_that_only_its_connections_found() -> None:
    lent = Step("graph", "linked by 'Tea' (related)", 1.0, 0.25, 0.0, 0.25, 9, 2)
    told = standing_in_words(Candidate("a", steps=(lent,)))
    assert told == "neither by words nor by meaning; lifted by connections: linked by 'Tea' (related)."
