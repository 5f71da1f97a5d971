"""Text for PostgreSQL: escaping, lookup hashes, and terms as ``tsvector`` and ``tsquery``.

Terms are the stems of the tokenizer of FTS5, SQLite's full-text index, so that both engines match the same notes.
There is one exception: PostgreSQL compares only the first ``MAX_TERM_BYTES`` bytes of a prefix. A lexeme is an entry of
a ``tsvector``. It consists of the key of the namespace, a separator and a term.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b, sha256
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper, StrDumperUnknown, TextBinaryLoader, TextLoader

from recollect.query.expressions import Expression, render
from recollect.query.parser import Kind
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.tokens import stems_of

MAX_TERM_BYTES = 1000
"""Longer terms are truncated and end in a digest, because the server limits a lexeme to 2,046 bytes."""
_MAX_FTS5_BYTES = 32_768  # FTS5 ignores the rest of a longer token
_HASH_BYTES = 16
_SEPARATOR = "\x1f"  # no term contains it, because the tokenizer splits texts at control characters
_TRUNCATION_MARK = "\x7f"  # no term contains it, for the same reason
_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and surrogates, which UTF-8 cannot encode

_WEIGHTS = tuple(FIELD_WEIGHTS.values())
_FIELD_GAP = 16  # unused positions between two fields, so that no phrase continues from one field to the next
# The limits of a tsvector.
_MAX_POSITION = 16_383
_MAX_POSITIONS = 255  # the maximum number of positions of one lexeme
_MAX_TSVECTOR_BYTES = 1_000_000  # the server allows 1,048,575 bytes; the rest is a margin

_REAL_OID = 700
_REAL_ARRAY_OID = 1021
_ARRAY_ITEM = np.dtype([("bytes", ">i4"), ("number", ">f4")])  # an item of real[] in binary: its size, then its value


def escape(text: str) -> str:
    """Return ``text`` with an escape sequence for NUL, which PostgreSQL cannot store; :func:`unescape` reverses it."""
    if "\0" not in text and "\x1a" not in text:
        return text
    return text.replace("\x1a", "\x1aS").replace("\0", "\x1aN")


def unescape(text: str) -> str:
    """Return the text that :func:`escape` escaped."""
    return text if "\x1a" not in text else text.replace("\x1aN", "\0").replace("\x1aS", "\x1a")


def lookup_hash(text: str) -> bytes:
    """Return the 16-byte hash by which a text of any length is looked up; the SQL function ``mark`` does the same."""
    return sha256(escape(text).encode()).digest()[:_HASH_BYTES]


def index_term(stem: str) -> str:
    """Return a stem as the index stores it: a long stem is truncated and ends in a digest of the whole stem."""
    encoded = stem.encode()[:_MAX_FTS5_BYTES]
    if len(encoded) <= MAX_TERM_BYTES:
        return stem
    return f"{term_prefix(stem)}{_TRUNCATION_MARK}{blake2b(encoded, digest_size=8).hexdigest()}"


def term_prefix(stem: str) -> str:
    """Return a stem truncated to ``MAX_TERM_BYTES``, for a prefix match with terms of :func:`index_term`."""
    return stem.encode()[:MAX_TERM_BYTES].decode(errors="ignore")


def lexeme(namespace_id: int, term: str) -> str:
    """Return a term with the key of its namespace before it, quoted for a ``tsvector`` or ``tsquery``."""
    text = f"{namespace_id}{_SEPARATOR}{term}"
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


class NoteTerms(NamedTuple):
    """The terms of a note, as :func:`index_term` returns them."""

    tokens: int  # the number of tokens
    weights: dict[str, float]  # the sum of the field weights of each term's occurrences
    positions: dict[str, list[int]]  # the ascending positions of each term, counted over all fields from 1
    field_starts: Sequence[int] = (0,) * 5  # the first position of each field

    def tsvector(self, namespace_id: int) -> tuple[str, bool]:
        """Return the text of the ``tsvector``, and whether it has all terms with all their positions.

        Positions in the summary or the content have the label A, by which a query can select them. A long note may
        exceed the limits of a tsvector. Then the tsvector lacks positions, so that a phrase may not match; from about
        100,000 distinct terms on, it also lacks terms.
        """
        _, _, summary_start, tags_start, content_start = self.field_starts
        complete = all(
            len(positions) <= _MAX_POSITIONS and positions[-1] < _MAX_POSITION for positions in self.positions.values()
        )
        text = " ".join(
            lexeme(namespace_id, term)
            + ":"
            + ",".join(
                f"{min(position, _MAX_POSITION)}"
                f"{'A' if summary_start <= position < tags_start or position >= content_start else ''}"
                for position in positions[:_MAX_POSITIONS]
            )
            for term, positions in self.positions.items()
        )
        # As a character has at most four bytes in UTF-8, most texts need not be encoded to be measured.
        if len(text) * 4 <= _MAX_TSVECTOR_BYTES or len(text.encode()) <= _MAX_TSVECTOR_BYTES:
            return text, complete
        # The text is too long: leave out all positions, and the terms that do not fit even then.
        lexemes = [lexeme(namespace_id, term) for term in self.positions]
        ends = accumulate(len(quoted.encode()) + 1 for quoted in lexemes)
        return " ".join(quoted for quoted, end in zip(lexemes, ends, strict=True) if end <= _MAX_TSVECTOR_BYTES), False


def read_terms(fields: Sequence[str | None]) -> NoteTerms:
    """Return the terms of a note, given by its fields in the order of ``FIELD_WEIGHTS``."""
    tokens, position = 0, 1
    starts: list[int] = []
    weights: dict[str, float] = {}
    positions: dict[str, list[int]] = {}
    for text, weight in zip(fields, _WEIGHTS, strict=True):
        starts.append(position)
        for stem in stems_of(text) if text else ():
            term = index_term(stem)
            weights[term] = weights.get(term, 0.0) + weight
            positions.setdefault(term, []).append(position)
            position += 1
            tokens += 1
        position += _FIELD_GAP
    return NoteTerms(tokens, weights, positions, starts)


def phrase_weight(fields: Sequence[str | None], phrase: Sequence[str], *, prefix: bool = False) -> float:
    """Return the summed field weights of a phrase's occurrences; with ``prefix``, its last stem matches as a prefix."""
    *first_stems, last_stem = phrase
    total = 0.0
    for text, weight in zip(fields, _WEIGHTS, strict=True):
        stems = stems_of(text) if text else []
        for index in range(len(first_stems), len(stems)):
            matches = stems[index].startswith(last_stem) if prefix else stems[index] == last_stem
            if matches and stems[index - len(first_stems) : index] == first_stems:
                total += weight
    return total


def query_terms(text: str) -> list[str]:
    """Return the stems of an operand of a query; a term or prefix with several stems is matched like a phrase."""
    return stems_of(_CONTROL_CHARACTERS.sub(" ", text))


def render_tsquery(node: Expression, namespace_id: int) -> str | None:
    """Return the text of the ``tsquery`` for an expression in a namespace; ``None`` if no note can match."""
    return render(node, _TsQuery(namespace_id))


class _TsQuery:
    """Renders nodes in tsquery syntax; ``None`` stands for a node that no note can match, such as mere punctuation."""

    def __init__(self, namespace_id: int) -> None:
        self._namespace_id = namespace_id

    def match(self, kind: Kind, text: str) -> str | None:
        stems = query_terms(text)
        if not stems:
            return None
        parts = [lexeme(self._namespace_id, index_term(stem)) for stem in stems]
        if kind == "prefix":
            parts[-1] = f"{lexeme(self._namespace_id, term_prefix(stems[-1]))}:*"
        return _balanced(parts, "<->")

    def any_of(self, parts: Sequence[str | None]) -> str | None:
        matchable = [part for part in parts if part is not None]
        return _balanced(matchable, "|") if matchable else None

    def all_of(self, parts: Sequence[str | None]) -> str | None:
        matchable = [part for part in parts if part is not None]
        return _balanced(matchable, "&") if len(matchable) == len(parts) else None

    def without(self, wanted: str | None, excluded: str | None) -> str | None:
        if wanted is None or excluded is None:
            return wanted
        return f"({wanted} & !{excluded})"


def _balanced(parts: Sequence[str], operator: str) -> str:
    """Join parts as a balanced tree, because a chain of 20,000 terms would exceed the server's stack."""
    while len(parts) > 1:
        parts = [
            f"({parts[index]} {operator} {parts[index + 1]})" if index + 1 < len(parts) else parts[index]
            for index in range(0, len(parts), 2)
        ]
    return parts[0]


def register_adapters(connection: Connection) -> None:
    """Let a connection escape and unescape text, and send :class:`FloatArray` in binary."""
    for dumper in (_BinaryDumper, _TextDumper):  # psycopg prefers the dumper that is registered last
        connection.adapters.register_dumper(str, dumper)
    for loader in (_BinaryLoader, _TextLoader):
        connection.adapters.register_loader("text", loader)
    connection.adapters.register_dumper(FloatArray, _FloatArrayDumper)


class FloatArray(bytes):
    """A ``real[]`` in PostgreSQL's binary format; the server needs much longer to parse the text of an array."""

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> FloatArray:
        """Return the numbers of all rows as one array."""
        items = np.empty(rows.size, dtype=_ARRAY_ITEM)
        items["bytes"], items["number"] = 4, rows.reshape(-1)
        # The header: number of dimensions, whether there are NULLs, type of the items, length and lower bound.
        return cls(np.array([1, 0, _REAL_OID, rows.size, 1], dtype=">i4").tobytes() + items.tobytes())


class _FloatArrayDumper(Dumper):
    format = Format.BINARY
    oid = _REAL_ARRAY_OID

    def dump(self, obj: Any) -> Any:
        return obj


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(escape(obj))


class _BinaryDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escape(obj))


class _TextLoader(TextLoader):
    def load(self, data: Any) -> Any:
        return unescape(str(data, "utf-8"))


class _BinaryLoader(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        return unescape(str(data, "utf-8"))
