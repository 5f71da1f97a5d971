"""A note's metadata from a store: JSON that is decoded when it is first read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.nesting import with_room

__all__ = ["NO_METADATA", "StoredMetadata", "stored_metadata"]


class StoredMetadata(Mapping[str, Any]):
    """A read-only mapping over a JSON object.

    A search fetches hundreds of candidates and shows few: decoding the metadata of all would take longer than fetching
    it.

    >>> metadata = StoredMetadata('{"author": "Ines", "pages": 3}')
    >>> metadata["author"], len(metadata), dict(metadata) == metadata
    ('Ines', 2, True)
    """

    __slots__ = ("_json", "_values")

    def __init__(self, text: str = "{}") -> None:
        """Keep the JSON text."""
        self._json = text
        self._values: dict[str, Any] | None = None

    def _decoded(self) -> dict[str, Any]:
        if self._values is None:
            self._values = with_room(lambda: json.loads(self._json))
        return self._values

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key."""
        return self._decoded()[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._decoded())

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._decoded())

    def __bool__(self) -> bool:
        """Return whether the object has any key, without decoding it."""
        return self._json != "{}"

    def __repr__(self) -> str:
        """Return the decoded mapping."""
        return repr(self._decoded())


NO_METADATA = StoredMetadata()
"""The metadata of a note that has none."""


def stored_metadata(text: str) -> StoredMetadata:
    """Return the metadata of a stored JSON object; most notes have none and share one.

    >>> stored_metadata("{}") is NO_METADATA
    True
    """
    return NO_METADATA if text == "{}" else StoredMetadata(text)
