"""API keys, which say who may do what in which namespaces, and encrypted cursors.

A key is the text ``rk_ID_SECRET``. The key file is a JSON list of :class:`Key` entries, which have hashes but no
secrets. Keys are handled here and not by a library, because a random key needs only ``secrets``, a hash and
``compare_digest`` of Python, while a library for signed tokens would still need such a list to revoke a token.

A cursor is base64 of three parts: a nonce; the row id XOR a keyed hash of the nonce; and a signature, which is a keyed
hash of the first two parts and the namespace.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from hashlib import blake2b, sha256
from hmac import compare_digest
from os import PathLike, fspath
from pathlib import Path
from secrets import token_bytes, token_hex, token_urlsafe
from tempfile import mkstemp
from threading import Lock
from typing import Any, Self

import apsw

from recollect import arguments
from recollect.errors import ArgumentError, ForbiddenError, KeyFileError
from recollect.model import DEFAULT_NAMESPACE

SECRET_BYTES = 32
"""The number of random bytes in a key: too many to guess, so that storing a fast hash of the key is safe."""
LOCK_TIMEOUT = 10.0  # how many seconds to wait for another process that changes the key file

_UNKNOWN_KEY_HASH = "0" * 64
"""A key with an unknown id is compared with this hash, so that known and unknown ids take equally long."""

_NONCE_BYTES = 12
_ROW_ID_BYTES = 8
_UNSIGNED_BYTES = _NONCE_BYTES + _ROW_ID_BYTES


class Right(IntEnum):
    """What a caller may do; each right includes those before it.

    >>> Right.WRITE > Right.READ, str(Right.ADMIN)
    (True, 'admin')
    """

    READ = 1
    WRITE = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


_VERBS = {Right.READ: "read in", Right.WRITE: "write to", Right.ADMIN: "administer"}


@dataclass(frozen=True, slots=True)
class Grant:
    """A right and the namespaces where it applies; ``None`` means all namespaces, also future ones.

    >>> grant = Grant.of(["tea", "coffee"], "write")
    >>> grant.allows("tea", Right.READ), grant.allows("tea", Right.ADMIN), grant.allows("work", Right.READ)
    (True, False, False)
    """

    namespaces: frozenset[str] | None
    right: Right

    @classmethod
    def of(cls, namespaces: Iterable[str] | None, right: Right | str) -> Self:
        """Validate namespaces and right, which is ``read``, ``write`` or ``admin``, and return the grant."""
        if not isinstance(right, Right):
            right = Right[arguments.choice("right", right, [str(item) for item in Right]).upper()]
        if namespaces is None:
            return cls(None, right)
        # The order of a set varies between runs. Sorted, an error names the same item in every run.
        ordered = sorted(namespaces) if isinstance(namespaces, Set) else namespaces
        return cls(frozenset(arguments.names("namespaces", ordered)), right)

    def allows(self, namespace: str, right: Right) -> bool:
        """Return whether the grant includes ``right`` in ``namespace``."""
        return self.right >= right and (self.namespaces is None or namespace in self.namespaces)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: the name and the id of its key, and what the key grants."""

    name: str
    grant: Grant
    id: str = ""
    """The id of the key, which may be logged; empty if the server requires no keys."""

    def namespace(self, requested: str | None, right: Right) -> str:
        """Return the namespace of a request; raise :class:`ForbiddenError` if the caller lacks ``right`` there.

        If ``requested`` is ``None``, the namespace is the only one that the key grants, or ``default`` if there are
        several. The namespace need not exist.

        >>> tea = Caller("kettle", Grant.of(["tea"], "read"))
        >>> tea.namespace(None, Right.READ), EVERYONE.namespace(None, Right.ADMIN)
        ('tea', 'default')
        """
        if requested is not None:
            namespace = arguments.name("namespace", requested)
        else:
            allowed = self.grant.namespaces
            namespace = next(iter(allowed)) if allowed is not None and len(allowed) == 1 else DEFAULT_NAMESPACE
        if not self.grant.allows(namespace, right):
            raise ForbiddenError(f"{self.name} may not {_VERBS[right]} namespace {namespace!r}; use a key that may")
        return namespace

    def require_all_namespaces(self, right: Right) -> None:
        """Raise :class:`ForbiddenError` unless the caller has ``right`` in all namespaces."""
        if self.grant.namespaces is not None or self.grant.right < right:
            raise ForbiddenError(
                f"{self.name} does not have the right {right} in all namespaces; use a key that has it"
            )


EVERYONE = Caller("everyone", Grant(None, Right.ADMIN))
"""The caller of every request to a server without keys, which only its own machine can reach. With keys, it is the
caller of requests to paths that need no key."""


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a key file: everything about a key except its text."""

    id: str
    name: str
    hash: str
    """SHA-256 of the text of the key, in hexadecimal."""
    grant: Grant
    created_at: datetime

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Validate an entry of a key file and return the key."""
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
        """Return the entry of the key file; ``namespaces`` is ``None`` for all namespaces."""
        namespaces = self.grant.namespaces
        return {
            "id": self.id,
            "name": self.name,
            "hash": self.hash,
            "namespaces": None if namespaces is None else sorted(namespaces),
            "right": str(self.grant.right),
            "created_at": self.created_at.isoformat().replace("+00:00", "Z"),
        }


class KeyRing:
    """The keys in a file, which is read again when it changes. Thread-safe.

    The file has hashes of keys, never their texts: only :meth:`add` returns a text. The file is replaced atomically.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ring = KeyRing(f"{folder}/keys.json")
    ...     key, text = ring.add("kettle", ["tea"], "read")
    ...     valid, invalid = ring.caller(text), ring.caller(text[:-1])
    >>> valid.name, valid.namespace(None, Right.READ), invalid
    ('kettle', 'tea', None)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Set the path; the file is read on demand and created by the first :meth:`add`."""
        self.path = Path(fspath(path)).expanduser()
        self._lock = Lock()
        self._version: tuple[int, int, int] | None = None
        """Modification time, size and inode of the file when it was read."""
        self._keys: dict[str, Key] = {}

    def keys(self) -> list[Key]:
        """Return all keys, oldest first."""
        return list(self._load().values())

    def caller(self, text: str) -> Caller | None:
        """Return the caller with this key, or ``None`` if the key is unknown; the comparison takes constant time."""
        parts = text.split("_", 2)  # rk_ID_SECRET; the secret may have underscores
        key = self._load().get(parts[1]) if len(parts) == 3 else None
        is_equal = compare_digest(_hash(text), key.hash if key else _UNKNOWN_KEY_HASH)
        return Caller(key.name, key.grant, key.id) if key and is_equal else None

    def add(self, name: str, namespaces: Iterable[str] | None, right: Right | str) -> tuple[Key, str]:
        """Create a key for ``namespaces`` (``None``: all); return the stored entry and the text of the key."""
        grant = Grant.of(namespaces, right)
        if grant.namespaces is not None and not grant.namespaces:
            raise ArgumentError("namespaces", "must name at least one namespace; None means all namespaces")
        key_id = token_hex(6)
        text = f"rk_{key_id}_{token_urlsafe(SECRET_BYTES)}"
        key = Key(key_id, arguments.name("name", name), _hash(text), grant, datetime.now(UTC).replace(microsecond=0))
        with self._lock, _write_lock(self.path):
            stored_keys = self._read() if self.path.exists() else {}
            _replace_file(self.path, {**stored_keys, key.id: key})
        return key, text

    def revoke(self, id: str) -> bool:  # noqa: A002 (the field's name)
        """Remove the key and return whether it existed; running servers reject the key from now on."""
        with self._lock, _write_lock(self.path):
            stored_keys = self._read()
            if id not in stored_keys:
                return False
            _replace_file(self.path, {key_id: key for key_id, key in stored_keys.items() if key_id != id})
        return True

    def _load(self) -> dict[str, Key]:
        """Return the keys by id; read the file only if it has changed."""
        with self._lock:
            try:
                status = self.path.stat()
            except OSError as error:
                raise self._unreadable(error) from None
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if version != self._version:
                # If the file is replaced between stat() and reading, the next call reads it again: no change is missed.
                self._keys, self._version = self._read(), version
            return self._keys

    def _read(self) -> dict[str, Key]:
        try:
            entries = json.loads(self.path.read_bytes())
        except OSError as error:
            raise self._unreadable(error) from None
        except (ValueError, RecursionError):
            raise KeyFileError(f"{self.path} is not a key file: it does not contain JSON") from None
        if not isinstance(entries, list):
            raise KeyFileError(f"{self.path} is not a key file: it must contain a list")
        keys: dict[str, Key] = {}
        for number, entry in enumerate(entries, 1):
            try:
                key = Key.from_dict(entry)
            except ArgumentError as error:
                raise KeyFileError(f"{self.path}: in key {number}, {error}") from None
            keys[key.id] = key
        return keys

    def _unreadable(self, error: OSError) -> KeyFileError:
        if isinstance(error, FileNotFoundError):
            return KeyFileError(f"the key file {self.path} does not exist; create it with recollect keys add")
        return KeyFileError(f"the key file {self.path} cannot be read: {error.strerror}")


@contextmanager
def _write_lock(path: Path) -> Iterator[None]:
    """Lock the file ``path``, so that only one process at a time changes it.

    The lock is that of an SQLite file beside ``path``, because SQLite's lock is released if the process dies.
    """
    try:
        with closing(apsw.Connection(str(path.with_name(f"{path.name}.lock")))) as connection:
            connection.set_busy_timeout(round(LOCK_TIMEOUT * 1000))
            connection.execute("BEGIN EXCLUSIVE")
            yield
    except apsw.BusyError:
        raise KeyFileError(f"another process is changing {path}; try again") from None
    except apsw.Error:
        raise KeyFileError(f"{path} cannot be written: its folder does not exist or is not writable") from None


def _replace_file(path: Path, keys: Mapping[str, Key]) -> None:
    descriptor, name = mkstemp(dir=path.parent, prefix=f"{path.name}.")  # a file that only its owner can read
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


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Cursors:
    """Encrypts the row ids of a listing, since a row id reveals how many notes were ever stored in all namespaces.

    The encryption key is random for each server process, so cursors are invalid after a restart.
    """

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def encode(self, row_id: int | None, namespace: str) -> str | None:
        """Return a row id as an opaque cursor; ``None``, the end of a listing, stays ``None``."""
        if row_id is None:
            return None
        nonce = token_bytes(_NONCE_BYTES)
        unsigned = nonce + (row_id ^ self._mask(nonce)).to_bytes(_ROW_ID_BYTES)
        return urlsafe_b64encode(unsigned + self._signature(unsigned, namespace)).decode()

    def decode(self, cursor: str | None, namespace: str) -> int:
        """Return the row id of a cursor; 0, the start of a listing, for ``None``."""
        if cursor is None:
            return 0
        try:
            data = urlsafe_b64decode(cursor.encode("ascii"))
        except ValueError:
            data = b""
        unsigned = data[:_UNSIGNED_BYTES]
        if not compare_digest(data[_UNSIGNED_BYTES:], self._signature(unsigned, namespace)):
            raise ArgumentError("cursor", "was not issued by this server for this namespace; start without a cursor")
        return int.from_bytes(unsigned[_NONCE_BYTES:]) ^ self._mask(unsigned[:_NONCE_BYTES])

    def _mask(self, nonce: bytes) -> int:
        return int.from_bytes(blake2b(nonce, key=self._key, digest_size=_ROW_ID_BYTES, person=b"mask").digest())

    def _signature(self, unsigned: bytes, namespace: str) -> bytes:
        return blake2b(unsigned + namespace.encode(), key=self._key, digest_size=16, person=b"signature").digest()
