"""One note said twice is one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recollect import arguments
from recollect.characters import collapse_whitespace
from recollect.model import Candidate, as_candidates

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
    kept: list[Candidate] = []
    seen: set[str] = set()
    for candidate in as_candidates("candidates", candidates):
        key = collapse_whitespace(candidate.content).lower()
        if key in seen:
            continue
        if key:
            seen.add(key)
        kept.append(candidate)
        if len(kept) == most:
            break
    return kept
