"""A folder becomes a list of files: those that can be read and are not left out, always in the same order."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from recollect.errors import IngestError
from recollect.ingest.formats import SUFFIXES, suffix_of
from recollect.ingest.ignoring import Rules
from recollect.ingest.naming import is_one_line
from recollect.ingest.problems import Problem
from recollect.text import well_formed

__all__ = ["FoundFile", "Walk", "walk"]

_LEFT_OUT = frozenset(("node_modules", "__pycache__"))
"""Folders that hold nothing anyone wrote; hidden ones, such as ``.git`` and ``.obsidian``, are left out anyway."""


NO_EXTENSION = "(no extension)"
"""How files without an extension are counted among those that are skipped."""

_EXTENSION = re.compile(r"(?<=.)\.[a-z0-9]{1,10}$", re.IGNORECASE)


class FoundFile(NamedTuple):
    """A file that can be read: where it is, what it is called below the root, its size and when it was changed.

    >>> FoundFile(Path("tea.md"), "tea.md", 20, 0).name
    'tea.md'
    """

    path: Path
    name: str
    size: int
    changed: int
    """In nanoseconds since 1970."""


@dataclass(slots=True)
class Walk:
    """What a walk found.

    >>> Walk(Path("notes"), whole=True).might_hold("tea.md")
    False
    """

    root: Path
    """The folder that names are relative to, without symbolic links."""
    whole: bool
    """Whether the root was walked as a whole; if not, nothing can be said about files that were not found."""
    files: list[FoundFile] = field(default_factory=list)
    """By name."""
    problems: list[Problem] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    """Files and folders that may well hold something, but could not be looked at."""
    failed: int = 0
    """How many files and folders could not be looked at."""
    skipped: Counter[str] = field(default_factory=Counter)
    """How many files are of types that are not read, by extension; those that are hidden or ignored are not counted."""

    def might_hold(self, name: str) -> bool:
        """Return whether a file of this name may exist although it was not found."""
        return any(name == each or name.startswith(f"{each}/") for each in self.unseen)


def walk(source: str | os.PathLike[str]) -> Walk:
    """Return the readable files in a folder, or the one file that ``source`` names.

    Hidden files and folders are left out, and what ``.gitignore`` and ``.recollectignore`` say; a file that is named
    itself is never left out. Each folder is visited once, however many symbolic links lead to it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("b.md", "a.txt", "c.png", ".hidden.md"):
    ...         _ = Path(folder, name).write_text("tea")
    ...     [file.name for file in walk(folder).files]
    ['a.txt', 'b.md']
    """
    path = Path(source)
    try:
        status = path.stat()
        root = (path if stat.S_ISDIR(status.st_mode) else path.parent).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise IngestError(f"{_shown(path)} cannot be read: {_reason(error)}") from None
    if stat.S_ISDIR(status.st_mode):
        return _walk_folder(root)
    if not stat.S_ISREG(status.st_mode) or not suffix_of(path.name):
        raise IngestError(f"{_shown(path)} is neither a folder nor a file that ends with {', '.join(SUFFIXES)}")
    if not _is_writable_name(path.name):
        raise IngestError(f"{_shown(path)} cannot be read: its name holds characters that are no text; rename it")
    return Walk(root, whole=False, files=[FoundFile(root / path.name, path.name, status.st_size, status.st_mtime_ns)])


def _walk_folder(root: Path) -> Walk:
    found = Walk(root, whole=True)
    seen: set[tuple[int, int]] = set()
    folders: list[tuple[Path, str, Rules]] = [(root, "", Rules())]
    linked: deque[tuple[Path, str, Rules]] = deque()
    # Folders behind symbolic links come last, so that a folder's files are known by its own name if it has one.
    while folders or linked:
        directory, folder, rules = folders.pop() if folders else linked.popleft()
        try:
            status = directory.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(directory) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise IngestError(f"{_shown(root)} cannot be read: {_reason(error)}") from None
            _leave_unseen(found, folder.rstrip("/"), _reason(error))
            continue
        rules = rules.within(directory, folder, {entry.name for entry in entries}, found.problems)
        for entry in entries:
            if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
                _take(found, entry, folder, rules, folders, linked)
    found.files.sort(key=lambda file: file.name)
    return found


def _take(
    found: Walk,
    entry: os.DirEntry[str],
    folder: str,
    rules: Rules,
    folders: list[tuple[Path, str, Rules]],
    linked: deque[tuple[Path, str, Rules]],
) -> None:
    """Put a folder's entry where it belongs."""
    name = folder + entry.name
    if not _is_writable_name(entry.name):
        message = "its name holds characters that are no text; rename it"
        found.problems.append(Problem(_shown(Path(name)), None, message, skipped=True))
        found.failed += 1
        return
    try:
        if entry.is_dir():
            if not rules.ignore(f"{name}/"):
                (linked if entry.is_symlink() else folders).append((Path(entry.path), f"{name}/", rules))
            return
        if rules.ignore(name):
            return
        if not suffix_of(entry.name):
            found.skipped.update([_extension(entry.name)] if entry.is_file() else [])
            return
        status = entry.stat()
    except OSError as error:
        _leave_unseen(found, name, _reason(error))
        return
    if stat.S_ISREG(status.st_mode):
        found.files.append(FoundFile(Path(entry.path), name, status.st_size, status.st_mtime_ns))


def _extension(name: str) -> str:
    found = _EXTENSION.search(name)
    return found[0].lower() if found else NO_EXTENSION


def _leave_unseen(found: Walk, name: str, reason: str) -> None:
    found.unseen.append(name)
    found.failed += 1
    found.problems.append(Problem(name, None, f"cannot be read: {reason}", skipped=True))


def _is_writable_name(name: str) -> bool:
    """Return whether a name can stand in a note's path."""
    return is_one_line(name) and well_formed(name) == name


def _shown(path: Path) -> str:
    return well_formed(str(path)) if is_one_line(str(path)) else ascii(str(path))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
