"""What has expired by the time it is read does not become a note."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.ingest.problems import Problem
from recollect.model import Draft, is_expired

__all__ = ["without_expired"]


def without_expired(name: str, drafts: Sequence[Draft]) -> tuple[list[Draft], list[Problem]]:
    """Return the drafts of a document that have not expired, and what is to be told of the others.

    >>> from recollect.model import draft_of
    >>> drafts = [draft_of("Tea."), draft_of({"content": "Milk.", "expires_at": "2020-01-01"})]
    >>> kept, problems = without_expired("notes.jsonl", drafts)
    >>> [draft["content"] for draft in kept], problems[0].message
    (['Tea.'], '1 of its notes expired and was left out')
    """
    kept = [draft for draft in drafts if not is_expired(draft)]
    over = len(drafts) - len(kept)
    told = f"{over} of its notes expired and {'was' if over == 1 else 'were'} left out"
    return kept, [Problem(name, None, told, skipped=False)] if over else []
