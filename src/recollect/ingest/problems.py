"""What could not be read, or not as it was meant: nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from recollect.errors import IngestError
from recollect.model import Draft

__all__ = ["Contents", "Problem", "UnreadableError", "failure"]


class Problem(NamedTuple):
    """A file, a line of it or a folder that could not be read as it was meant.

    >>> print(Problem("people/ines.md", 3, "importance: must be a number", skipped=False))
    people/ines.md, line 3: importance: must be a number
    """

    name: str
    """The file's path below the root."""
    line: int | None
    """The line, from 1; ``None`` if it is about the whole file."""
    message: str
    """What was wrong, in words for a person."""
    skipped: bool
    """Whether what the message speaks of, a file or a record, was left out; otherwise it was read as well as can be."""
    times: int = 1
    """How many such problems it stands for."""

    def __str__(self) -> str:
        """Return the problem in one line, the place first."""
        return f"{_place(self.name, self.line)}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON-ready data."""
        return {"name": self.name, "line": self.line, "message": self.message, "skipped": self.skipped}


class Contents(NamedTuple):
    """The notes that a file holds, and what was wrong with it.

    >>> Contents([{"content": "Prefers sencha."}], []).problems
    []
    """

    drafts: Sequence[Draft]
    problems: Sequence[Problem]

    @property
    def failed_records(self) -> int:
        """How many records could not be read; a file without any note was skipped as a whole instead."""
        return sum(problem.times for problem in self.problems if problem.skipped) if self.drafts else 0


class UnreadableError(IngestError):
    """A file that cannot be read as a whole. Its text names the file and the line.

    >>> print(UnreadableError("people/ines.md", 3, "the front matter is not YAML"))
    people/ines.md, line 3: the front matter is not YAML
    """

    def __init__(self, name: str, line: int | None, message: str) -> None:
        """Keep the parts, so that the error can be pickled and taken apart."""
        super().__init__(name, line, message)
        self.name = name
        self.line = line
        self.message = message

    def __str__(self) -> str:
        """Return the message in one line, the place first."""
        return f"{_place(self.name, self.line)}: {self.message}"

    @property
    def problem(self) -> Problem:
        """The same as an entry of a report."""
        return Problem(self.name, self.line, self.message, skipped=True)


def failure(problem: Problem, *, is_known: bool) -> Problem:
    """Return the problem of a file that failed; of one that was read before it says that the earlier version stays.

    >>> failure(Problem("tea.md", 2, "the front matter is not YAML", skipped=True), is_known=True).message
    'the front matter is not YAML; the earlier version stays'
    """
    return problem._replace(message=f"{problem.message}; the earlier version stays") if is_known else problem


def _place(name: str, line: int | None) -> str:
    return name if line is None else f"{name}, line {line}"
