"""The keys of a server: a file of their hashes, which says what each may do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from os import PathLike, fspath
from pathlib import Path
from secrets import token_hex, token_urlsafe
from tempfile import mkstemp
from threading import Lock
from typing import Any, NamedTuple, Self

import apsw

from recollect import arguments
from recollect.errors import ArgumentError, KeyFileError
from recollect.server.rights import Caller, Grant, Right

__all__ = ["Key", "KeyRing"]

SECRET_BYTES = 32
"""So many random bytes that no hash needs to be slow: there is no list of likely keys to try."""

PATIENCE = 10.0
"""How many seconds one waits for another process that changes the file."""

_NOBODY = "0" * 64
"""What a key with an unknown id is compared with, so that it takes as long as one with a known id."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key: everything but the key."""

    id: str
    name: str
    hash: str
    """SHA-256 of the whole text of the key, in hexadecimal."""
    grant: Grant
    created_at: datetime

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Check an entry of a file of keys."""
        if not isinstance(data, Mapping):
            raise ArgumentError("key", f"must be an object, got {type(data).__name__}")
        return cls(
            arguments.name("id", data.get("id")),
            arguments.name("name", data.get("name")),
            arguments.name("hash", data.get("hash")),
            Grant.of(data.get("namespaces", ()), data.get("right", "")),
            arguments.instant("created_at", data.get("created_at")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the key as JSON-ready data; ``namespaces`` is null for all of them."""
        namespaces = self.grant.namespaces
        return {
            "id": self.id,
            "name": self.name,
            "hash": self.hash,
            "namespaces": None if namespaces is None else sorted(namespaces),
            "right": str(self.grant.right),
            "created_at": self.created_at.isoformat().replace("+00:00", "Z"),
        }


class _Contents(NamedTuple):
    version: tuple[int, int, int]
    """When the file was last written, how long it is and which it is: what changes when it does."""
    keys: dict[str, Key]


class KeyRing:
    """The keys in a file, which is read again when it changes; threads may share one.

    The file holds hashes, never a key: :meth:`add` returns the text of a key once. It is replaced as a whole, so that
    who reads it sees it before a change or after.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ring = KeyRing(f"{folder}/keys.json")
    ...     key, text = ring.add("kettle", ["tea"], "read")
    ...     known, unknown = ring.caller(text), ring.caller(text[:-1])
    >>> known.name, known.namespace(None, Right.READ), unknown
    ('kettle', 'tea', None)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Name the file; it is read when it is needed, and made by the first key."""
        self.path = Path(fspath(path)).expanduser()
        self._lock = Lock()
        self._contents: _Contents | None = None

    def keys(self) -> list[Key]:
        """Return what is kept of each key, the oldest first."""
        return list(self._known().values())

    def caller(self, presented: str) -> Caller | None:
        """Return who presents this key, or ``None`` if there is no such key.

        It takes as long for a key that is wrong in its first character as for one that is wrong in its last.
        """
        found = self._known().get(_id_of(presented))
        if not compare_digest(_hash(presented), found.hash if found else _NOBODY) or found is None:
            return None
        return Caller(found.name, found.grant, found.id)

    def add(self, name: str, namespaces: Iterable[str] | None, right: Right | str) -> tuple[Key, str]:
        """Make a key for ``namespaces`` (``None``: all) with a right; return what is kept of it, and its text."""
        grant = Grant.of(namespaces, right)
        if grant.namespaces is not None and not grant.namespaces:
            raise ArgumentError("namespaces", "must name at least one; None means all")
        identity = token_hex(6)
        text = f"rk_{identity}_{token_urlsafe(SECRET_BYTES)}"
        key = Key(identity, arguments.name("name", name), _hash(text), grant, datetime.now(UTC).replace(microsecond=0))
        with self._lock, _changing(self.path):
            kept = self._read().keys if self.path.exists() else {}
            _replace(self.path, {**kept, key.id: key})
        return key, text

    def revoke(self, id: str) -> bool:  # noqa: A002 (the field's name)
        """Take a key away, and return whether it was there; servers that are running refuse it from now on."""
        with self._lock, _changing(self.path):
            kept = self._read().keys
            if id not in kept:
                return False
            _replace(self.path, {each: key for each, key in kept.items() if each != id})
        return True

    def _known(self) -> dict[str, Key]:
        with self._lock:
            if self._contents is None or self._contents.version != _version(self.path):
                self._contents = self._read()
            return self._contents.keys

    def _read(self) -> _Contents:
        # The version first: a file that is replaced in between is then read once more, never once too few.
        version = _version(self.path)
        try:
            entries = json.loads(self.path.read_bytes())
        except OSError as error:
            raise _unreadable(self.path, error) from None
        except (ValueError, RecursionError):
            raise KeyFileError(f"{self.path} is no file of keys: it does not hold JSON") from None
        if not isinstance(entries, list):
            raise KeyFileError(f"{self.path} is no file of keys: it must hold a list")
        keys: dict[str, Key] = {}
        for place, entry in enumerate(entries):
            try:
                key = Key.from_dict(entry)
            except ArgumentError as error:
                raise KeyFileError(f"{self.path}: in key {place + 1}, {error}") from None
            keys[key.id] = key
        return _Contents(version, keys)


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    """Let one process at a time change a file.

    The lock is SQLite's own, on an empty file beside it: every system releases it when its process ends.
    """
    try:
        connection = apsw.Connection(str(path.with_name(f"{path.name}.lock")))
        try:
            connection.set_busy_timeout(round(PATIENCE * 1000))
            connection.execute("BEGIN EXCLUSIVE")
            yield
        finally:
            connection.close()
    except apsw.BusyError:
        raise KeyFileError(f"another process keeps {path} to itself; try again") from None
    except apsw.Error:
        raise KeyFileError(f"{path} cannot be written: its folder is not there, or not to be written to") from None


def _replace(path: Path, keys: Mapping[str, Key]) -> None:
    """Put a new file in the place of an old one, as a whole."""
    descriptor, name = mkstemp(dir=path.parent, prefix=f"{path.name}.")  # for its owner alone
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump([key.to_dict() for key in keys.values()], file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink()
        raise KeyFileError(f"{path} cannot be written: {error.strerror}") from None


def _version(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _unreadable(path: Path, error: OSError) -> KeyFileError:
    if isinstance(error, FileNotFoundError):
        return KeyFileError(f"there is no file of keys at {path}; recollect keys add makes one")
    return KeyFileError(f"the file of keys {path} cannot be read: {error.strerror}")


def _id_of(text: str) -> str:
    """Return the part of a key that names it; the secret part may hold underscores."""
    parts = text.split("_", 2)
    return parts[1] if len(parts) == 3 else ""


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
