"""List the files of a folder that a reader supports and that are not ignored, sorted by name."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import IngestError
from recollect.ingest.paths import is_one_line
from recollect.ingest.readers import READERS, reader_for
from recollect.ingest.source import Problem
from recollect.text import well_formed

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".recollectignore")
"""Files with ignore rules. With ``!``, a rule of the second file includes what the first file excludes."""

_IGNORED_NAMES = frozenset(("node_modules", "__pycache__"))  # besides hidden files and folders, such as .git

INVALID_NAME = "its name has characters that are not text; rename it"
_EXTENSION = re.compile(r"(?<=.)\.[a-z0-9]{1,10}$", re.IGNORECASE)  # such as .pdf, but not a whole name


class FileEntry(NamedTuple):
    """A file whose format is supported."""

    path: Path
    name: str  # the path below the root of the scan, with slashes
    size: int  # in bytes
    modified: int  # the modification time, in nanoseconds since 1970


@dataclass(slots=True)
class FileScan:
    """The result of a scan: the files below a root."""

    root: Path  # the folder to which names are relative, with symbolic links resolved
    complete: bool  # whether the whole root was scanned; false if only one file was requested
    files: list[FileEntry] = field(default_factory=list)  # the files, sorted by name
    problems: list[Problem] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # files and folders that cannot be opened or have invalid names
    skipped: Counter[str] = field(default_factory=Counter)  # the number of files of unsupported types, by extension

    def may_contain(self, name: str) -> bool:
        """Return whether a file of this name may exist unlisted, because it or a folder above it is unreadable."""
        return any(name == path or name.startswith(f"{path}/") for path in self.unreadable)

    def add_unreadable(self, name: str, reason: str) -> None:
        """Record a file or folder that cannot be read."""
        self.unreadable.append(name)
        self.problems.append(Problem(_printable(name), None, reason, skipped=True))


Rules = tuple[tuple[str, "GitIgnoreSpec"], ...]
"""The ignore rules of a folder and of the folders above it, the innermost first: pairs of a folder's path and rules."""


def _is_ignored(name: str, rules: Rules) -> bool:
    """Return whether the innermost matching rule ignores a file, or a folder if ``name`` ends with a slash."""
    for prefix, spec in rules:
        is_ignored = spec.check_file(name[len(prefix) :]).include  # None if no rule of this folder matches
        if is_ignored is not None:
            return is_ignored
    return False


def _read_rules(folder: Path, prefix: str, files: set[str], problems: list[Problem]) -> Rules:
    """Return the ignore rules of one folder, which has the path ``prefix`` below the root and contains ``files``."""
    ignore_files = [file for file in IGNORE_FILES if file in files]
    if not ignore_files:
        return ()
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (heavy, and most folders have no rules)

    patterns = []
    for file in ignore_files:
        try:
            lines = (folder / file).read_bytes().decode("utf-8-sig", "replace").splitlines()
        except OSError as error:
            problems.append(Problem(prefix + file, None, _reason(error), skipped=True))
            continue
        for number, line in enumerate(lines, 1):
            try:
                GitIgnoreSpec.from_lines([line])
                patterns.append(line)
            except ValueError:
                problems.append(Problem(prefix + file, number, f"is not a valid pattern: {line!r}", skipped=True))
    return ((prefix, GitIgnoreSpec.from_lines(patterns)),)


def scan_files(source: str | os.PathLike[str]) -> FileScan:
    """Return the supported files in the folder ``source``, or the one file that ``source`` names.

    Hidden files, ``node_modules``, ``__pycache__`` and what ``.gitignore`` or ``.recollectignore`` lists are ignored. A
    file that ``source`` names is never ignored. Each folder is visited once, however many symbolic links lead to it.
    """
    path = Path(source)
    try:
        status = path.stat()
        is_folder = stat.S_ISDIR(status.st_mode)
        root = (path if is_folder else path.parent).resolve()
        if is_folder:
            return _scan_folder(root)
    except (OSError, ValueError, RuntimeError) as error:
        raise IngestError(f"{_printable(str(path))} {_reason(error)}") from None
    if not stat.S_ISREG(status.st_mode) or not reader_for(path.name):
        raise IngestError(f"{_printable(str(path))} is neither a folder nor a file that ends with {', '.join(READERS)}")
    if not _is_valid_name(path.name):
        raise IngestError(f"{_printable(str(path))} cannot be read: {INVALID_NAME}")
    entry = FileEntry(root / path.name, path.name, status.st_size, status.st_mtime_ns)
    return FileScan(root, complete=False, files=[entry])


def _scan_folder(root: Path) -> FileScan:
    scan = FileScan(root, complete=True)
    visited: set[tuple[int, int]] = set()
    # The folders to scan, each with its path below the root (ending with a slash) and the rules of the folders above.
    folders: list[tuple[Path, str, Rules]] = [(root, "", ())]
    linked: deque[tuple[Path, str, Rules]] = deque()
    # Symbolic links to folders come last. So a folder below the root is visited by its real path, not by a link.
    while folders or linked:
        folder, prefix, rules = folders.pop() if folders else linked.popleft()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as iterator:
                entries = sorted(iterator, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:  # the root itself
                raise
            scan.add_unreadable(prefix.rstrip("/"), _reason(error))
            continue
        rules = (*_read_rules(folder, prefix, {entry.name for entry in entries}, scan.problems), *rules)
        for entry in entries:
            name = prefix + entry.name
            if entry.name.startswith(".") or entry.name in _IGNORED_NAMES:
                continue
            if not _is_valid_name(entry.name):
                scan.add_unreadable(name, INVALID_NAME)
                continue
            try:
                if not entry.is_dir():
                    _add_file(scan, entry, name, rules)
                elif not _is_ignored(f"{name}/", rules):
                    (linked if entry.is_symlink() else folders).append((Path(entry.path), f"{name}/", rules))
            except OSError as error:
                scan.add_unreadable(name, _reason(error))
    scan.files.sort(key=lambda file: file.name)
    return scan


def _add_file(scan: FileScan, entry: os.DirEntry[str], name: str, rules: Rules) -> None:
    """Add a file to the scan, or count it as skipped if its type is not supported."""
    if _is_ignored(name, rules):
        return
    if reader_for(entry.name):
        status = entry.stat()
        if stat.S_ISREG(status.st_mode):
            scan.files.append(FileEntry(Path(entry.path), name, status.st_size, status.st_mtime_ns))
    elif entry.is_file():
        extension = _EXTENSION.search(entry.name)
        scan.skipped[extension[0].lower() if extension else "(no extension)"] += 1


def _is_valid_name(name: str) -> bool:
    """Return whether a name can be part of a note's path."""
    return is_one_line(name) and well_formed(name) == name


def _printable(path: str) -> str:
    return well_formed(path) if is_one_line(path) else ascii(path)


def _reason(error: Exception) -> str:
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
