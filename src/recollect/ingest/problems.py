"""What could not be read, or not as it was meant: nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from recollect.errors import IngestError
from recollect.model import Draft

__all__ = ["Contents", "Problem", "UnreadableError"]


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

    def __str__(self) -> str:
        """Return the problem in one line, the place first."""
        return f"{_place(self.name, self.line)}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON-ready data."""
        return self._asdict()


class Contents(NamedTuple):
    """The notes that a file holds, and what was wrong with it.

    >>> Contents([{"content": "Prefers sencha."}], []).problems
    []
    """

    drafts: Sequence[Draft]
    problems: Sequence[Problem]


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


def _place(name: str, line: int | None) -> str:
    return name if line is None else f"{name}, line {line}"
