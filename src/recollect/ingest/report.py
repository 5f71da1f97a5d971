"""What an ingest did, and the problems that it met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """A file, a line of it or a folder that could not be read as intended.

    >>> print(Problem("people/ines.md", 3, "importance: must be a number", skipped=False))
    people/ines.md, line 3: importance: must be a number
    """

    name: str
    """The file's path below the root."""
    line: int | None
    """The line, from 1; ``None`` if the problem is about the whole file."""
    message: str
    skipped: bool
    """Whether the file or record was skipped; otherwise it was read except for what the message says."""

    def __str__(self) -> str:
        location = self.name if self.line is None else f"{self.name}, line {self.line}"
        return f"{location}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """The numbers of files and notes that an ingest read, wrote and removed, and its problems.

    >>> report = IngestReport(files_read=1, notes_added=3)
    >>> report.to_dict()["notes"]
    {'added': 3, 'updated': 0, 'unchanged': 0, 'removed': 0, 'failed': 0}
    """

    files_read: int = 0
    """New and changed files, whose notes were written."""
    files_unchanged: int = 0
    """Files that were not read because they did not change."""
    files_removed: int = 0
    """Files that no longer exist, whose notes were removed."""
    files_failed: int = 0
    """Files and folders that could not be read or written; notes from an earlier ingest stay."""
    notes_added: int = 0
    notes_updated: int = 0
    notes_unchanged: int = 0
    """Notes of the files read that did not change."""
    notes_removed: int = 0
    notes_failed: int = 0
    """Records of the files read that are not notes."""
    problems: tuple[Problem, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of files of unsupported types by extension, the most frequent first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "files": {name: getattr(self, f"files_{name}") for name in ("read", "unchanged", "removed", "failed")},
            "notes": {
                name: getattr(self, f"notes_{name}") for name in ("added", "updated", "unchanged", "removed", "failed")
            },
            "problems": [problem._asdict() for problem in self.problems],
            "skipped": dict(self.skipped),
        }
