"""Around a second-stage reranker: the text it reads, and how its verdict is merged without losing anything.

Only the head of the list is reranked. The tail keeps its place behind it, so that recall further down costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, Step, as_candidate, as_candidates
from recollect.text import WHITESPACE, collapse_whitespace

__all__ = ["merge_reranked", "rerank_text"]

_LONGEST_CONTENT = 280
_MORE_THAN_ENOUGH = 30
"""How many times as much text is looked at first: nobody writes so much white space between words."""


def rerank_text(candidate: Candidate | Mapping[str, Any], *, characters: int = 0) -> str:
    r"""Return what a reranker reads of a candidate: title and summary, or else the beginning of the content.

    With ``characters``, the beginning of the content follows title and summary in any case, and is so long.

    >>> rerank_text({"title": "Tea", "summary": "Prefers green tea.", "content": "A long story."})
    'Tea\nPrefers green tea.'
    """
    found = as_candidate("candidate", candidate)
    heading = [part for part in (found.title.strip(WHITESPACE), found.summary.strip(WHITESPACE)) if part]
    most = arguments.count("characters", characters)
    if heading and not most:
        return "\n".join(heading)
    return "\n".join(filter(None, (*heading, _beginning(found.content, most or _LONGEST_CONTENT))))


def _beginning(content: str, longest: int) -> str:
    """Return the beginning of a text with white space collapsed, and dots where it is cut."""
    begun = collapse_whitespace(content[: longest * _MORE_THAN_ENOUGH])
    if len(begun) <= longest and longest * _MORE_THAN_ENOUGH < len(content):
        begun = collapse_whitespace(content)  # it is nearly all white space
    return begun if len(begun) <= longest else begun[:longest] + "..."


def merge_reranked(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    results: Iterable[tuple[int, float]],
    *,
    top_n: int = 20,
) -> list[Candidate]:
    """Return ``candidates`` with the first ``top_n`` in the order of a reranker's ``results``, and the rest behind.

    ``results`` are pairs of an index into the head and a score, in any order. Equal scores stay in fused order. A
    candidate that the reranker did not return follows those that it did. An index out of range, an index returned
    before, and a score that is not a number are passed over. Scores of the fusion stay as they are.

    A reranker does not know which note replaced which. A candidate that was replaced (``superseded_by``) follows all
    others that were returned, and what replaced it is ranked by the better of both scores.

    >>> notes = [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]
    >>> [note.id for note in merge_reranked(notes, [(1, 0.9), (0, 0.2), (7, 1.0)], top_n=3)]
    ['b', 'a', 'c', 'd']
    """
    found = as_candidates("candidates", candidates)
    size = min(arguments.count("top_n", top_n), len(found))
    scores: dict[int, float] = {}
    for place, result in enumerate(arguments.sequence("results", results)):
        position, score = _pair(f"results[{place}]", result)
        if 0 <= position < size and position not in scores and not math.isnan(score):
            scores[position] = score
    standing = _standing(found[:size], scores)
    order = sorted(scores, key=lambda position: (bool(found[position].superseded_by), -standing[position], position))
    order += [position for position in range(size) if position not in scores]
    head = [
        _moved(found[position], position, rank, scores.get(position), standing.get(position))
        for rank, position in enumerate(order, 1)
    ]
    return head + found[size:]


def _standing(head: list[Candidate], scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores that count: those of replaced candidates count for what replaced them."""
    standing = dict(scores)
    places = {candidate.id: position for position, candidate in enumerate(head)}
    for position, score in scores.items():
        for heir in head[position].superseded_by:
            place = places.get(heir, -1)
            if place in scores:
                standing[place] = max(standing[place], score)
    return standing


def _moved(candidate: Candidate, position: int, rank: int, score: float | None, standing: float | None) -> Candidate:
    reason = "not returned by the reranker" if score is None else f"reranker score {score:.4g}"
    if candidate.superseded_by and score is not None:
        reason += ", but replaced"
    elif standing != score:
        reason += f", in the place of one with {standing:.4g}"
    step = Step("rerank", reason, 1.0, 0.0, candidate.score, candidate.score, position + 1, rank)
    moved = candidate.rescored(candidate.score, (step,))
    moved.rerank_score = score
    return moved


def _pair(argument: str, result: Any) -> tuple[int, float]:
    try:
        place, score = result
        if isinstance(place, bool) or isinstance(score, (str, bytes, bool)):
            raise TypeError
        return index(place), float(score)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(argument, "must be a pair of an index and a score") from None
