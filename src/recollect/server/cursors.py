"""Encrypted cursors of listings: a client can neither read nor forge one."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest
from secrets import token_bytes

from recollect.errors import ArgumentError

_NONCE_BYTES = 12
_ROW_BYTES = 8
_HEAD_BYTES = _NONCE_BYTES + _ROW_BYTES


class Cursors:
    """Encrypts row ids for a namespace, since a row id tells how many notes were ever stored in all namespaces.

    The key is random for each server process, so cursors do not outlive a restart.
    """

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def encode(self, row_id: int | None, namespace: str) -> str | None:
        """Return a row id as an opaque cursor; ``None``, the end of a listing, stays ``None``."""
        if row_id is None:
            return None
        nonce = token_bytes(_NONCE_BYTES)
        head = nonce + (row_id ^ self._mask(nonce)).to_bytes(_ROW_BYTES)
        return urlsafe_b64encode(head + self._signature(head, namespace)).decode()

    def decode(self, cursor: str | None, namespace: str) -> int:
        """Return the row id of a cursor; 0, the start of a listing, for ``None``."""
        if cursor is None:
            return 0
        try:
            data = urlsafe_b64decode(cursor.encode("ascii"))
        except ValueError:
            data = b""
        head = data[:_HEAD_BYTES]
        if not compare_digest(data[_HEAD_BYTES:], self._signature(head, namespace)):
            raise ArgumentError("cursor", "is not one of this server for this namespace; start without a cursor")
        return int.from_bytes(head[_NONCE_BYTES:]) ^ self._mask(head[:_NONCE_BYTES])

    def _mask(self, nonce: bytes) -> int:
        return int.from_bytes(blake2b(nonce, key=self._key, digest_size=_ROW_BYTES, person=b"mask").digest())

    def _signature(self, head: bytes, namespace: str) -> bytes:
        return blake2b(head + namespace.encode(), key=self._key, digest_size=16, person=b"mark").digest()
