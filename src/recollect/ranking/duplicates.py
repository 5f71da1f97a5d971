"""Duplicates: drop candidates with the same content as a higher-ranked one."""

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
    """Drop each candidate with the same content as a higher-ranked one; case and white space are ignored.

    >>> from recollect.ranking import run_stage
    >>> [note.id for note in run_stage(Duplicates(), [{"id": "a", "content": "Tea."}, {"id": "b", "content": "tea. "}])]
    ['a']
    """

    name: ClassVar[str] = "duplicates"

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:  # noqa: ARG002 (not used)
        """Return which candidates are dropped; ``None`` if there are no duplicates."""
        copies = find_copies(candidates)
        dropped = frozenset(index for indexes in copies.values() for index in indexes)
        if not dropped:
            return None
        first = min(dropped)
        adjustments = [[_MOVED_UP] if index > first else [] for index in range(len(candidates))]
        for index, indexes in copies.items():
            adjustments[index] = [Adjustment(partial(copies_message, [candidates[copy].id for copy in indexes]))]
        return StageResult(adjustments, dropped=dropped, records_all=False)


MOVED_UP = "moved up as duplicates above it were dropped"
_MOVED_UP = Adjustment(MOVED_UP)


def deduplicate(candidates: Candidates, limit: int | None = None) -> list[Candidate]:
    """Return ``candidates`` without those that repeat the content of an earlier one, ignoring case and white space.

    A candidate without content is no duplicate. A ``limit`` of ``None`` or 0 keeps all.

    >>> notes = [{"id": "a", "content": "Green tea."}, {"id": "b", "content": "green   TEA."}]
    >>> [note.id for note in deduplicate(notes)]
    ['a']
    """
    max_results = arguments.limit("limit", limit)
    notes = as_candidates("candidates", candidates)
    copies = find_copies(notes)
    dropped = {index for indexes in copies.values() for index in indexes}
    unique = [index for index in range(len(notes)) if index not in dropped]
    return [
        _with_record(notes[index], index + 1, rank, [notes[copy].id for copy in copies.get(index, ())])
        for rank, index in enumerate(unique[:max_results] if max_results else unique, 1)
    ]


def find_copies(candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    """Return the indexes of the later copies of each candidate that has any, by the candidate's index."""
    prefixes = [_prefix(candidate.content) for candidate in candidates]
    counts = Counter(prefixes)
    first: dict[str, int] = {}
    copies: dict[int, list[int]] = {}
    for index, (candidate, prefix) in enumerate(zip(candidates, prefixes, strict=True)):
        # Most notes begin like no other: the whole text is compared only if two begin alike.
        key = collapse_whitespace(candidate.content).lower() if counts[prefix] > 1 else ""
        if key and first.setdefault(key, index) != index:
            copies.setdefault(first[key], []).append(index)
    return copies


def copies_message(ids: Sequence[str]) -> str:
    """Return the reason for the record of a candidate with copies."""
    return f"repeated by {', '.join(ids[:3])}" + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _prefix(content: str) -> str:
    """Return the first words of a text; equal texts have the same."""
    return "" if not content else " ".join(content.replace("\ufeff", " ").split(None, 12)[:12]).lower()


def _with_record(candidate: Candidate, before: int, after: int, copies: Sequence[str]) -> Candidate:
    """Return the candidate with a step on its record, if copies of it were dropped or it moved up."""
    if before == after and not copies:
        return candidate
    reason = copies_message(copies) if copies else MOVED_UP
    step = Step("duplicates", reason, 1.0, 0.0, candidate.score, candidate.score, before, after)
    return candidate.rescored(candidate.score, (step,))
