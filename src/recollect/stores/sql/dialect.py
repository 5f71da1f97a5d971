"""Neutral SQL: statements that are translated for both engines, and the transaction that runs them.

A statement is written once, in the SQL that both engines know, with these additions:

======================== =========================================== ==========================
neutral                  SQLite                                      PostgreSQL
======================== =========================================== ==========================
``:name``                ``:name``                                   ``%(name)s``
``IN LIST(:keys)``       ``IN (SELECT value FROM json_each(:keys))`` ``= ANY (%(keys)s)``
``LOOKUP(id)``           ``id``                                      ``id_mark``
``LOOKUP(:id)``          ``:id``                                     ``%(id)s``, hashed
``IN LOOKUP_LIST(:ids)`` as ``IN LIST``                              as ``IN LIST``, hashed
``STRAIGHT_JOIN``        ``CROSS JOIN``                              ``JOIN``
``visible_notes``        ``notes``                                   ``living``
======================== =========================================== ==========================

PostgreSQL looks long texts up by a hash of sixteen bytes, because a row of its indexes has no space for them.
``LOOKUP(+kind)`` keeps SQLite from using the index of that column. ``STRAIGHT_JOIN`` reads its left side first, as in
MySQL; PostgreSQL's planner needs no hint. ``visible_notes`` are those that have not expired.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
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
    r"IN (?P<hashed>LOOKUP_)?LIST\(:(?P<list>\w+)\)"
    r"|LOOKUP\(:(?P<lookup>\w+)\)"
    r"|LOOKUP\((?P<hint>\+?)(?P<column>[\w.]+)\)"
    r"|(?<![:\w]):(?P<name>\w+)"
    r"|(?P<word>\bSTRAIGHT_JOIN\b|\bvisible_notes\b|%)"
)


class Statement(NamedTuple):
    """A statement in the SQL of one engine, and the names of its ``LOOKUP`` parameters."""

    sql: str
    lookups: frozenset[str]


class Dialect(NamedTuple):
    """The SQL of one engine where the engines differ."""

    parameter: str
    in_list: str
    column: Callable[[str, str], str]
    """Maps the column of ``LOOKUP(column)``, and its hint ``+`` or "", to the SQL of the indexed column."""
    replacements: Mapping[str, str]
    """The SQL for keywords such as ``STRAIGHT_JOIN``."""
    list_value: Callable[[Sequence[Any]], Any]
    lookup_value: Callable[[str], Any]
    statements: dict[str, Statement]
    """The cache of rendered statements."""

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

        def rendered(token: re.Match[str]) -> str:
            if token["hashed"] or token["lookup"]:
                lookups.add(token["list"] or token["lookup"])
            if token["list"]:
                return self.in_list.format(token["list"])
            if token["column"]:
                return self.column(token["column"], token["hint"])
            if token["word"]:
                return self.replacements[token["word"]]
            return self.parameter.format(token["lookup"] or token["name"])

        return Statement(_TOKEN.sub(rendered, sql), frozenset(lookups))


class VectorRows(NamedTuple):
    """The vectors of a note's chunks, at unit length, to be written."""

    note: int
    namespace: int
    digest: bytes
    """The digest of the embedded text."""
    rows: NDArray[float32]


class SqlTransaction(Protocol):
    """An open transaction: runs neutral SQL, and has the few statements that the engines do not share."""

    first_chunk: ClassVar[str] = "true"
    """The condition that a row of ``vectors AS v`` is that of a note's first chunk."""

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
        """Return the first column of the first row of a neutral query, ``None`` where it has no row."""
        rows = self.fetch(sql, **params)
        return rows[0][0] if rows else None

    def fetch_column(self, sql: str, **params: Any) -> list[Any]:
        """Return the first column of a neutral query."""
        return [row[0] for row in self.fetch(sql, **params)]

    def fetch_dict(self, sql: str, **params: Any) -> dict[Any, Any]:
        """Return the two columns of a neutral query as a dictionary."""
        return {key: value for key, value in self.fetch(sql, **params)}  # noqa: C416 (rows have any length for mypy)

    def fetch_together(self, queries: Iterable[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        """Return the rows of several queries, which do not depend on each other."""
        return [self.fetch(sql, **params) for sql, params in queries]

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        conflict: str = "",
        returning: str = "",
    ) -> list[Row]:
        """Insert rows and return the columns ``returning`` of each.

        ``conflict`` is what to do if a row exists already, such as ``NOTHING``; without it, that is an error.
        """

    def namespace_id(self, name: str) -> int | None:
        """Return the key of a namespace, ``None`` if nothing was ever stored in it."""

    def ensure_namespace(self, name: str) -> int:
        """Return the key of a namespace; create it if it is new."""

    def revision(self, namespace_id: int) -> int:
        """Return the revision of a namespace: it grows whenever a name or term in it changes."""
        number: int = self.fetch_value("SELECT revision FROM namespaces WHERE key = :key", key=namespace_id)
        return number

    def restart(self) -> None:
        """Restart a reading transaction, if the engine can, so that it sees what others wrote."""
        return  # PostgreSQL keeps its snapshot

    def hides_notes(self) -> bool:
        """Return whether there may be expired notes that ``visible_notes`` leaves out."""
        return True

    def note_keys_after(self, cursor: int, limit: int, namespace_id: int | None, filters: Filters) -> list[int]:
        """Return the next keys of visible notes that pass the filters, in their order."""

    def touch_notes(self, namespace_id: int, accessed: Mapping[str, int]) -> int:
        """Set the last access times of notes, by id, where they are later than the stored ones; return the number."""

    def new_keys(self, limit: int) -> Iterator[int]:
        """Yield at most ``limit`` keys for new notes, higher than all earlier ones."""

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
        """Return the visible notes that link targets refer to: by id, by path, both also with ``.md``, or by name.

        A name is the last part of a path; of several notes the one with the shortest path is chosen.
        """

    def adjacent_notes(self, notes: Sequence[int], distance: int) -> tuple[list[Row], list[Row]]:
        """Return pairs of a note and a previous note of its session, nearest first, and pairs with the next notes."""

    def superseding_pairs(
        self, namespace_id: int, ids: Sequence[str], created_before: int, limit: int
    ) -> Iterable[Row]:
        """Return pairs of a superseded note and one that supersedes it, along the chains of these notes."""

    def index_state(self, namespace_id: int) -> tuple[int, bool, bool]:
        """Return the revision of a namespace, whether its lexical index has notes, and whether it has titles."""

    def indexed_terms(self, namespace_id: int) -> Iterable[str]:
        """Return the terms of the lexical index of a namespace."""

    def titles_starting_with(self, namespace_id: int, runs: Sequence[str]) -> Iterable[Row]:
        """Return the runs (sequences of stems) that a title starts with.

        Each row has the run, the stems of the last title in sort order that starts with it, and the key and words of a
        title that equals the run and is not too common, or ``None``.
        """

    def notes_containing(
        self, namespace_id: int, titles: Mapping[int, Title], exclude: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        """Return for each title, by key, the indexed notes whose summary or content contains its stems.

        ``exclude`` has the notes that are being written. For a title that more than ``limit`` notes contain, more than
        ``limit`` notes are returned, but not necessarily all.
        """

    def lock_models(self) -> None:
        """Let no other transaction add a model until this one ends."""

    def lock_texts(self, notes: Sequence[int] | None) -> None:
        """Let no other transaction change the texts of these notes (``None``: of any note) until this one ends."""

    def insert_vectors(self, model_key: int, model: Model, vectors: Sequence[VectorRows]) -> None:
        """Insert vectors of notes that have none of this model yet."""

    def stored_vectors(self, model_key: int, notes: Sequence[tuple[str, str, bytes]]) -> Mapping[int, bytes]:
        """Return the vectors of notes, given by namespace, id and digest of their text, by position in ``notes``."""


MAX_NAMESPACES = 256
"""The maximum number of cached namespaces: a server may have one for each person."""
MAX_COUNTS = 10_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T", bound=SqlTransaction)


class _Entry(Generic[V]):
    """The revision and the value of one namespace, and the lock of the thread that derives it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cached: tuple[int, V] | None = None


class RevisionCache(Generic[T, V]):
    """A cache of one derived value for each recently used namespace, valid for one revision of the namespace.

    The revision is read in the transaction of the search, so that a cached value is used only if it was derived from
    the same state that the search sees.
    """

    def __init__(self, derive: Callable[[T, int, V | None], V]) -> None:
        """Start empty.

        ``derive`` computes the value from a transaction and a namespace. It also gets the previous value, which may
        save work and must not be modified, because other threads may be using it.
        """
        self._derive = derive
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry[V]] = {}

    def get(self, transaction: T, namespace_id: int) -> V:
        """Return the value for the state that the transaction sees; one thread derives it at a time.

        If the value is not cached, the transaction is restarted.
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
            # Another thread may have derived it meanwhile, from a later state than this transaction saw.
            transaction.restart()
            revision = transaction.revision(namespace_id)
            cached = entry.cached
            if cached is None or cached[0] != revision:
                value = self._derive(transaction, namespace_id, cached[1] if cached else None)
                cached = entry.cached = (revision, value)
            return cached[1]


class NoteCounts(Generic[K]):
    """A cache of how many notes of a namespace match an expression, at one revision. Thread-safe."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._counts: dict[K, int] = {}

    def get(self, expressions: Sequence[K | None], count: Callable[[set[K]], dict[K, int]]) -> list[int]:
        """Return how many notes match each expression (``None``: 0); ``count`` is called for those not cached."""
        counts = self._counts
        missing = {node for node in expressions if node is not None and node not in counts}
        if len(counts) + len(missing) > MAX_COUNTS:
            counts = self._counts = {node: counts[node] for node in expressions if node is not None and node in counts}
        if missing:
            counts |= count(missing)
        return [0 if node is None else counts[node] for node in expressions]
