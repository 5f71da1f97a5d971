"""Where a list goes on, sealed: who holds a cursor learns nothing from it, and can make none."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest
from secrets import token_bytes

from recollect.errors import ArgumentError

__all__ = ["Cursors"]

_NONCE = 12
_PLACE = 8


class Cursors:
    """Seals places of a namespace. A place counts all notes that were ever stored, in whichever namespace.

    The key is this server's own and new each time it is started: a list that was begun before is begun anew.

    >>> cursors = Cursors()
    >>> cursors.place(cursors.sealed(7, "tea"), "tea")
    7
    >>> cursors.place(cursors.sealed(7, "tea"), "work")
    Traceback (most recent call last):
    recollect.errors.ArgumentError: cursor: is none of this server's for this namespace; begin without one
    """

    def __init__(self) -> None:
        """Make a key."""
        self._key = token_bytes(32)

    def sealed(self, place: int, namespace: str) -> str:
        """Return a place as text that says nothing."""
        nonce = token_bytes(_NONCE)
        hidden = nonce + _mixed(place.to_bytes(_PLACE), self._mask(nonce))
        return urlsafe_b64encode(hidden + self._mark(hidden, namespace)).decode()

    def place(self, cursor: str | None, namespace: str) -> int:
        """Return the place that a cursor stands for; without one, the beginning."""
        if cursor is None:
            return 0
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii"))
        except ValueError:
            sealed = b""
        hidden, mark = sealed[: _NONCE + _PLACE], sealed[_NONCE + _PLACE :]
        if not compare_digest(mark, self._mark(hidden, namespace)):
            raise ArgumentError("cursor", "is none of this server's for this namespace; begin without one")
        nonce, place = hidden[:_NONCE], hidden[_NONCE:]
        return int.from_bytes(_mixed(place, self._mask(nonce)))

    def _mask(self, nonce: bytes) -> bytes:
        return blake2b(nonce, key=self._key, digest_size=_PLACE, person=b"mask").digest()

    def _mark(self, hidden: bytes, namespace: str) -> bytes:
        return blake2b(hidden + namespace.encode(), key=self._key, digest_size=16, person=b"mark").digest()


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
