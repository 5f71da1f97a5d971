"""Reranking: the text that a reranker reads, how its scores change the order, and when reranking is skipped.

Only the head of the list, the first ``top_n`` candidates, is reranked. The reranker's scores either replace the order
of the head (:func:`merge_reranked`), or are blended with the scores of the candidates (:func:`blend_reranked`).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, Step, as_candidate, as_candidates
from recollect.text import WHITESPACE, collapse_whitespace

_MAX_CONTENT = 280
"""How many characters of the content a reranker reads by default, if there is neither title nor summary."""
_MAX_PREVIOUS = 1000  # in how many characters of the notes before a note questions are looked for
_QUESTION = re.compile(r"[^.!?。！？]*[?？]")  # a sentence that ends with a question mark
_READ_AHEAD = 30
"""To return n characters, ``_beginning`` first reads only this many times n: after white space is collapsed, that is
nearly always enough."""


def rerank_text(candidate: Candidate | Mapping[str, Any], *, characters: int = 0, previous: str = "") -> str:
    r"""Return the text of a candidate for a reranker: title and summary, or else the beginning of the content.

    If ``characters`` is not 0, that many characters of the content always follow title and summary. ``previous`` is the
    text of the notes before it in its session. The last two questions in it stand before the content, because the note
    may answer them. Other sentences are left out: the reranker would score them as if they were the note's.

    >>> rerank_text({"title": "Tea", "summary": "Prefers green tea.", "content": "A long story."})
    'Tea\nPrefers green tea.'
    """
    note = as_candidate("candidate", candidate)
    heading = [part for part in (note.title.strip(WHITESPACE), note.summary.strip(WHITESPACE)) if part]
    length = arguments.count("characters", characters)
    if heading and not length:
        return "\n".join(heading)
    questions = _QUESTION.findall(collapse_whitespace(previous[-_MAX_PREVIOUS:]))
    before = " ".join(question.strip() for question in questions[-2:])
    return "\n".join(filter(None, (*heading, before, _beginning(note.content, length or _MAX_CONTENT))))


def _beginning(content: str, length: int) -> str:
    """Return the first ``length`` characters of a text with white space collapsed, and "..." if more text follows."""
    start = collapse_whitespace(content[: length * _READ_AHEAD])
    if len(start) <= length and length * _READ_AHEAD < len(content):
        start = collapse_whitespace(content)  # the beginning was nearly all white space
    return start if len(start) <= length else start[:length] + "..."


def merge_reranked(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    results: Iterable[tuple[int, float]],
    *,
    top_n: int = 20,
) -> list[Candidate]:
    """Return ``candidates`` with the first ``top_n`` in the order of a reranker's ``results``, then the rest.

    ``results`` are pairs of an index into ``candidates`` and a score, in any order. Equal scores keep the order of
    ``candidates``. A candidate that the reranker did not return follows those that it returned. An index out of range,
    a repeated index and a score of NaN are ignored. The fused scores do not change.

    A reranker does not know which note supersedes which. So a superseded candidate follows all others that were
    returned, and the note that supersedes it is ranked by the better of the two scores.

    >>> notes = [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]
    >>> [note.id for note in merge_reranked(notes, [(1, 0.9), (0, 0.2), (7, 1.0)], top_n=3)]
    ['b', 'a', 'c', 'd']
    """
    notes = as_candidates("candidates", candidates)
    head_size = min(arguments.count("top_n", top_n), len(notes))
    scores = valid_scores(results, head_size)
    effective_scores = _effective_scores(notes[:head_size], scores)
    order = sorted(scores, key=lambda index: (bool(notes[index].superseded_by), -effective_scores[index], index))
    order += [index for index in range(head_size) if index not in scores]
    head = [
        _reranked(notes[index], index + 1, rank, scores.get(index), effective_scores.get(index))
        for rank, index in enumerate(order, 1)
    ]
    return head + notes[head_size:]


def blend_reranked(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    results: Iterable[tuple[int, float]],
    *,
    weight: float,
    top_n: int = 20,
) -> list[Candidate]:
    """Return ``candidates`` sorted by a weighted sum of their own scores and a reranker's scores in ``results``.

    The new score is ``(1 - weight) * score + weight * best_score * reranker_score``, where ``best_score`` is the best
    score of all candidates. The reranker's scores are from 0 to 1; if one is not, all are scaled so that the lowest
    becomes 0 and the highest 1. A candidate that was not reranked has 0. So no candidate beyond the first ``top_n``
    overtakes one of these, unless its own score is higher.

    A superseded candidate has a reranker's score of 0, and the note that supersedes it the better of the two scores.

    >>> notes = [{"id": "a", "score": 1.0}, {"id": "b", "score": 0.9}, {"id": "c", "score": 0.5}]
    >>> [(note.id, round(note.score, 2)) for note in blend_reranked(notes, [(0, 0.1), (1, 0.8)], weight=0.5)]
    [('b', 0.85), ('a', 0.55), ('c', 0.25)]
    """
    notes = as_candidates("candidates", candidates)
    arguments.number("weight", weight, at_least=0, at_most=1)
    head_size = min(arguments.count("top_n", top_n), len(notes))
    scores = _scaled(valid_scores(results, head_size))
    effective_scores = _effective_scores(notes[:head_size], scores)
    best_score = max((candidate.score for candidate in notes), default=0.0)
    addends = [
        0.0 if candidate.superseded_by else weight * best_score * effective_scores.get(index, 0.0)
        for index, candidate in enumerate(notes)
    ]
    new_scores = [(1 - weight) * candidate.score + addend for candidate, addend in zip(notes, addends, strict=True)]
    blended = []
    for rank, index in enumerate(sorted(range(len(notes)), key=lambda index: (-new_scores[index], index)), 1):
        old, new_score = notes[index], new_scores[index]
        reason = _blend_reason(old, scores.get(index))
        step = Step("rerank", reason, 1 - weight, addends[index], old.score, new_score, index + 1, rank)
        candidate = old.rescored(new_score, (step,))
        candidate.rerank_score = scores.get(index)
        blended.append(candidate)
    return blended


def _blend_reason(candidate: Candidate, score: float | None) -> str:
    if score is None:
        return "not reranked"
    suffix = ", which does not count for a superseded note" if candidate.superseded_by else ""
    return f"reranker score {score:.4g}{suffix}"


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores; if one is outside 0 to 1, all are scaled to this range, or clipped if that is impossible."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=1.0)
    if low >= 0 and high <= 1:
        return dict(scores)
    if math.isinf(low) or math.isinf(high) or low == high:
        return {index: min(1.0, max(0.0, score)) for index, score in scores.items()}
    return {index: (score - low) / (high - low) for index, score in scores.items()}


def valid_scores(results: Iterable[tuple[int, float]], head_size: int) -> dict[int, float]:
    """Return a reranker's scores by index; an index out of range, a repeated one and a score of NaN are ignored."""
    scores: dict[int, float] = {}
    for number, result in enumerate(arguments.sequence("results", results)):
        index, score = _index_and_score(f"results[{number}]", result)
        if 0 <= index < head_size and index not in scores and not math.isnan(score):
            scores[index] = score
    return scores


def _effective_scores(head: Sequence[Candidate], scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores by index, each at least as high as the scores of the notes that the candidate supersedes."""
    effective_scores = dict(scores)
    indexes = {candidate.id: index for index, candidate in enumerate(head)}
    for index, score in scores.items():
        for successor_id in head[index].superseded_by:
            successor = indexes.get(successor_id, -1)
            if successor in scores:
                effective_scores[successor] = max(effective_scores[successor], score)
    return effective_scores


def _reranked(
    candidate: Candidate, rank_before: int, rank: int, score: float | None, effective_score: float | None
) -> Candidate:
    """Return a copy of a candidate with the reranker's score, if the reranker returned one, and with a step."""
    reason = "not returned by the reranker" if score is None else f"reranker score {score:.4g}"
    if candidate.superseded_by and score is not None:
        reason += ", but superseded"
    elif effective_score != score:
        reason += f", but supersedes a note with {effective_score:.4g}"
    step = Step("rerank", reason, 1.0, 0.0, candidate.score, candidate.score, rank_before, rank)
    copied = candidate.rescored(candidate.score, (step,))
    copied.rerank_score = score
    return copied


def _index_and_score(argument: str, result: Any) -> tuple[int, float]:
    try:
        index, score = result
        if isinstance(index, bool) or isinstance(score, (str, bytes, bool)):
            raise TypeError
        return operator.index(index), float(score)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(argument, "must be a pair of an index and a score") from None


_COMPARED_RANKS = 3


@dataclass(frozen=True, slots=True)
class Unanimity:
    """How far the lexical leg and the vector leg agree on their top three.

    >>> Unanimity(("a", "b", "c"), 2).agreements
    2
    """

    ids: tuple[str, ...]  # the ids of the lexical leg's top three
    agreements: int  # the number of ranks, out of three, at which both legs have the same note


def unanimity(lexical_ids: Sequence[str], vector_ids: Sequence[str], agree_min: int = 2) -> Unanimity | None:
    """Return the agreement of two legs on their top three; ``None`` if they agree on fewer than ``agree_min`` ranks.

    If the legs agree, reranking is skipped, since it would change little. Legs with fewer than three notes never agree.

    >>> unanimity(["a", "b", "c", "d"], ["a", "b", "x", "y"])
    Unanimity(ids=('a', 'b', 'c'), agreements=2)
    """
    min_agreements = arguments.count("agree_min", agree_min)
    lexical = _top_ids("lexical_ids", lexical_ids)
    vector = _top_ids("vector_ids", vector_ids)
    if min(len(lexical), len(vector)) < _COMPARED_RANKS:
        return None
    agreements = sum(lexical_id == vector_id for lexical_id, vector_id in zip(lexical, vector, strict=True))
    return Unanimity(tuple(lexical), agreements) if agreements >= min_agreements else None


def _top_ids(argument: str, ids: Sequence[str]) -> list[str]:
    top = arguments.sequence(argument, ids)[:_COMPARED_RANKS]
    return [arguments.text(f"{argument}[{index}]", note_id) for index, note_id in enumerate(top)]
