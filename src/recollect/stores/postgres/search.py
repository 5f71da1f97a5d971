"""Lexical and vector search of one namespace in one transaction.

Vector search compares all vectors of a namespace, or those that an HNSW index returns. The server compares in half
precision, whose error is bounded: every note that can be among the nearest is scored again in float64, so that a score
depends on the two vectors alone. A note has one row for each chunk; its similarity is that of its best chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from psycopg import Connection

from recollect.model import Candidate, Filters
from recollect.query import Query, parse
from recollect.query.expressions import Expression, Match, Semantics, expression
from recollect.stores import tokens
from recollect.stores.base import Model
from recollect.stores.bm25 import Scores
from recollect.stores.postgres.filters import candidate_conditions, filter_conditions
from recollect.stores.postgres.postings import Postings, ScoreCache, count_matches
from recollect.stores.postgres.text import lookup_hash
from recollect.stores.postgres.vector_index import VectorIndexes, halfvec
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of, cosine_similarity, rows_of
from recollect.stores.spelling import SPELLING_CHARACTERS, SPELLING_NOTES
from recollect.stores.sql.tables import ActiveModel

if TYPE_CHECKING:
    from recollect.stores.base import Vector

NOTE_COLUMNS = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))
"""The columns of a candidate, of ``living AS n``."""
FILTERED_NOTES = 1024
"""How many of the best notes are read first if there are filters."""
_DEPTH_FACTOR = 4
HALF_PRECISION_ERROR = 0.0025
"""An upper bound of the difference of two half-precision dot products of unit vectors: four roundings by 2**-11."""
MAX_INDEX_RESULTS = 1000


def candidates_by_key(connection: Connection, keys: Sequence[int]) -> dict[int, Candidate]:
    """Return visible notes by their keys, in any order."""
    rows = connection.execute(
        f"SELECT n.key, {NOTE_COLUMNS} FROM living AS n WHERE n.key = ANY (%s::bigint[])",  # noqa: S608 (fixed names)
        [keys],
    )
    return {key: candidate_of(row) for key, *row in rows}


class NamespaceSearch(NamedTuple):
    """Searches of one namespace on a connection in a read transaction."""

    connection: Connection
    namespace_id: int
    scores: ScoreCache
    indexes: VectorIndexes

    def search_text(self, query: Query, semantics: Semantics, limit: int, filters: Filters) -> list[Candidate]:
        """Return the best notes by BM25; ties by path, then id."""
        node = expression(query, semantics)
        if node is None:
            return []
        candidates = []
        rows = self._best(self.scores.scores(self.connection, self.namespace_id, node), limit, filters)
        for rank, (score, *row) in enumerate(rows, start=1):
            candidate = candidate_of(row)
            candidate.lexical_rank = rank
            candidate.lexical_score = candidate.score = score
            candidates.append(candidate)
        return candidates

    def _best(self, scores: Scores, limit: int, filters: Filters) -> list[tuple[Any, ...]]:
        """Read notes in the order of their scores until enough pass the filters and have not expired.

        Each step reads all notes of equal score, so that no tie is split between two steps.
        """
        conditions, values = filter_conditions(filters)
        depth = max(limit, FILTERED_NOTES) if filters else limit
        best: list[tuple[Any, ...]] = []
        read = 0
        while read < len(scores.notes) and len(best) < limit:
            notes, points = scores.best(depth)
            best += self.connection.execute(
                f"SELECT scored.score, {NOTE_COLUMNS} FROM unnest(%s::bigint[], %s::float8[]) AS scored (key, score) "  # noqa: S608 (fixed names)
                f"JOIN living AS n ON n.key = scored.key WHERE true {conditions} "
                "ORDER BY scored.score DESC, coalesce(n.path, ''), n.id LIMIT %s",
                [notes[read:].tolist(), points[read:].tolist(), *values, limit - len(best)],
            )
            read = len(notes)
            depth *= _DEPTH_FACTOR
        return best

    def text_scores(self, query: Query, semantics: Semantics, ids: Sequence[str]) -> dict[str, float]:
        """Return the ``search_text`` scores of the notes with these ids that match."""
        node = expression(query, semantics)
        if node is None:
            return {}
        rows: list[tuple[int, str]] = self.connection.execute(
            "SELECT key, id FROM living WHERE namespace = %s AND id_mark = ANY (%s::bytea[]) ORDER BY key",
            [self.namespace_id, list(map(lookup_hash, ids))],
        ).fetchall()
        if not rows:
            return {}
        notes, scores = self.scores.scores(self.connection, self.namespace_id, node)
        keys = np.array([key for key, _ in rows], np.int64)
        _, selected, matching = np.intersect1d(keys, notes, assume_unique=True, return_indices=True)
        return {rows[row][1]: score for row, score in zip(selected.tolist(), scores[matching].tolist(), strict=True)}

    def note_counts(self, queries: Sequence[Query]) -> tuple[int, list[int]]:
        """Return the number of notes, including expired ones, and how many of them match each query."""
        nodes = [expression(query) for query in queries]
        ((total,),) = self.connection.execute("SELECT notes FROM namespaces WHERE key = %s", [self.namespace_id])
        counts = count_matches(self.connection, self.namespace_id, {node for node in nodes if node is not None})
        return total, [0 if node is None else counts[node] for node in nodes]

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a folded word."""
        return self._matches(Match("term", word))

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a note."""
        node = expression(parse(text))
        return node is not None and self._matches(node)

    def _matches(self, node: Expression) -> bool:
        return bool(self._best(self.scores.scores(self.connection, self.namespace_id, node), 1, Filters()))

    def spellings(self, stem: str) -> Counter[str]:
        """Count the spellings of a stem in the first notes that contain it."""
        blocks = self.connection.execute(
            _FIRST_BLOCKS, [self.namespace_id, stem, SPELLING_NOTES], binary=True
        ).fetchall()
        notes = Postings.of_blocks(blocks).notes[:SPELLING_NOTES].tolist()
        rows = self.connection.execute(_FIELDS, [notes])
        texts = (tokens.indexed(field) for row in rows for field in row if field)
        matching = islice((text for text in texts if stem in tokens.stems_of(text)), SPELLING_NOTES)
        return Counter(
            word for text in matching for _, word in tokens.spellings_of(text[:SPELLING_CHARACTERS], (stem,))
        )

    def select_candidates(self, ids: Sequence[str], filters: Filters, without: Query | None) -> list[Candidate]:
        """Return the notes with these ids, in their order, without those that have a term that ``without`` excludes."""
        conditions, values = candidate_conditions(self.connection, self.namespace_id, filters, without)
        rows = self.connection.execute(
            f"SELECT {NOTE_COLUMNS} FROM living AS n "  # noqa: S608 (fixed names)
            f"WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) {conditions}",
            [self.namespace_id, list(map(lookup_hash, ids)), *values],
        )
        candidates = {row[0]: candidate_of(row) for row in rows}
        return [candidates[note_id] for note_id in dict.fromkeys(ids) if note_id in candidates]

    def similarities(self, active: ActiveModel, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the similarities of the notes with these ids to a unit vector, as ``search_vectors`` computes them."""
        rows = self.connection.execute(
            "SELECT n.id, string_agg(v.vector, ''::bytea ORDER BY v.piece) FROM living AS n "
            "JOIN vectors AS v ON v.note = n.key AND v.model = %s "
            "WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) GROUP BY n.id",
            [active.key, self.namespace_id, list(map(lookup_hash, ids))],
            binary=True,
        )
        query = vector.astype(np.float64)
        return {note: cosine_similarity(rows_of(blob, active.model), query) for note, blob in rows}

    def search_vectors(
        self, active: ActiveModel, vector: Vector, limit: int, filters: Filters, without: Query | None
    ) -> list[Candidate]:
        """Return the notes with the nearest vectors to a unit vector; ties by path, then id."""
        conditions = candidate_conditions(self.connection, self.namespace_id, filters, without)
        search = _VectorSearch(self.connection, self.namespace_id, active, vector, *conditions)
        ef_search = self.indexes.ef_search(self.connection, self.namespace_id, active)
        results = search.by_index(limit, ef_search) if ef_search else None
        best = sorted(search.by_scan(limit) if results is None else results)[:limit]
        candidates = candidates_by_key(self.connection, [key for *_, key in best])
        for rank, (distance, *_, key) in enumerate(best, start=1):
            candidates[key].vector_rank = rank
            candidates[key].vector_similarity = candidates[key].score = -distance
        return [candidates[key] for *_, key in best]


_Result = tuple[float, str, str, int]
"""Negative similarity, path, id and key of a note, so that the nearest sort first."""


class _VectorSearch(NamedTuple):
    """A search among the notes of a namespace that pass conditions."""

    connection: Connection
    namespace_id: int
    active: ActiveModel
    vector: Vector
    conditions: str
    values: list[Any]

    def by_scan(self, limit: int) -> list[_Result]:
        """Return all notes that pass the conditions and can be among the nearest ``limit``."""
        joined, conditions = "JOIN living AS n ON n.key = v.note", self.conditions
        if not conditions:
            joined, conditions = "", _NOT_EXPIRED
        rows = self.connection.execute(
            f"""
            WITH near AS MATERIALIZED (
                SELECT note, min(distance) AS distance FROM (
                    SELECT v.note, v.near <#> %s::halfvec AS distance FROM vectors AS v {joined}
                    WHERE v.namespace = %s AND v.model = %s {conditions} OFFSET 0  -- drops the vectors here
                ) AS chunks GROUP BY note
            ),
            edge AS (SELECT distance FROM near ORDER BY distance LIMIT 1 OFFSET %s)
            SELECT note FROM near
            WHERE distance <= coalesce((SELECT distance FROM edge), 'infinity') + {HALF_PRECISION_ERROR}
            """,  # noqa: S608 (fixed conditions and numbers)
            [vector_literal(self.vector), self.namespace_id, self.active.key, *self.values, limit - 1],
        )
        return self._rescore([note for (note,) in rows])

    def by_index(self, limit: int, ef_search: int) -> list[_Result] | None:
        """Return the nearest notes by the HNSW index; ``None`` if too few of its results pass the conditions."""
        depth = max(2 * limit, ef_search)
        while depth <= MAX_INDEX_RESULTS:
            results = self._search_index(depth)
            if len(results) >= limit:
                return results
            depth = 2 * depth * limit // max(1, len(results))
        return None

    def _search_index(self, depth: int) -> list[_Result]:
        with self.connection.pipeline():
            self.connection.execute(_SEARCH_SETTINGS, [str(depth)])
            rows = self.connection.execute(
                index_query(*self.active), [self.namespace_id, vector_literal(self.vector), depth]
            )
            self.connection.execute("SELECT set_config('enable_sort', 'on', true)")
        return self._rescore([note for (note,) in rows])

    def _rescore(self, keys: Sequence[int]) -> list[_Result]:
        """Return the exact similarities, in float64, of the notes that pass the conditions."""
        rows = self.connection.execute(
            f"""
            SELECT n.key, coalesce(n.path, ''), n.id, string_agg(v.vector, ''::bytea ORDER BY v.piece)
            FROM living AS n JOIN vectors AS v ON v.note = n.key AND v.model = %s
            WHERE n.key = ANY (%s::bigint[]) {self.conditions} GROUP BY n.key, n.path, n.id
            """,  # noqa: S608 (fixed conditions)
            [self.active.key, keys, *self.values],
            binary=True,
        )
        query, model = self.vector.astype(np.float64), self.active.model
        return [(-cosine_similarity(rows_of(blob, model), query), path, note, key) for key, path, note, blob in rows]


def vector_literal(vector: Vector) -> str:
    """Return a vector as pgvector parses it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def index_query(key: int, model: Model) -> str:
    """Return the SQL that searches the HNSW index of a model; its values are namespace, vector and limit."""
    near, query = halfvec("near", model), halfvec("%s", model)
    return f"SELECT note FROM vectors WHERE model = {key:d} AND namespace = %s ORDER BY {near} <#> {query} LIMIT %s"  # noqa: S608 (fixed names)


_FIRST_BLOCKS = "SELECT block, list FROM postings WHERE namespace = %s AND term = %s ORDER BY block LIMIT %s"

_FIELDS = "SELECT path, title, summary, tags, content FROM notes WHERE key = ANY (%s::bigint[]) ORDER BY key"

# Excluding the few expired notes is faster than joining all others.
_NOT_EXPIRED = """AND v.note NOT IN (
    SELECT key FROM notes WHERE expires_at <= (SELECT current_setting('recollect.now')::bigint)
)"""

# The planner lacks statistics of a table that has just grown, and would sort a whole namespace.
_SEARCH_SETTINGS = """
SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('enable_sort', 'off', true)
"""
