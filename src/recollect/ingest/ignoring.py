"""Which files are left out: what ``.gitignore`` and ``.recollectignore`` say, in any folder, for what lies below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.ingest.problems import Problem

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["FILES", "Rules"]

FILES = (".gitignore", ".recollectignore")
"""The second may bring back what the first left out, with ``!``."""


class Rules:
    """The rules that hold in a folder: its own and those of the folders above it.

    >>> Rules().ignore("people/ines.md")
    False
    """

    def __init__(self, above: Rules | None = None, folder: str = "", spec: GitIgnoreSpec | None = None) -> None:
        """Hold the rules of ``folder``, a path below the root with a slash at its end, and of those ``above`` it."""
        self._above = above
        self._folder = folder
        self._spec = spec

    def ignore(self, name: str) -> bool:
        """Return whether a file, or a folder with a slash at the end of its name, is left out; nearest rules first."""
        rules: Rules | None = self
        while rules is not None:
            if rules._spec is not None:
                said = rules._spec.check_file(name[len(rules._folder) :]).include
                if said is not None:
                    return said
            rules = rules._above
        return False

    def within(self, directory: Path, folder: str, files: set[str], problems: list[Problem]) -> Rules:
        """Return the rules that hold in ``directory``, whose path below the root is ``folder``."""
        patterns = []
        for file in FILES:
            if file in files:
                patterns += _patterns(directory / file, folder + file, problems)
        if not patterns:
            return self
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 (only who has rules pays for them)

        return Rules(self, folder, GitIgnoreSpec.from_lines(patterns))


def _patterns(path: Path, name: str, problems: list[Problem]) -> list[str]:
    """Return the lines of a file that can be read as rules."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (as above)

    try:
        lines = path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    except OSError as error:
        problems.append(Problem(name, None, f"cannot be read: {error.strerror}", skipped=True))
        return []
    patterns = []
    for number, line in enumerate(lines, 1):
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            problems.append(Problem(name, number, f"is no rule that can be followed: {line!r}", skipped=True))
        else:
            patterns.append(line)
    return patterns
