"""Lexical and vector search of one namespace in one transaction.

Vector search compares the query with all vectors of a namespace, or with the vectors that an HNSW index returns. The
server computes similarities in half precision. Every note that may be among the nearest, given the largest rounding
error, is then scored in float64, so that scan and index give a note the same score. The table ``vectors`` has a row for
each chunk: ``piece`` is the number of the chunk, ``near`` its vector in half precision. A note's similarity is that of
its best chunk. ``living`` has the visible notes, which have not expired. A column ``…_mark`` has the lookup hash of a
text.
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
from recollect.stores.postgres.vector_index import SEARCH_SETTINGS, VectorIndexes, halfvec
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of, cosine_similarity, vectors_in
from recollect.stores.spelling import SPELLING_CHARACTERS, SPELLING_NOTES
from recollect.stores.sql.tables import ActiveModel

if TYPE_CHECKING:
    from recollect.stores.base import Vector

NOTE_COLUMNS = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))
"""The columns of a candidate, to select from ``living AS n``."""
FILTERED_NOTES = 1024  # how many of the best notes lexical search reads first if there are filters
_DEPTH_FACTOR = 4  # each further read goes this many times as deep into the ranking as the one before
# An upper bound of the error when two dot products are compared. Each product has two unit vectors. Half precision
# changes each of these four vectors by at most 2**-11 of its length, together 4 * 2**-11 < 0.002; the rest is a margin.
HALF_PRECISION_ERROR = 0.0025
MAX_INDEX_RESULTS = 1000
"""The maximum number of rows that one search of the HNSW index returns, which is the maximum of ``hnsw.ef_search``."""


def candidates_by_key(connection: Connection, keys: Sequence[int]) -> dict[int, Candidate]:
    """Return the visible notes among ``keys`` as candidates, by key; their order is undefined."""
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
        """Return the best notes by BM25; ties are ordered by path, then id."""
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
        """Return a row for each of the best visible notes that pass the filters: its score and the candidate columns.

        Notes are read in the order of their scores, in steps of growing size, until ``limit`` notes pass. A step reads
        all notes that tie with its last note, so that ties are ordered correctly.
        """
        conditions, values = filter_conditions(filters)
        depth = max(limit, FILTERED_NOTES) if filters else limit
        best_rows: list[tuple[Any, ...]] = []
        read_count = 0
        while read_count < len(scores.notes) and len(best_rows) < limit:
            notes, note_scores = scores.best(depth)
            best_rows += self.connection.execute(
                f"SELECT scored.score, {NOTE_COLUMNS} FROM unnest(%s::bigint[], %s::float8[]) AS scored (key, score) "  # noqa: S608 (fixed names)
                f"JOIN living AS n ON n.key = scored.key WHERE true {conditions} "
                "ORDER BY scored.score DESC, coalesce(n.path, ''), n.id LIMIT %s",
                [notes[read_count:].tolist(), note_scores[read_count:].tolist(), *values, limit - len(best_rows)],
            )
            read_count = len(notes)
            depth *= _DEPTH_FACTOR
        return best_rows

    def text_scores(self, query: Query, semantics: Semantics, ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of ``search_text``, by id, for the notes with these ids that match the query."""
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
        _, row_indices, score_indices = np.intersect1d(keys, notes, assume_unique=True, return_indices=True)
        ids_found = [rows[index][1] for index in row_indices.tolist()]
        return dict(zip(ids_found, scores[score_indices].tolist(), strict=True))

    def note_counts(self, queries: Sequence[Query]) -> tuple[int, list[int]]:
        """Return the number of notes of the namespace, and how many match each query. Expired notes are counted."""
        nodes = [expression(query) for query in queries]
        ((total,),) = self.connection.execute("SELECT notes FROM namespaces WHERE key = %s", [self.namespace_id])
        counts = count_matches(self.connection, self.namespace_id, {node for node in nodes if node is not None})
        return total, [0 if node is None else counts[node] for node in nodes]

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a word, given in lower case without accents."""
        return self._matches(Match("term", word))

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a note."""
        node = expression(parse(text))
        return node is not None and self._matches(node)

    def _matches(self, node: Expression) -> bool:
        """Return whether a visible note matches an expression."""
        return bool(self._best(self.scores.scores(self.connection, self.namespace_id, node), 1, Filters()))

    def spellings(self, stem: str) -> Counter[str]:
        """Return how often each word with this stem occurs in the first note fields that contain the stem."""
        blocks = self.connection.execute(
            _FIRST_BLOCKS, [self.namespace_id, stem, SPELLING_NOTES], binary=True
        ).fetchall()
        notes = Postings.of_blocks(blocks).notes[:SPELLING_NOTES].tolist()
        rows = self.connection.execute(_FIELDS, [notes])
        texts = (tokens.indexed(field) for row in rows for field in row if field)
        texts_with_stem = islice((text for text in texts if stem in tokens.stems_of(text)), SPELLING_NOTES)
        return Counter(
            word for text in texts_with_stem for _, word in tokens.spellings_of(text[:SPELLING_CHARACTERS], (stem,))
        )

    def select_candidates(self, ids: Sequence[str], filters: Filters, exclusions: Query | None) -> list[Candidate]:
        """Return those of the notes, in this order, that pass the filters and match no NOT term of ``exclusions``."""
        conditions, values = candidate_conditions(self.connection, self.namespace_id, filters, exclusions)
        rows = self.connection.execute(
            f"SELECT {NOTE_COLUMNS} FROM living AS n "  # noqa: S608 (fixed names)
            f"WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) {conditions}",
            [self.namespace_id, list(map(lookup_hash, ids)), *values],
        )
        candidates = {row[0]: candidate_of(row) for row in rows}
        return [candidates[note_id] for note_id in dict.fromkeys(ids) if note_id in candidates]

    def similarities(self, active: ActiveModel, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine similarities, by id, of the notes with these ids to a unit vector."""
        rows = self.connection.execute(
            "SELECT n.id, string_agg(v.vector, ''::bytea ORDER BY v.piece) FROM living AS n "
            "JOIN vectors AS v ON v.note = n.key AND v.model = %s "
            "WHERE n.namespace = %s AND n.id_mark = ANY (%s::bytea[]) GROUP BY n.id",
            [active.key, self.namespace_id, list(map(lookup_hash, ids))],
            binary=True,
        )
        query = vector.astype(np.float64)
        return {note_id: cosine_similarity(vectors_in(blob, active.model), query) for note_id, blob in rows}

    def search_vectors(
        self, active: ActiveModel, vector: Vector, limit: int, filters: Filters, exclusions: Query | None
    ) -> list[Candidate]:
        """Return the notes with the nearest vectors to a unit vector; ties are ordered by path, then id."""
        conditions, values = candidate_conditions(self.connection, self.namespace_id, filters, exclusions)
        search = _VectorSearch(self.connection, self.namespace_id, active, vector, conditions, values)
        ef_search = self.indexes.ef_search(self.connection, self.namespace_id, active)
        results = search.by_index(limit, ef_search) if ef_search else None  # 0: use no index
        if results is None:
            results = search.by_scan(limit)
        best = sorted(results)[:limit]
        candidates = candidates_by_key(self.connection, [key for *_, key in best])
        for rank, (negative_similarity, *_, key) in enumerate(best, start=1):
            candidates[key].vector_rank = rank
            candidates[key].vector_similarity = candidates[key].score = -negative_similarity
        return [candidates[key] for *_, key in best]


_Result = tuple[float, str, str, int]
"""The negative similarity, path, id and key of a note. When results are sorted, the nearest notes come first."""


class _VectorSearch(NamedTuple):
    """A vector search among the notes of a namespace that pass conditions."""

    connection: Connection
    namespace_id: int
    active: ActiveModel
    vector: Vector
    conditions: str  # SQL conditions on ``living AS n``, each of which starts with AND
    values: list[Any]  # the parameters of the conditions

    def by_scan(self, limit: int) -> list[_Result]:
        """Return all notes that pass the conditions and can be among the nearest ``limit`` in spite of the rounding."""
        join, conditions = "JOIN living AS n ON n.key = v.note", self.conditions
        if not conditions:
            join, conditions = "", _NOT_EXPIRED
        rows = self.connection.execute(
            f"""
            WITH note_distances AS MATERIALIZED (
                SELECT note, min(distance) AS distance FROM (
                    SELECT v.note, v.near <#> %s::halfvec AS distance  -- the negative dot product
                    FROM vectors AS v {join} WHERE v.namespace = %s AND v.model = %s {conditions}
                    OFFSET 0  -- prevents the merge of this sub-select, so that distances are grouped, not vectors
                ) AS chunks GROUP BY note
            ),
            last_result AS (SELECT distance FROM note_distances ORDER BY distance LIMIT 1 OFFSET %s)  -- at rank limit
            SELECT note FROM note_distances
            WHERE distance <= coalesce((SELECT distance FROM last_result), 'infinity') + {HALF_PRECISION_ERROR}
            """,  # noqa: S608 (fixed conditions and numbers)
            [vector_literal(self.vector), self.namespace_id, self.active.key, *self.values, limit - 1],
        )
        return self._rescore([note for (note,) in rows])

    def by_index(self, limit: int, ef_search: int) -> list[_Result] | None:
        """Return at least ``limit`` notes from the HNSW index; ``None`` if too few of its rows pass the conditions."""
        depth = max(2 * limit, ef_search)
        while depth <= MAX_INDEX_RESULTS:
            results = self._search_index(depth)
            if len(results) >= limit:
                return results
            # Read twice as many rows as would be enough if the same share of them passed the conditions.
            depth = 2 * depth * limit // max(1, len(results))
        return None

    def _search_index(self, depth: int) -> list[_Result]:
        """Return the notes that pass the conditions among the first ``depth`` rows that the HNSW index returns."""
        with self.connection.pipeline():
            self.connection.execute(SEARCH_SETTINGS, {"ef_search": str(depth), "in_transaction": True})
            rows = self.connection.execute(
                index_query(*self.active), [self.namespace_id, vector_literal(self.vector), depth]
            )
            self.connection.execute("SELECT set_config('enable_sort', 'on', true)")  # SEARCH_SETTINGS turned it off
        return self._rescore([note for (note,) in rows])

    def _rescore(self, keys: Sequence[int]) -> list[_Result]:
        """Return the notes among ``keys`` that pass the conditions, with their similarities in float64."""
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
        return [
            (-cosine_similarity(vectors_in(blob, model), query), path, note_id, key)
            for key, path, note_id, blob in rows
        ]


def vector_literal(vector: Vector) -> str:
    """Return a vector as text in the syntax of pgvector."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def index_query(key: int, model: Model) -> str:
    """Return the SQL that searches the HNSW index of a model; its parameters are namespace, vector and limit."""
    near, query = halfvec("near", model), halfvec("%s", model)
    return f"SELECT note FROM vectors WHERE model = {key:d} AND namespace = %s ORDER BY {near} <#> {query} LIMIT %s"  # noqa: S608 (fixed names)


# Every block has at least one note, so ``SPELLING_NOTES`` blocks have enough notes.
_FIRST_BLOCKS = "SELECT block, list FROM postings WHERE namespace = %s AND term = %s ORDER BY block LIMIT %s"
_FIELDS = "SELECT path, title, summary, tags, content FROM notes WHERE key = ANY (%s::bigint[]) ORDER BY key"

# Excluding the few expired notes is faster than joining all notes that have not expired.
_NOT_EXPIRED = """AND v.note NOT IN (
    SELECT key FROM notes WHERE expires_at <= (SELECT current_setting('recollect.now')::bigint)
)"""
