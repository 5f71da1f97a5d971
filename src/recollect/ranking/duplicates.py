"""Duplicates: drop candidates with the same content as a higher-ranked candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from recollect import arguments
from recollect.model import Candidate, Step, as_candidates
from recollect.ranking.stage import Adjustment, Candidates, Stage, StageContext, StageResult
from recollect.text import collapse_whitespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates(Stage):
    """Drop each candidate with the same content as a higher-ranked candidate; case and white space are ignored.

    >>> from recollect.ranking import run_stage
    >>> [note.id for note in run_stage(Duplicates(), [{"id": "a", "content": "Tea."}, {"id": "b", "content": "tea. "}])]
    ['a']
    """

    name: ClassVar[str] = "duplicates"

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:  # noqa: ARG002 (not used)
        """Drop the copies, with a reason for each candidate that has copies or moves up; ``None`` without copies."""
        copies = find_copies(candidates)
        dropped = frozenset(index for indexes in copies.values() for index in indexes)
        if not dropped:
            return None
        first_dropped = min(dropped)
        adjustments = [[_MOVED_UP_ADJUSTMENT] if index > first_dropped else [] for index in range(len(candidates))]
        for original, indexes in copies.items():
            adjustments[original] = [Adjustment(partial(copies_message, [candidates[copy].id for copy in indexes]))]
        return StageResult(adjustments, dropped=dropped, records_all=False)


_MOVED_UP_REASON = "moved up because duplicates above it were dropped"
_MOVED_UP_ADJUSTMENT = Adjustment(_MOVED_UP_REASON)


def deduplicate(candidates: Candidates, limit: int | None = None) -> list[Candidate]:
    """Return at most ``limit`` of the ``candidates``, without those with the same content as an earlier candidate.

    Case and white space are ignored. A candidate without content is no duplicate. ``None`` or 0 is no limit.

    >>> notes = [{"id": "a", "content": "Green tea."}, {"id": "b", "content": "green   TEA."}]
    >>> [note.id for note in deduplicate(notes)]
    ['a']
    """
    max_results = arguments.optional_count("limit", limit)
    notes = as_candidates("candidates", candidates)
    copies = find_copies(notes)
    dropped = {index for indexes in copies.values() for index in indexes}
    unique = [index for index in range(len(notes)) if index not in dropped]
    return [
        _with_step(notes[index], index + 1, rank, [notes[copy].id for copy in copies.get(index, ())])
        for rank, index in enumerate(unique[:max_results] if max_results else unique, 1)
    ]


def find_copies(candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    """Return, by the index of each candidate that has later copies, the indexes of these copies."""
    prefixes = [_prefix(candidate.content) for candidate in candidates]
    counts = Counter(prefixes)
    first_indexes: dict[str, int] = {}
    copies: dict[int, list[int]] = {}
    for index, (candidate, prefix) in enumerate(zip(candidates, prefixes, strict=True)):
        # Most notes have a unique prefix. Whole texts are compared only for notes that share their prefix with others.
        text = collapse_whitespace(candidate.content).lower() if counts[prefix] > 1 else ""
        if text and first_indexes.setdefault(text, index) != index:
            copies.setdefault(first_indexes[text], []).append(index)
    return copies


def copies_message(ids: Sequence[str]) -> str:
    """Return the reason in the step of a candidate whose copies, with these ids, were dropped."""
    return f"repeated by {', '.join(ids[:3])}" + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _prefix(content: str) -> str:
    """Return the first 12 words of a text in lower case, the same for duplicates; U+FEFF counts as white space."""
    return "" if not content else " ".join(content.replace("\ufeff", " ").split(None, 12)[:12]).lower()


def _with_step(candidate: Candidate, rank_before: int, rank: int, copies: Sequence[str]) -> Candidate:
    """Return a candidate with a step if its copies (``copies`` are their ids) were dropped or if it moved up."""
    if rank_before == rank and not copies:
        return candidate
    reason = copies_message(copies) if copies else _MOVED_UP_REASON
    step = Step("duplicates", reason, 1.0, 0.0, candidate.score, candidate.score, rank_before, rank)
    return candidate.rescored(candidate.score, (step,))
