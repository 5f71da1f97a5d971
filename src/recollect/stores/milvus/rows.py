"""A note as rows of a collection, and rows as a note.

Row 0 of a note has its words, and all of it as JSON, ``body``, as far as one field holds that. What remains of the
body, and vectors of further pieces, lie in rows behind it. Every row has what filters ask for. Whatever a person wrote
is asked for by numbers that stand for it, or in hexadecimal digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError
from recollect.model import Link
from recollect.nesting import with_room
from recollect.stores.entities import entities_in
from recollect.stores.milvus.schema import LONGEST_TEXT, MOST_MARKS, NEVER, PARTS, UNKNOWN
from recollect.stores.milvus.words import words_in, words_text
from recollect.stores.rows import NoteRow

__all__ = [
    "Header",
    "Stored",
    "cut",
    "document_key",
    "hashed",
    "header_in",
    "header_of",
    "metadata_mark",
    "namespace_key",
    "path_prefix",
    "rows_of",
    "stored_of",
    "tag_mark",
]

_BODY = tuple(name for name in NoteRow._fields if name not in ("key", "namespace", "last_accessed_at"))


class Stored(NamedTuple):
    """A note as a store has it."""

    row: NoteRow
    links: tuple[Link, ...] = ()


class Header(NamedTuple):
    """What connects a note with others, and where it is."""

    key: int
    id: str
    path: str
    title: str
    session: str
    position: int | None
    document: int | None
    expires: int
    links: tuple[Link, ...]
    entities: tuple[str, ...]


def hashed(*parts: str) -> int:
    """Return a number of 63 bits, not 0, that stands for some texts.

    >>> hashed("id", "n1") == hashed("id", "n1") != hashed("id", "n2")
    True
    """
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1 or 1


def namespace_key(name: str) -> int:
    """Return the key of a namespace, the same in every store and process."""
    return hashed("namespace", name)


def document_key(namespace: int, root: str, name: str) -> int:
    """Return the key of a document."""
    return hashed("document", str(namespace), root, name)


def tag_mark(tag: str) -> int:
    """Return what stands for a tag among the marks of a note."""
    return hashed("tag", tag)


def metadata_mark(key: str, value: Any) -> int:
    """Return what stands for a key of a note's metadata with its value; true is not 1, and 1 equals 1.0.

    >>> metadata_mark("n", 1) == metadata_mark("n", 1.0) != metadata_mark("n", True)
    True
    """
    if value is None or isinstance(value, bool):
        held = json.dumps(value)
    elif isinstance(value, int | float):
        held = _number(_fitting(value))
    else:
        held = with_room(lambda: json.dumps(_canonical(value), sort_keys=True))
    return hashed("metadata", key, held)


def path_prefix(path: str) -> str:
    """Return a path in hexadecimal digits, which are in the same order as paths, as far as a field holds them.

    >>> path_prefix("tea")
    '746561'
    """
    return path.encode("utf-8", "surrogatepass").hex()[: LONGEST_TEXT - 1]


def rows_of(stored: Stored, vectors: NDArray[np.float32] | None, digest: str, dimension: int) -> list[dict[str, Any]]:
    """Return the rows of a note: ``vectors`` has one for each piece of its text, which ``digest`` stands for."""
    row = stored.row
    metadata = {} if row.metadata == "{}" else with_room(lambda: json.loads(row.metadata))
    marks = {*map(tag_mark, row.tags.split("\n") if row.tags else ())}
    marks.update(metadata_mark(key, value) for key, value in metadata.items())
    if len(marks) > MOST_MARKS:
        raise ArgumentError(
            "tags",
            f"note {row.id!r} has {len(marks):,} together with the keys of its metadata, "
            f"and Milvus takes {MOST_MARKS:,}; give it fewer",
        )
    words = words_text(words_in(row))
    body = json.dumps([getattr(row, name) for name in _BODY] + [stored.links], ensure_ascii=False)
    bodies = cut(body)
    pieces = () if vectors is None else vectors.tolist()
    count = max(len(bodies), len(pieces))
    if count > PARTS:
        raise ArgumentError(
            "content",
            f"note {row.id!r} has {len(row.content):,} characters in {count:,} pieces, "
            f"and Milvus takes {PARTS:,}; split it",
        )
    shared = {
        "namespace": row.namespace,
        "note": row.key,
        "parts": count,
        "id": hashed("id", row.id),
        "path_hash": hashed("path", row.path) if row.path else 0,
        "path": path_prefix(row.path or ""),
        "session": hashed("session", row.session) if row.session else 0,
        "document": row.document or 0,
        "links": len(stored.links),
        "created": row.created_at,
        "updated": row.updated_at,
        "accessed": UNKNOWN if row.last_accessed_at is None else row.last_accessed_at,
        "expires": NEVER if row.expires_at is None else row.expires_at,
        "marks": sorted(marks),
        "tokens": words.tokens,
        "whole": words.whole,
        "digest": digest if vectors is not None else "",
    }
    blank = [0.0] * dimension
    return [
        {
            **shared,
            "key": row.key + part,
            "part": part,
            "words": "" if part else words.text,
            "header": "" if part else _header(stored),
            "body": text or "",
            "piece": -1 if piece is None else part,
            "vector": blank if piece is None else piece,
        }
        for part, (text, piece) in enumerate(zip_longest(bodies, pieces))
    ]


def stored_of(rows: Sequence[Mapping[str, Any]]) -> Stored:
    """Return the note in its rows, which have ``NOTE_FIELDS`` and come in the order of their parts."""
    first = rows[0]
    *values, links = with_room(lambda: json.loads("".join(row["body"] for row in rows)))
    held = dict(zip(_BODY, values, strict=True))
    accessed = first["accessed"]
    row = NoteRow(
        key=first["note"],
        namespace=first["namespace"],
        last_accessed_at=None if accessed == UNKNOWN else accessed,
        **held,
    )
    return Stored(row, tuple(Link(*link) for link in links))


def header_of(stored: Stored) -> Header:
    """Return the header of a note."""
    row = stored.row
    return Header(
        key=row.key,
        id=row.id,
        path=row.path or "",
        title=row.title,
        session=row.session or "",
        position=row.position,
        document=row.document,
        expires=NEVER if row.expires_at is None else row.expires_at,
        links=stored.links,
        entities=tuple(sorted(entities_in(row.metadata))),
    )


def header_in(row: Mapping[str, Any]) -> Header | None:
    """Return the header in row 0 of a note, or ``None`` where it was too long: then the note itself tells it."""
    if not row["header"]:
        return None
    *values, links, entities = json.loads(row["header"])
    return Header._make([*values, tuple(Link(*link) for link in links), tuple(entities)])


def _header(stored: Stored) -> str:
    text = json.dumps(header_of(stored), ensure_ascii=False, separators=(",", ":"))
    return text if len(text.encode()) <= LONGEST_TEXT else ""


def cut(text: str) -> list[str]:
    """Return a text in parts that a field holds each, whatever bytes its characters take."""
    if len(text) * 4 <= LONGEST_TEXT or len(text.encode()) <= LONGEST_TEXT:
        return [text]
    length = LONGEST_TEXT // (1 if text.isascii() else 4)
    return [text[start : start + length] for start in range(0, len(text), length)]


def _fitting(number: int | float) -> int | float:
    """Return a number as it is compared: whole ones beyond 64 bits are the nearest float."""
    if isinstance(number, float) or -(2**63) <= number < 2**63:
        return number
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _number(number: int | float) -> str:
    """Return a number such that those which are equal are written alike."""
    return str(int(number)) if isinstance(number, int) or number.is_integer() else repr(number)


def _canonical(value: Any) -> Any:
    """Return a value with its numbers as texts, such that what is equal in Python is written alike."""
    if isinstance(value, int | float):
        return {"": _number(value)}
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    if isinstance(value, Mapping):
        return {f"={key}": _canonical(each) for key, each in value.items()}
    return value
