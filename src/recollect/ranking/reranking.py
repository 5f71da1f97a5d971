"""Reranking: the text that a reranker reads, how its scores are merged, and when it is skipped.

Only the head of the list is reranked; the tail follows in its original order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, Step, as_candidate, as_candidates
from recollect.text import WHITESPACE, collapse_whitespace

_MAX_CONTENT = 280
_READ_AHEAD = 30
"""The factor by which more text is read first than is min_agreements, in case most of it is white space."""


def rerank_text(candidate: Candidate | Mapping[str, Any], *, characters: int = 0) -> str:
    r"""Return the text of a candidate for a reranker: title and summary, or else the beginning of the content.

    With ``characters``, so many characters of the content always follow title and summary.

    >>> rerank_text({"title": "Tea", "summary": "Prefers green tea.", "content": "A long story."})
    'Tea\nPrefers green tea.'
    """
    note = as_candidate("candidate", candidate)
    heading = [part for part in (note.title.strip(WHITESPACE), note.summary.strip(WHITESPACE)) if part]
    length = arguments.count("characters", characters)
    if heading and not length:
        return "\n".join(heading)
    return "\n".join(filter(None, (*heading, _beginning(note.content, length or _MAX_CONTENT))))


def _beginning(content: str, length: int) -> str:
    """Return the beginning of a text with white space collapsed, followed by dots if it is truncated."""
    start = collapse_whitespace(content[: length * _READ_AHEAD])
    if len(start) <= length and length * _READ_AHEAD < len(content):
        start = collapse_whitespace(content)  # it is nearly all white space
    return start if len(start) <= length else start[:length] + "..."


def merge_reranked(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    results: Iterable[tuple[int, float]],
    *,
    top_n: int = 20,
) -> list[Candidate]:
    """Return ``candidates`` with the first ``top_n`` in the order of a reranker's ``results``, then the rest.

    ``results`` are pairs of an index into the head and a score, in any order. Equal scores stay in fused order. A
    candidate that the reranker did not return follows those that it did. An index out of range, a repeated index and a
    score that is not a number are ignored. The fused scores do not change.

    A reranker does not know which note supersedes which. A superseded candidate follows all others that were returned,
    and the note that supersedes it is ranked by the better of both scores.

    >>> notes = [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]
    >>> [note.id for note in merge_reranked(notes, [(1, 0.9), (0, 0.2), (7, 1.0)], top_n=3)]
    ['b', 'a', 'c', 'd']
    """
    notes = as_candidates("candidates", candidates)
    size = min(arguments.count("top_n", top_n), len(notes))
    scores: dict[int, float] = {}
    for number, result in enumerate(arguments.sequence("results", results)):
        position, score = _pair(f"results[{number}]", result)
        if 0 <= position < size and position not in scores and not math.isnan(score):
            scores[position] = score
    effective = dict(scores)  # a note has at least the scores of the notes that it supersedes
    positions = {candidate.id: position for position, candidate in enumerate(notes[:size])}
    for position, score in scores.items():
        for successor in notes[position].superseded_by:
            current = positions.get(successor, -1)
            if current in scores:
                effective[current] = max(effective[current], score)
    order = sorted(scores, key=lambda position: (bool(notes[position].superseded_by), -effective[position], position))
    order += [position for position in range(size) if position not in scores]
    head = [
        _moved(notes[position], position, rank, scores.get(position), effective.get(position))
        for rank, position in enumerate(order, 1)
    ]
    return head + notes[size:]


def _moved(candidate: Candidate, position: int, rank: int, score: float | None, effective: float | None) -> Candidate:
    reason = "not returned by the reranker" if score is None else f"reranker score {score:.4g}"
    if candidate.superseded_by and score is not None:
        reason += ", but superseded"
    elif effective != score:
        reason += f", but supersedes a note with {effective:.4g}"
    step = Step("rerank", reason, 1.0, 0.0, candidate.score, candidate.score, position + 1, rank)
    moved = candidate.rescored(candidate.score, (step,))
    moved.rerank_score = score
    return moved


def _pair(argument: str, result: Any) -> tuple[int, float]:
    try:
        position, score = result
        if isinstance(position, bool) or isinstance(score, (str, bytes, bool)):
            raise TypeError
        return index(position), float(score)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(argument, "must be a pair of an index and a score") from None


_WINDOW = 3


@dataclass(frozen=True, slots=True)
class Unanimity:
    """The lexical leg's top three, and at how many ranks the vector leg has the same note.

    >>> Unanimity(("a", "b", "c"), 2).agreements
    2
    """

    ids: tuple[str, ...]
    agreements: int


def unanimity(lexical_ids: Sequence[str], vector_ids: Sequence[str], agree_min: int = 2) -> Unanimity | None:
    """Return the agreement of two legs on their top three; ``None`` if they agree on fewer than ``agree_min`` ranks.

    If they agree, a reranker would change little. Legs with fewer than three notes never agree.

    >>> unanimity(["a", "b", "c", "d"], ["a", "b", "x", "y"])
    Unanimity(ids=('a', 'b', 'c'), agreements=2)
    """
    min_agreements = arguments.count("agree_min", agree_min)
    lexical, vector = (
        [arguments.text(f"{name}[{rank}]", note) for rank, note in enumerate(arguments.sequence(name, ids)[:_WINDOW])]
        for name, ids in (("lexical_ids", lexical_ids), ("vector_ids", vector_ids))
    )
    if min(len(lexical), len(vector)) < _WINDOW:
        return None
    agreements = sum(one == other for one, other in zip(lexical, vector, strict=True))
    return Unanimity(tuple(lexical), agreements) if agreements >= min_agreements else None
