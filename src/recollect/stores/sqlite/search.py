"""Lexical, vector and name search of one namespace in one transaction, and the FTS5 syntax of queries.

*Lexical search.* A query tree is rendered as an FTS5 expression. FTS5 scores every match by BM25; filters are
conditions on the joined notes. If the namespace has a snapshot of its posting lists, these rank disjunctions of single
terms faster, with the same scores. With filters, posting lists first rank more notes than requested, because the
filters are applied afterwards.

*Vector search.* The vector index selects candidates. Their exact similarities are computed from the table's vectors.

If a search fails because a snapshot is corrupt, it is repeated without the snapshot.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import apsw
import numpy as np

from recollect.errors import StoreError
from recollect.model import Candidate, Filters
from recollect.query import Query, exclusion, expression, render
from recollect.query.expressions import Expression, Semantics
from recollect.query.parser import Kind
from recollect.stores.base import FIELD_WEIGHTS, Model
from recollect.stores.bm25 import Scores
from recollect.stores.name_index import NameIndex
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of, cosine_similarities
from recollect.stores.sql.dialect import NoteCounts
from recollect.stores.sql.tables import ActiveModel, active_model
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.posting_index import PostingsIndex, PostingsView, term_query
from recollect.stores.sqlite.snapshots import SNAPSHOT_ERRORS, Snapshots, SnapshotWorker
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch, filter_conditions, hides_notes
from recollect.stores.sqlite.vector_index import VectorIndex

if TYPE_CHECKING:
    from recollect.stores.base import Vector

OVERFETCH = (4, 32)  # with filters, posting lists rank 4 times as many notes as requested; if too few pass, 32 times
FILTERED_NOTES = 1024  # how many notes with similar names are compared with the filters at a time
MAX_NAMESPACES = 128  # how many recently used namespaces keep their vectors, and their posting lists, in memory
CLOSE_ATTEMPTS = 3  # how many times close() tries to write the snapshots
CLOSE_TIMEOUT = 3.0  # seconds that close() waits for other writers, to rewrite snapshots that have deleted text

_NOTES_BY_ID = "FROM json_each(?) AS ids CROSS JOIN notes AS n ON n.namespace = ? AND n.id = ids.value"
_COLUMNS = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))
_WEIGHTS = ", ".join(map(str, FIELD_WEIGHTS.values()))
_INVALID_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # control characters and lone surrogates

K = TypeVar("K")
T = TypeVar("T")


def render_fts5(query: Query, semantics: Semantics = "strict") -> str:
    """Return a query as an FTS5 expression, which is valid for any text; "" if no note can match."""
    return _render(expression(query, semantics))


def _render(node: Expression | None) -> str:
    """Return the FTS5 expression of a query tree, without the outermost parentheses; "" for no tree."""
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


class _Fts5:
    """Renders a query tree in FTS5 syntax, with every term in quotes, so that any text is valid."""

    def match(self, kind: Kind, text: str) -> str:
        quoted = _INVALID_CHARACTERS.sub(" ", text).replace('"', '""')
        return f'"{quoted}" *' if kind == "prefix" else f'"{quoted}"'

    def any_of(self, parts: Sequence[str]) -> str:
        return f"({' OR '.join(parts)})"

    def all_of(self, parts: Sequence[str]) -> str:
        return f"({' AND '.join(parts)})"

    def without(self, wanted: str, excluded: str) -> str:
        return f"({wanted} NOT {excluded})"


class SearchIndexes:
    """The posting lists and vectors of the namespaces that this process searched last. Thread-safe."""

    def __init__(self, connections: Connections) -> None:
        self.snapshots = Snapshots(connections)
        self.worker = SnapshotWorker(connections)
        self._lock = threading.Lock()
        self._postings: dict[int, PostingsIndex] = {}
        self._vectors: dict[tuple[int, int], VectorIndex] = {}  # by namespace and model

    def postings(self, namespace_id: int) -> PostingsIndex:
        """Return the posting lists of a namespace."""
        with self._lock:
            return _get(self._postings, namespace_id, lambda: PostingsIndex(self.snapshots, namespace_id))

    def vectors(self, namespace_id: int, model_key: int, model: Model) -> VectorIndex:
        """Return the vectors of a namespace for the active model, and drop the indexes of all other models."""
        key = namespace_id, model_key
        with self._lock:
            if any(indexed_model != model_key for _, indexed_model in self._vectors):
                self._vectors = {pair: index for pair, index in self._vectors.items() if pair[1] == model_key}
            return _get(self._vectors, key, lambda: VectorIndex(self.snapshots, *key, model))

    def clear(self) -> None:
        """Drop all indexes."""
        with self._lock:
            self._postings, self._vectors = {}, {}
        self.snapshots.retry_deletions()  # the dropped indexes do not map the files any more

    def write_snapshots(self, namespaces: Collection[str]) -> None:
        """Rewrite the stale snapshots of changed namespaces, given by name, so that they contain no deleted text."""
        if not namespaces:
            return
        self.worker.wait()
        sql = "SELECT key FROM namespaces WHERE name IN (SELECT value FROM json_each(?))"
        with suppress(StoreError):
            for _ in range(CLOSE_ATTEMPTS):  # another process may be faster, with a snapshot of an older revision
                with self.snapshots.connections.reading() as connection:
                    active = active_model(SqliteTransaction(connection))
                    indexes: list[PostingsIndex | VectorIndex] = []
                    for (key,) in fetch(connection, sql, (json.dumps(list(namespaces)),)):
                        indexes.append(self.postings(key))
                        if active:
                            indexes.append(self.vectors(key, *active))
                    stale = [index for index in indexes if index.is_stale(connection)]
                for index in stale:
                    index.write_snapshot(stopped=lambda: False, timeout=CLOSE_TIMEOUT)
                if not stale:
                    break


def _get(indexes: dict[K, T], key: K, create: Callable[[], T]) -> T:
    """Return a cached or new index; if there are too many indexes, drop the least recently used."""
    cached = indexes.pop(key, None)
    index = indexes[key] = create() if cached is None else cached
    if len(indexes) > MAX_NAMESPACES:
        del indexes[next(iter(indexes))]
    return index


class NamespaceSearch(NamedTuple):
    """Searches of one namespace; they may restart the transaction. NOT terms of ``exclusions`` leave notes out."""

    connection: apsw.Connection
    indexes: SearchIndexes
    namespace_id: int

    def search_text(self, query: Query, semantics: Semantics, limit: int, filters: Filters) -> list[Candidate]:
        """Return the best ``limit`` notes by BM25; ties by path, then id."""
        node = expression(query, semantics)
        if node is None or limit <= 0:
            return []
        terms = term_query(node)
        if terms is not None:
            candidates = self._with_postings(lambda view: self._search_postings(view, terms, limit, filters))
            if candidates is not None:
                return candidates
        return self.search_fts5(_render(node), limit, filters)

    def text_scores(self, query: Query, semantics: Semantics, ids: Sequence[str]) -> dict[str, float]:
        """Return the scores, as in ``search_text``, of those notes with these ids that match."""
        node = expression(query, semantics)
        if node is None or not ids:
            return {}
        terms = term_query(node)
        if terms is not None:
            # Taking the view restarts the transaction, so the keys of the ids are read after that.
            scores = self._with_postings(lambda view: view.scores(terms, self._ids_by_key(ids)))
            if scores is not None:
                return scores
        return self.fts5_scores(_render(node), self._ids_by_key(ids))

    def document_frequencies(self, queries: Sequence[Query]) -> tuple[int, list[int]] | None:
        """Return the number of notes, and the number of matches of each query, from posting lists.

        Return ``None`` if there are no posting lists, or if a query is not a single term.
        """
        terms = []
        for node in map(expression, queries):
            query_terms = [""] if node is None else term_query(node)
            if query_terms is None or len(query_terms) != 1:
                return None
            terms += query_terms
        return self._with_postings(lambda view: (view.notes, [view.document_frequency(term) for term in terms]))

    def count_matches(self, queries: Sequence[Query], counts: NoteCounts[str]) -> tuple[int, list[int]]:
        """Return the number of notes, and the number of matches of each query, from FTS5; ``counts`` caches them."""
        sql = f"SELECT count(*) FROM {self._table} WHERE {self._table} MATCH ?"  # noqa: S608 (only a number varies)
        return counts.total, counts.get(
            [render_fts5(query) or None for query in queries],
            lambda expressions: {match: self.connection.execute(sql, (match,)).get for match in expressions},
        )

    def search_vectors(
        self, active: ActiveModel, vector: Vector, limit: int, filters: Filters, exclusions: Query | None = None
    ) -> list[Candidate]:
        """Return the ``limit`` notes with the nearest vectors, by exact search; ties by path, then id."""
        conditions = self._conditions(filters, exclusions)
        index = self.indexes.vectors(self.namespace_id, *active)
        try:
            candidates = self._search_vectors(index, active.model, vector, limit, *conditions)
        except SNAPSHOT_ERRORS:
            if not index.drop_if_corrupt():
                raise
            candidates = self._search_vectors(index, active.model, vector, limit, *conditions)
        if index.needs_snapshot:
            self.indexes.worker.start(index)
        return candidates

    def search_names(
        self, index: NameIndex, words: Sequence[str], limit: int, filters: Filters, exclusions: Query | None
    ) -> list[Candidate]:
        """Return the notes with the names most similar to one of ``words``; ``index`` is of the current revision."""
        keys, similarities = index.most_similar(words)
        scores = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
        conditions, values = self._conditions(filters, exclusions)
        sql = f"SELECT n.key FROM notes AS n WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}"  # noqa: S608 (fixed names)
        best: list[int] = []
        for start in range(0, len(keys), FILTERED_NOTES):
            batch = keys[start : start + FILTERED_NOTES].tolist()
            passing = {key for (key,) in fetch(self.connection, sql, (json.dumps(batch), *values))}
            best += (key for key in batch if key in passing)
            if len(best) >= limit:
                break
        candidates = self._read_candidates(best[:limit])
        for rank, key in enumerate(best[:limit], start=1):
            candidates[key].lexical_rank = rank
            candidates[key].lexical_score = candidates[key].score = scores[key]
        return [candidates[key] for key in best[:limit]]

    def select_candidates(self, ids: Sequence[str], filters: Filters, exclusions: Query | None) -> list[Candidate]:
        """Return those notes with these ids that pass the filters, in the order of the ids."""
        conditions, values = self._conditions(filters, exclusions)
        sql = f"SELECT {_COLUMNS} {_NOTES_BY_ID} WHERE 1 {conditions} ORDER BY ids.key"
        return [candidate_of(row) for row in self.connection.execute(sql, (*self._bind(ids), *values))]

    def similarities(self, active: ActiveModel, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the similarities of the notes with these ids to a vector, by id, as in ``search_vectors``."""
        sql = f"SELECT n.id, v.vector {_NOTES_BY_ID} JOIN vectors AS v ON v.note = n.key AND v.model = ?"
        rows = fetch(self.connection, sql, (*self._bind(ids), active.key))
        scores = cosine_similarities([blob for _, blob in rows], active.model, vector.astype(np.float64))
        return dict(zip((note_id for note_id, _ in rows), scores.tolist(), strict=True))

    def search_fts5(self, match: str, limit: int, filters: Filters) -> list[Candidate]:
        """Return the best ``limit`` notes by BM25 for an FTS5 expression; ties by path, then id."""
        conditions, values = filter_conditions(filters)
        table = self._table
        needs_notes = conditions or hides_notes(self.connection)
        join = f"JOIN notes AS n ON n.key = {table}.rowid" if needs_notes else ""
        rows = self.connection.execute(
            f"""
            WITH matches AS MATERIALIZED (
                SELECT {table}.rowid AS note, bm25({table}, {_WEIGHTS}) AS score
                FROM {table} {join} WHERE {table} MATCH ? {conditions}
            ),
            -- The score of the last result, so that only notes which are not worse are read.
            threshold AS (SELECT score FROM matches ORDER BY score LIMIT 1 OFFSET ?)
            SELECT score, {CANDIDATE_COLUMNS} FROM matches JOIN notes ON key = note
            WHERE score <= coalesce((SELECT score FROM threshold), score)
            ORDER BY score, coalesce(path, ''), id LIMIT ?
            """,  # noqa: S608 (only the number in the table's name varies)
            (match, *values, limit - 1, limit),
        )
        candidates = []
        for rank, (score, *row) in enumerate(rows, start=1):
            candidate = candidate_of(row)
            candidate.lexical_rank = rank
            candidate.lexical_score = candidate.score = -score  # FTS5 scores are negative: lower is better
            candidates.append(candidate)
        return candidates

    def fts5_scores(self, match: str, ids: Mapping[int, str]) -> dict[str, float]:
        """Return the ``search_fts5`` scores of matching notes, by id; ``ids`` maps the keys of notes to their ids."""
        # Without the plus sign FTS5 would run the whole query again for each key.
        rows = self.connection.execute(
            f"SELECT rowid, bm25({self._table}, {_WEIGHTS}) FROM {self._table} "  # noqa: S608 (only a number varies)
            f"WHERE {self._table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
            (match, json.dumps(list(ids))),
        )
        return {ids[key]: -score for key, score in rows}

    def _with_postings(self, search: Callable[[PostingsView], T | None]) -> T | None:
        """Return the result of ``search``; ``None`` if there are no posting lists, or their snapshot is corrupt."""
        index = self.indexes.postings(self.namespace_id)
        try:
            view = index.view(self.connection)
            if index.needs_snapshot:
                self.indexes.worker.start(index)
            return None if view is None else search(view)
        except SNAPSHOT_ERRORS:
            if not index.drop_if_corrupt():
                raise
            return None

    def _search_postings(
        self, view: PostingsView, terms: Sequence[str], limit: int, filters: Filters
    ) -> list[Candidate] | None:
        """Return the best ``limit`` notes by BM25, as ``search_fts5`` does.

        With filters or hidden notes, more notes are ranked than requested, until enough of them pass. Return ``None``
        if too few pass: then FTS5 is faster.
        """
        conditions, values = filter_conditions(filters)
        for factor in OVERFETCH if conditions or hides_notes(self.connection) else (1,):
            best = view.search(terms, factor * limit)
            scores = dict(zip(best.notes.tolist(), best.scores.tolist(), strict=True))
            by_key = self._read_candidates(list(scores), conditions, values)
            has_all_matches = len(scores) < factor * limit
            if len(by_key) >= limit or has_all_matches:
                break
        else:
            return None
        for key, candidate in by_key.items():
            candidate.lexical_score = candidate.score = scores[key]
        candidates = sorted(by_key.values(), key=_sort_key)[:limit]
        for rank, candidate in enumerate(candidates, start=1):
            candidate.lexical_rank = rank
        return candidates

    def _search_vectors(
        self, index: VectorIndex, model: Model, vector: Vector, limit: int, conditions: str, values: Sequence[Any]
    ) -> list[Candidate]:
        """Return the ``limit`` nearest notes that meet the conditions; a corrupt snapshot may raise an error."""
        view = index.view(self.connection)
        allowed_keys = None
        if conditions:
            keys = self.connection.execute(
                "SELECT v.key FROM notes AS n JOIN vectors AS v ON v.note = n.key "  # noqa: S608 (fixed conditions)
                f"WHERE n.namespace = ? {conditions} ORDER BY v.key",
                (self.namespace_id, *values),
            )
            allowed_keys = np.fromiter((key for (key,) in keys), dtype=np.int64)
        while True:
            candidate_keys = view.search(vector, limit, allowed_keys)
            rows = fetch(
                self.connection,
                f"SELECT v.key, v.vector, {_COLUMNS} FROM vectors AS v JOIN notes AS n ON n.key = v.note "  # noqa: S608 (fixed names)
                "WHERE v.key IN (SELECT value FROM json_each(?)) ORDER BY v.key",
                (json.dumps(candidate_keys),),
            )
            if len(rows) == len(candidate_keys):
                break
            deleted_keys = {*candidate_keys}.difference(row[0] for row in rows)
            if deleted_keys <= view.tombstones:  # a view returns its tombstones only if the snapshot is corrupt
                view = index.rebuild(self.connection)
                continue
            index.mark_deleted(deleted_keys)
            view = view.without(deleted_keys)
        similarities = cosine_similarities([row[1] for row in rows], model, vector.astype(np.float64))
        best = Scores(np.arange(len(rows)), similarities).best(limit)
        candidates = []
        for index_in_rows, score in zip(best.notes.tolist(), best.scores.tolist(), strict=True):
            candidate = candidate_of(rows[index_in_rows][2:])
            candidate.vector_similarity = candidate.score = score
            candidates.append(candidate)
        candidates = sorted(candidates, key=_sort_key)[:limit]
        for rank, candidate in enumerate(candidates, start=1):
            candidate.vector_rank = rank
        return candidates

    @property
    def _table(self) -> str:
        return f"words_{self.namespace_id}"

    def _conditions(self, filters: Filters, exclusions: Query | None) -> tuple[str, list[Any]]:
        """Return the SQL conditions of the filters and of the NOT terms of ``exclusions``, and their parameters."""
        conditions, values = filter_conditions(filters)
        excluded = _render(exclusion(exclusions)) if exclusions else ""
        if excluded:
            matches = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ?"  # noqa: S608 (only a number varies)
            conditions += f" AND n.key NOT IN ({matches})"
            values.append(excluded)
        return conditions, values

    def _read_candidates(
        self, keys: Sequence[int], conditions: str = "", values: Sequence[Any] = ()
    ) -> dict[int, Candidate]:
        """Return those notes with these keys that meet the SQL conditions, by key."""
        sql = f"SELECT n.key, {_COLUMNS} FROM notes AS n WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}"  # noqa: S608 (fixed names)
        rows = fetch(self.connection, sql, (json.dumps(keys), *values))
        return {key: candidate_of(row) for key, *row in rows}

    def _ids_by_key(self, ids: Sequence[str]) -> dict[int, str]:
        return dict(self.connection.execute(f"SELECT n.key, n.id {_NOTES_BY_ID}", self._bind(ids)))

    def _bind(self, ids: Iterable[str]) -> tuple[str, int]:
        """Return the parameters of ``_NOTES_BY_ID``."""
        return json.dumps(list(dict.fromkeys(ids))), self.namespace_id


def _sort_key(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.score, candidate.path, candidate.id
