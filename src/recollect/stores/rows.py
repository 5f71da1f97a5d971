"""Convert notes and vectors to rows of the tables, and rows to notes, candidates and vectors.

In a row, times are microseconds since 1970 in UTC, tags are joined by line ends, and metadata is JSON. An empty path or
session is NULL. Vectors are blobs: the numbers of one chunk, or of all chunks of a note, in the model's precision.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from os import urandom
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.arguments import with_deep_stack
from recollect.errors import ArgumentError, StoreDamagedError
from recollect.model import (
    NOTE_FIELDS,
    UNCHANGED_IF_EMPTY,
    Candidate,
    Draft,
    EmbeddingText,
    Link,
    Note,
    embedding_text,
)
from recollect.model.note import DEFAULT_IMPORTANCE, StoredMetadata
from recollect.model.search import BLANK_CANDIDATE

if TYPE_CHECKING:
    from recollect.stores.base import Model, Vector

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class NoteRow(NamedTuple):
    """A note as a row of the table ``notes``; ``namespace`` and ``document`` are keys of other tables."""

    key: int
    namespace: int
    id: str
    path: str | None = None
    name: str | None = None  # the folded_name of the path; None if the path is None, or contains # (part of a file)
    session: str | None = None
    position: int | None = None
    importance: float = DEFAULT_IMPORTANCE
    created_at: int = 0
    updated_at: int = 0
    last_accessed_at: int | None = None
    expires_at: int | None = None
    document: int | None = None
    tags: str = ""
    metadata: str = "{}"
    title: str = ""
    summary: str = ""
    content: str = ""

    @property
    def indexed_fields(self) -> tuple[str | None, ...]:
        """The fields that are in the lexical index."""
        return self.path, self.title, self.summary, self.tags, self.content

    @property
    def embedding_text(self) -> EmbeddingText:
        """The text from which the note's vector is computed."""
        return embedding_text(self.title, self.summary, self.content)


COLUMNS = ", ".join(NoteRow._fields)  # for SQL, in the order of the fields of NoteRow
CANDIDATE_COLUMNS = (
    "id, path, title, summary, content, created_at, last_accessed_at, importance, session, position, tags, metadata"
)


def to_microseconds(moment: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)  # notes of one batch share their times
def from_microseconds(microseconds: int) -> datetime:
    """Return the time that is this number of microseconds after the beginning of 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def _optional_time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)


def folded_name(target: str) -> str:
    """Return the name by which a wikilink finds a note: the last part of its path, without ``.md``, case-folded."""
    return target.rpartition("/")[2].removesuffix(".md").casefold()


def note_of(row: Sequence[Any], namespace: str, links: Iterable[Link]) -> Note:
    """Return the note of a row with :data:`COLUMNS`; ``namespace`` is the name of its namespace."""
    stored = row if isinstance(row, NoteRow) else NoteRow._make(row)
    return Note.from_checked(
        {
            "content": stored.content,
            "id": stored.id,
            "path": stored.path or "",
            "title": stored.title,
            "summary": stored.summary,
            "tags": tuple(stored.tags.split("\n")) if stored.tags else (),
            "created_at": from_microseconds(stored.created_at),
            "updated_at": from_microseconds(stored.updated_at),
            "last_accessed_at": _optional_time(stored.last_accessed_at),
            "expires_at": _optional_time(stored.expires_at),
            "importance": stored.importance,
            "session": stored.session or "",
            "position": stored.position,
            "links": tuple(links),
            "metadata": with_deep_stack(lambda: json.loads(stored.metadata)) if stored.metadata != "{}" else {},
            "namespace": namespace,
        }
    )


def candidate_of(row: Sequence[Any]) -> Candidate:
    """Return the candidate of a row with :data:`CANDIDATE_COLUMNS`. Stored values are valid and not checked again."""
    note_id, path, title, summary, content, created_at, last_accessed_at, importance, session, position = row[:10]
    tags, metadata = row[10:]
    candidate = BLANK_CANDIDATE.copy()
    candidate.id = note_id
    candidate.path = path or ""
    candidate.title = title
    candidate.summary = summary
    candidate.content = content
    candidate.created_at = from_microseconds(created_at)
    candidate.last_accessed_at = _optional_time(last_accessed_at)
    candidate.importance = importance
    candidate.session = session or ""
    candidate.position = position
    candidate.tags = tuple(tags.split("\n")) if tags else ()
    if metadata != "{}":
        candidate.metadata = StoredMetadata(metadata)
    return candidate


@dataclass(slots=True, eq=False)
class Change:
    """The change that a batch makes to one note."""

    old: NoteRow | None  # the stored row; None if the note is new
    new: NoteRow
    namespace_name: str  # ``new.namespace`` is the key of the namespace
    old_links: tuple[Link, ...]
    links: tuple[Link, ...]
    vector: Vector | None = None  # the vector of the draft; None if the draft has none

    @property
    def has_effect(self) -> bool:
        """Whether the row or the links change."""
        return self.old != self.new or self.old_links != self.links

    @property
    def renamed(self) -> bool:
        """Whether the id or the path changes."""
        return self.old is not None and (self.old.id, self.old.path) != (self.new.id, self.new.path)

    @property
    def terms_changed(self) -> bool:
        """Whether an indexed field changes, so that the lexical index needs other terms for the note."""
        return self.old is None or self.old.indexed_fields != self.new.indexed_fields

    @property
    def text_changed(self) -> bool:
        """Whether the embedded text changes, so that the note needs a new vector."""
        return self.old is None or self.old.embedding_text != self.new.embedding_text


DOCUMENT_DEFAULTS: Draft = {
    name: field.default
    for name, field in NOTE_FIELDS.items()
    if name not in UNCHANGED_IF_EMPTY | {"content", "namespace"}
}
"""The values of fields that a draft of a document leaves out, because such a draft describes a whole note."""


def merged_row(row: NoteRow, draft: Draft) -> NoteRow:
    """Return ``row`` with the values of ``draft``, converted to the types of a row; an empty id or path is ignored."""
    unconverted = ("title", "summary", "content", "importance", "position")
    changed: dict[str, Any] = {name: draft[name] for name in unconverted if name in draft}
    for name in ("created_at", "updated_at", "last_accessed_at", "expires_at"):
        if name in draft:
            changed[name] = None if draft[name] is None else to_microseconds(draft[name])
    if draft.get("id"):
        changed["id"] = draft["id"]
    if draft.get("path"):
        changed["path"] = draft["path"]
        changed["name"] = None if "#" in draft["path"] else folded_name(draft["path"])
    if "session" in draft:
        changed["session"] = draft["session"] or None
    if "tags" in draft:
        changed["tags"] = "\n".join(draft["tags"])
    if draft.get("metadata"):
        changed["metadata"] = json.dumps(draft["metadata"], ensure_ascii=False, separators=(",", ":"))
    elif "metadata" in draft:
        changed["metadata"] = "{}"
    return row._replace(**changed)


def new_id(microseconds: int) -> str:
    """Return a UUID of version 7 (RFC 9562): it starts with the time, so that new ids are neighbours in an index."""
    number = (microseconds // 1000) << 80 | int.from_bytes(urandom(10), "big")  # 48 bits of milliseconds, 80 random
    number = number & ~(0xF << 76) | 7 << 76  # the version
    number = number & ~(0x3 << 62) | 2 << 62  # the variant
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


_UNIT_TOLERANCE = 1e-5  # a vector whose length differs from 1 by less has unit length, except for rounding errors


def to_unit_length(vectors: Sequence[Vector] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors scaled to unit length, one in each row; a vector of zeros stays unchanged."""
    rows = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1)  # because the square of a very large number overflows
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    unit = scaled / np.where(lengths > 0, lengths, 1)
    # A vector of unit length stays bit-identical, so that export and import do not change it.
    return np.where(np.abs(lengths * largest - 1) < _UNIT_TOLERANCE, rows, unit).astype(np.float32, copy=False)


def unit_query(vector: Vector, model: Model) -> Vector:
    """Return the vector of a query at unit length; raise an error if the model's vectors have another dimension."""
    if np.shape(vector) != (model.dimension,):
        raise ArgumentError("vector", f"has {np.size(vector)} numbers; those of {model.name!r} have {model.dimension}")
    unit: Vector = to_unit_length([vector])[0]
    return unit


def vectors_in(blob: bytes, model: Model) -> NDArray[Any]:
    """Return the vectors of a note's chunks, one in each row, from their stored bytes."""
    if not blob or len(blob) % (model.dimension * np.dtype(model.precision).itemsize):
        raise StoreDamagedError("the store has a vector of a wrong length; run 'recollect doctor --repair'")
    return np.frombuffer(blob, dtype=model.precision).reshape(-1, model.dimension)


def cosine_similarity(vectors: NDArray[Any], query: NDArray[np.float64]) -> float:
    """Return the cosine similarity of a query and the most similar chunk of a note; all vectors have unit length."""
    return float((vectors.astype(np.float64) * query).sum(axis=1).max())


def cosine_similarities(blobs: Sequence[bytes], model: Model, query: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return :func:`cosine_similarity` for many notes at once, from the stored bytes of their vectors."""
    if not blobs:
        return np.empty(0)
    products = (vectors_in(b"".join(blobs), model).astype(np.float64) * query).sum(axis=1)
    vector_bytes = sum(map(len, blobs)) // len(products)
    first_rows = np.cumsum([0, *(len(blob) // vector_bytes for blob in blobs[:-1])])  # the first row of each note
    return np.maximum.reduceat(products, first_rows)
