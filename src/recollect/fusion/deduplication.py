"""One note said twice is one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect import arguments
from recollect.characters import collapse_whitespace
from recollect.model import Candidate, Step, as_candidates

__all__ = ["deduplicate"]


def deduplicate(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    limit: int | None = None,
) -> list[Candidate]:
    """Return ``candidates`` without those whose content an earlier one has, whatever the case and white space.

    The first, higher-ranked one stays. A candidate without content is no duplicate of anything. A ``limit`` of
    ``None`` or 0 keeps all.

    >>> notes = [{"id": "a", "content": "Green tea."}, {"id": "b", "content": "green   TEA."}]
    >>> [note.id for note in deduplicate(notes)]
    ['a']
    """
    most = arguments.limit("limit", limit)
    kept: list[tuple[int, Candidate, list[str]]] = []
    copies_of: dict[str, list[str]] = {}
    for rank, candidate in enumerate(as_candidates("candidates", candidates), 1):
        key = collapse_whitespace(candidate.content).lower()
        if key in copies_of:
            copies_of[key].append(candidate.id)
            continue
        copies: list[str] = []
        if key:
            copies_of[key] = copies
        kept.append((rank, candidate, copies))
    if most:
        del kept[most:]
    return [_recorded(candidate, before, after, copies) for after, (before, candidate, copies) in enumerate(kept, 1)]


def _recorded(candidate: Candidate, before: int, after: int, copies: Sequence[str]) -> Candidate:
    """Return the candidate with what happened to it: nothing, or its copies went, or others' that stood above it."""
    if before == after and not copies:
        return candidate
    reason = f"said again by {_named(copies)}" if copies else "moved up as duplicates above it went"
    step = Step("duplicates", reason, 1.0, 0.0, candidate.score, candidate.score, before, after)
    return candidate.rescored(candidate.score, (step,))


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return ", ".join(ids[:3]) + more
