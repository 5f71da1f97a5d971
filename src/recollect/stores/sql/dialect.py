"""Neutral SQL, its translation for each engine, the contract of a transaction, and caches of derived values.

A neutral statement is written in the SQL that both engines know, with these additions:

======================== =========================================== ==========================
neutral                  SQLite                                      PostgreSQL
======================== =========================================== ==========================
``:name``                ``:name``                                   ``%(name)s``
``IN LIST(:keys)``       ``IN (SELECT value FROM json_each(:keys))`` ``= ANY (%(keys)s)``
``LOOKUP(id)``           ``id``                                      ``id_mark``
``LOOKUP(:id)``          ``:id``                                     ``%(id)s``, a hash
``IN LOOKUP_LIST(:ids)`` as ``IN LIST``                              as ``IN LIST``, hashes
``STRAIGHT_JOIN``        ``CROSS JOIN``                              ``JOIN``
``visible_notes``        ``notes``                                   ``living``
``%``                    ``%``                                       ``%%``
======================== =========================================== ==========================

PostgreSQL looks texts up by a hash of sixteen bytes, because a long text does not fit into a row of an index.
``LOOKUP(+kind)`` keeps SQLite from using the index of that column. ``STRAIGHT_JOIN`` reads its left side first, as in
MySQL; PostgreSQL's planner needs no hint. ``visible_notes`` are the notes that have not expired; in SQLite, a temporary
view named ``notes`` hides the expired notes while there are any.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from numpy import float32
from numpy.typing import NDArray

from recollect.model import Filters
from recollect.stores.base import Model
from recollect.stores.rows import Change, NoteRow
from recollect.stores.tokens import Title

Row = tuple[Any, ...]

MAX_INTEGER = 2**62
"""A limit that means no limit: more rows than any store has, but an integer that both engines accept."""

_TOKEN = re.compile(
    r"IN (?P<hashed>LOOKUP_)?LIST\(:(?P<list>\w+)\)"  # IN LIST(:keys), IN LOOKUP_LIST(:ids)
    r"|LOOKUP\(:(?P<lookup>\w+)\)"  # LOOKUP(:id)
    r"|LOOKUP\((?P<hint>\+?)(?P<column>[\w.]+)\)"  # LOOKUP(id), LOOKUP(+n.kind)
    r"|(?<![:\w]):(?P<name>\w+)"  # :name, but not the cast ::name
    r"|(?P<keyword>\bSTRAIGHT_JOIN\b|\bvisible_notes\b|%)"
)


class Statement(NamedTuple):
    """A statement in the SQL of one engine, and the names of its parameters in ``LOOKUP`` and ``LOOKUP_LIST``."""

    sql: str
    lookups: frozenset[str]


class Dialect(NamedTuple):
    """The parts of one engine's SQL in which the engines differ."""

    parameter: str  # the format string of a parameter, to which its name is applied
    in_list: str  # the format string of IN LIST(:name)
    column: Callable[[str, str], str]
    """Maps the column of ``LOOKUP(column)``, and its hint ``+`` or "", to the SQL of the indexed column."""
    replacements: Mapping[str, str]  # the SQL for keywords such as STRAIGHT_JOIN
    list_value: Callable[[Sequence[Any]], Any]  # converts the value of a LIST parameter
    lookup_value: Callable[[str], Any]  # converts a text of a LOOKUP parameter
    statements: dict[str, Statement]  # the cache of rendered statements

    def render(self, sql: str) -> Statement:
        """Translate neutral SQL for this engine; each statement is translated once."""
        statement = self.statements.get(sql)
        if statement is None:
            statement = self.statements[sql] = self._render(sql)
        return statement

    def bind(self, statement: Statement, params: dict[str, Any]) -> dict[str, Any]:
        """Convert the parameters of a statement in place, and return them."""
        for name, value in params.items():
            is_lookup = name in statement.lookups
            if isinstance(value, (list, tuple)):
                params[name] = self.list_value([self.lookup_value(text) for text in value] if is_lookup else value)
            elif is_lookup:
                params[name] = self.lookup_value(value)
        return params

    def _render(self, sql: str) -> Statement:
        lookups: set[str] = set()

        def render_token(token: re.Match[str]) -> str:
            if token["hashed"] or token["lookup"]:
                lookups.add(token["list"] or token["lookup"])
            if token["list"]:
                return self.in_list.format(token["list"])
            if token["column"]:
                return self.column(token["column"], token["hint"])
            if token["keyword"]:
                return self.replacements[token["keyword"]]
            return self.parameter.format(token["lookup"] or token["name"])

        return Statement(_TOKEN.sub(render_token, sql), frozenset(lookups))


class VectorRows(NamedTuple):
    """The vectors of one note to write."""

    note: int
    namespace: int
    digest: bytes  # the digest of the embedded text
    rows: NDArray[float32]  # one vector of unit length for each chunk


class SqlTransaction(Protocol):
    """An open transaction: it runs neutral SQL, and each engine adds the statements that the engines do not share."""

    first_chunk: ClassVar[str] = "true"
    """The condition that a row of ``vectors AS v`` has the first chunk of a note; SQLite has all chunks in one row."""
    dialect: ClassVar[Dialect]
    connection: Any

    def run(self, sql: str, params: dict[str, Any]) -> Any:
        """Run a neutral statement and return the engine's cursor."""
        statement = self.dialect.render(sql)
        return self.connection.execute(statement.sql, self.dialect.bind(statement, params))

    def fetch(self, sql: str, **params: Any) -> list[Row]:
        """Return all rows of a neutral query."""
        rows: list[Row] = self.run(sql, params).fetchall()
        return rows

    def execute(self, sql: str, **params: Any) -> None:
        """Run a neutral statement."""
        self.run(sql, params)

    def fetch_value(self, sql: str, **params: Any) -> Any:
        """Return the first column of the first row of a neutral query; ``None`` if it returns no row."""
        rows = self.fetch(sql, **params)
        return rows[0][0] if rows else None

    def fetch_column(self, sql: str, **params: Any) -> list[Any]:
        """Return the first column of a neutral query."""
        return [row[0] for row in self.fetch(sql, **params)]

    def fetch_dict(self, sql: str, **params: Any) -> dict[Any, Any]:
        """Return the first column of a neutral query mapped to the second."""
        return {key: value for key, value in self.fetch(sql, **params)}  # noqa: C416 (rows have any length for mypy)

    def fetch_together(self, queries: Iterable[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        """Return the rows of each of several independent queries, in one round trip if the engine can."""
        return [self.fetch(sql, **params) for sql, params in queries]

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, conflict: str = "", returning: str = ""
    ) -> list[Row]:
        """Insert rows; return a row with the columns in ``returning`` for each inserted row.

        ``conflict`` is what follows ``ON CONFLICT DO``, such as ``NOTHING``; without it, an existing row is an error.
        """

    def namespace_id(self, name: str) -> int | None:
        """Return the key of a namespace; ``None`` if nothing was ever stored in it."""

    def ensure_namespace(self, name: str) -> int:
        """Return the key of a namespace; create it if it is new."""

    def revision(self, namespace_id: int) -> int:
        """Return the revision of a namespace, which grows whenever a term or a name of a note in it changes."""
        revision: int = self.fetch_value("SELECT revision FROM namespaces WHERE key = :key", key=namespace_id)
        return revision

    def restart(self) -> None:
        """Restart a read transaction, so that it sees the latest commits; in PostgreSQL, do nothing."""
        return

    def hides_notes(self) -> bool:
        """Return whether there may be expired notes that ``visible_notes`` leaves out."""
        return True

    def note_keys_after(self, cursor: int, limit: int, namespace_id: int | None, filters: Filters) -> list[int]:
        """Return the first ``limit`` keys after ``cursor`` of visible notes that pass the filters, in order."""

    def touch_notes(self, namespace_id: int, accessed: Mapping[str, int]) -> int:
        """Write access times (microseconds since 1970, by id) that are later than the stored; return their number."""

    def new_keys(self, limit: int) -> Iterator[int]:
        """Yield at most ``limit`` keys for new notes, higher than the keys of all earlier notes."""

    def insert_notes(self, rows: Sequence[NoteRow]) -> None:
        """Insert new notes."""

    def update_notes(self, changes: Sequence[Change]) -> None:
        """Update notes; two notes may swap their ids or paths."""

    def unindex_texts(self, namespace_id: int, notes: Sequence[int]) -> None:
        """Remove the terms of notes from the lexical index before the notes change, if the engine requires it."""

    def index_texts(self, namespace_id: int, changes: Sequence[Change]) -> None:
        """Update the lexical index with new and changed notes, and increment the revision."""

    def remove_from_indexes(self, namespace_id: int, notes: Sequence[int]) -> None:
        """Remove notes from the lexical index before they are deleted."""

    def resolve_links(self, namespace_id: int, targets: Iterable[str]) -> dict[str, int]:
        """Return the visible note that each link target refers to, for the targets that refer to a note.

        A target is an id, a path, either of them without ``.md``, or a name: the last part of a path. Of several notes
        with the same name, the note with the shortest path is chosen.
        """

    def adjacent_notes(self, notes: Sequence[int], distance: int) -> tuple[list[Row], list[Row]]:
        """Return two lists of rows (note, neighbour in its session).

        The first list has up to ``distance`` previous notes of each note, the second has up to ``distance`` next notes.
        """

    def superseding_pairs(
        self, namespace_id: int, ids: Sequence[str], created_before: int, limit: int
    ) -> Iterable[Row]:
        """Return (superseded id, id of a direct successor) for each link of the successor chains from ``ids`` on."""

    def index_state(self, namespace_id: int) -> tuple[int, bool, bool]:
        """Return the revision of a namespace, whether its lexical index has notes, and whether any note has a title."""

    def indexed_terms(self, namespace_id: int) -> Iterable[str]:
        """Return the terms of the lexical index of a namespace."""

    def titles_starting_with(self, namespace_id: int, runs: Sequence[str]) -> Iterable[Row]:
        """Return rows for the runs (sequences of stems, joined by spaces) with which a title starts.

        The first column is the run. The second has the stems of the last title, in sort order, that starts with the
        run: if they differ from the run, a longer title exists. The others have the key and the words of a title that
        equals the run; both are ``None`` if no such title exists, or if it is common.
        """

    def notes_containing(
        self, namespace_id: int, titles: Mapping[int, Title], exclude: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """Return for each title, by key, the indexed notes whose summary or content contains its stems.

        ``exclude`` has the notes that are being written, which are left out. For a title that more than ``limit`` notes
        contain, at least ``limit`` + 1 notes are returned, so that the caller recognises it as common.
        """

    def lock_models(self) -> None:
        """Let no other transaction add a model until this transaction ends."""

    def lock_texts(self, notes: Sequence[int] | None) -> None:
        """Let no other transaction change texts of these notes (``None``: of any note) until this transaction ends."""

    def insert_vectors(self, model_key: int, model: Model, vectors: Sequence[VectorRows]) -> None:
        """Insert vectors of notes that have none of this model yet."""

    def stored_vectors(self, model_key: int, notes: Sequence[tuple[str, str, bytes]]) -> Mapping[int, bytes]:
        """Return the bytes of the vectors of notes, by index in ``notes``; notes without a vector are left out.

        An item of ``notes`` has the name of the namespace, the id of the note and the digest of its text.
        """


MAX_NAMESPACES = 256  # the maximum number of cached namespaces: a server may have a namespace for each person
MAX_COUNTS = 10_000  # the maximum number of cached counts of a namespace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T", bound=SqlTransaction)


class _Entry(Generic[V]):
    """The cached revision and value of one namespace, and the lock of the thread that derives the value."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cached: tuple[int, V] | None = None


class RevisionCache(Generic[T, V]):
    """A cache of one derived value for each recently used namespace, valid for one revision of the namespace.

    The revision is read in the transaction of the search, so that a cached value is used only if it was derived from
    the same state that the search sees.
    """

    def __init__(self, derive: Callable[[T, int, V | None], V]) -> None:
        """Start empty; ``derive`` computes the value from a transaction, a namespace and the previous value.

        The previous value may save work. It must not be modified, because other threads may be using it.
        """
        self._derive = derive
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry[V]] = {}

    def get(self, transaction: T, namespace_id: int) -> V:
        """Return the value for the state that the transaction sees; only one thread at a time derives it.

        While this thread waits for its turn, another thread may cache the value of a later revision. The transaction is
        therefore restarted, so that it sees that revision and can use the value.
        """
        with self._lock:
            entry = self._entries.pop(namespace_id, None) or _Entry()
            self._entries[namespace_id] = entry
            if len(self._entries) > MAX_NAMESPACES:
                del self._entries[next(iter(self._entries))]
        cached = entry.cached
        if cached is not None and cached[0] == transaction.revision(namespace_id):
            return cached[1]
        with entry.lock:
            transaction.restart()
            revision = transaction.revision(namespace_id)
            cached = entry.cached
            if cached is None or cached[0] != revision:
                value = self._derive(transaction, namespace_id, cached[1] if cached else None)
                cached = entry.cached = (revision, value)
            return cached[1]


class NoteCounts(Generic[K]):
    """A cache of how many notes match an expression, for one revision of a namespace. Thread-safe."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._counts: dict[K, int] = {}

    def get(self, expressions: Sequence[K | None], count: Callable[[set[K]], dict[K, int]]) -> list[int]:
        """Return how many notes match each expression (``None``: 0); ``count`` computes the counts that are missing."""
        counts = self._counts
        keys = [expression for expression in expressions if expression is not None]
        missing = {key for key in keys if key not in counts}
        if len(counts) + len(missing) > MAX_COUNTS:
            counts = self._counts = {key: counts[key] for key in keys if key in counts}
        if missing:
            counts |= count(missing)
        return [0 if expression is None else counts[expression] for expression in expressions]
