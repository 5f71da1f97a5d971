"""What an ingest did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recollect.ingest.problems import Problem
from recollect.model import Written

__all__ = ["IngestReport", "Written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did: how many files and notes, and what was wrong with which.

    >>> report = IngestReport(files_read=1, notes_added=3)
    >>> report.to_dict()["notes"]
    {'added': 3, 'updated': 0, 'unchanged': 0, 'removed': 0}
    """

    files_read: int = 0
    """Files whose notes were written, because they are new or changed."""
    files_unchanged: int = 0
    """Files that are as they were; their notes were not looked at."""
    files_removed: int = 0
    """Files that are gone, and their notes with them."""
    notes_added: int = 0
    notes_updated: int = 0
    notes_unchanged: int = 0
    """Notes of the files read that are as they were."""
    notes_removed: int = 0
    problems: tuple[Problem, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "files": {"read": self.files_read, "unchanged": self.files_unchanged, "removed": self.files_removed},
            "notes": {
                "added": self.notes_added,
                "updated": self.notes_updated,
                "unchanged": self.notes_unchanged,
                "removed": self.notes_removed,
            },
            "problems": [problem.to_dict() for problem in self.problems],
        }
