"""What an ingest did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.ingest.problems import Problem

__all__ = ["IngestReport", "describe_skipped"]

SHOWN_EXTENSIONS = 8
"""How many extensions of skipped files a message names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What an ingest did: how many files and notes, and what was wrong with which.

    >>> report = IngestReport(files_read=1, notes_added=3)
    >>> report.to_dict()["notes"]
    {'added': 3, 'updated': 0, 'unchanged': 0, 'removed': 0, 'failed': 0}
    """

    files_read: int = 0
    """Files whose notes were written, because they are new or changed."""
    files_unchanged: int = 0
    """Files that are as they were; their notes were not looked at."""
    files_removed: int = 0
    """Files that are gone, and their notes with them."""
    files_failed: int = 0
    """Files and folders that could not be read or written; the notes that such a file had stay."""
    notes_added: int = 0
    notes_updated: int = 0
    notes_unchanged: int = 0
    """Notes of the files read that are as they were."""
    notes_removed: int = 0
    notes_failed: int = 0
    """Records of the files read that could not be read."""
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many files of the folder are of types that are not read, by extension, the most frequent first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "files": {
                "read": self.files_read,
                "unchanged": self.files_unchanged,
                "removed": self.files_removed,
                "failed": self.files_failed,
            },
            "notes": {
                "added": self.notes_added,
                "updated": self.notes_updated,
                "unchanged": self.notes_unchanged,
                "removed": self.notes_removed,
                "failed": self.notes_failed,
            },
            "problems": [problem.to_dict() for problem in self.problems],
            "skipped": dict(self.skipped),
        }


def describe_skipped(counts: Mapping[str, int]) -> str:
    """Return in one line how many files of which extensions were skipped, and what to do; nothing if there are none.

    >>> describe_skipped({".pdf": 3, ".csv": 1})
    '3 .pdf, 1 .csv; only Markdown, plain text, JSON and JSONL are read: convert the others to Markdown or text'
    """
    if not counts:
        return ""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {extension}" for extension, count in ordered[:SHOWN_EXTENSIONS]]
    rest = sum(count for _, count in ordered[SHOWN_EXTENSIONS:])
    listed = ", ".join([*shown, f"{rest} of other types"] if rest else shown)
    return f"{listed}; only Markdown, plain text, JSON and JSONL are read: convert the others to Markdown or text"
