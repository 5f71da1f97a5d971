"""One note said twice is one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect import arguments
from recollect.model import Candidate, Step, as_candidates
from recollect.text import collapse_whitespace

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
    found = as_candidates("candidates", candidates)
    beginnings = [_beginning(candidate.content) for candidate in found]
    shared = Counter(beginnings)
    kept: list[tuple[int, Candidate, list[str]]] = []
    copies_of: dict[str, list[str]] = {}
    for rank, (candidate, beginning) in enumerate(zip(found, beginnings, strict=True), 1):
        # Most notes begin like no other: the whole text is compared only where two begin alike.
        key = collapse_whitespace(candidate.content).lower() if shared[beginning] > 1 else beginning
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


def _beginning(content: str) -> str:
    """Return the first words of a text; texts that are the same begin with the same."""
    return "" if not content else " ".join(content.replace("\ufeff", " ").split(None, 12)[:12]).lower()


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
