"""Lexical and vector search of one namespace, as one transaction sees it.

Disjunctions of single terms are ranked by posting lists, everything else by FTS5; both give the same scores. A search
over a corrupt snapshot is repeated without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import apsw
import numpy as np

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.query.expressions import Semantics, expression
from recollect.stores.bm25 import Scores
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of, cosine_similarities
from recollect.stores.sqlite.filters import candidate_conditions, filter_conditions
from recollect.stores.sqlite.fts5 import fts5_scores, render_fts5, render_fts5_exclusion, search_fts5
from recollect.stores.sqlite.posting_view import PostingsView, TermQuery, term_query
from recollect.stores.sqlite.search_indexes import SearchIndexes
from recollect.stores.sqlite.snapshots import SNAPSHOT_ERRORS
from recollect.stores.sqlite.transaction import fetch, hides_notes
from recollect.stores.sqlite.vector_index import VectorIndex

if TYPE_CHECKING:
    from recollect.stores.base import Model, Vector

OVERFETCH = (4, 32)
"""How many times as many notes as are asked for are ranked, if some may not pass the filters."""
_COLUMNS = ", ".join(f"n.{column}" for column in CANDIDATE_COLUMNS.split(", "))

T = TypeVar("T")


class NamespaceSearch(NamedTuple):
    """Searches of one namespace on a connection, whose transaction they may restart."""

    connection: apsw.Connection
    indexes: SearchIndexes
    namespace: int

    def search_text(self, query: Query, semantics: Semantics, limit: int, filters: Filters) -> list[Candidate]:
        """Return the best notes by BM25; ties by path, then id."""
        node = expression(query, semantics)
        if node is None or limit <= 0:
            return []
        terms = term_query(node)
        if terms is not None:
            candidates = self._with_postings(lambda view: self._search_postings(view, terms, limit, filters))
            if candidates is not None:
                return candidates
        return search_fts5(self.connection, self.namespace, render_fts5(query, semantics), limit, filters)

    def text_scores(self, query: Query, semantics: Semantics, ids: Sequence[str]) -> dict[str, float]:
        """Return the scores that ``search_text`` gives the notes with these ids; those that do not match have none."""
        node = expression(query, semantics)
        if node is None or not ids:
            return {}
        terms = term_query(node)
        if terms is not None:
            # The view restarts the transaction, so keys are read after it.
            scores = self._with_postings(lambda view: _postings_scores(view, terms, self._keys_of(ids)))
            if scores is not None:
                return scores
        keys = self._keys_of(ids)
        by_key = fts5_scores(self.connection, self.namespace, render_fts5(query, semantics), keys)
        return {keys[key]: score for key, score in by_key.items()}

    def document_frequencies(self, queries: Sequence[Query]) -> tuple[int, list[int]] | None:
        """Return how many notes there are, and how many match each query; ``None`` if posting lists cannot tell.

        They can if there are any, and each query is a single term.
        """
        terms = []
        for query in queries:
            node = expression(query)
            if node is None:
                terms.append("")
                continue
            single = term_query(node)
            if single is None or len(single.terms) != 1:
                return None
            terms += single.terms
        view = self.indexes.postings_view(self.connection, self.namespace)
        return None if view is None else (view.notes, [view.document_frequency(term) for term in terms])

    def search_vectors(
        self, active: tuple[int, Model], vector: Vector, limit: int, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with the nearest vectors, exactly, without those with a term that ``without`` excludes."""
        conditions = self._conditions(filters, without)
        index = self.indexes.vectors(self.namespace, *active)
        try:
            candidates = self._search_vectors(index, active[1], vector, limit, conditions)
        except SNAPSHOT_ERRORS:
            if not index.is_corrupt():
                raise
            candidates = self._search_vectors(index, active[1], vector, limit, conditions)
        if index.needs_snapshot():
            self.indexes.worker.start(index.write_snapshot)
        return candidates

    def select_candidates(self, ids: Sequence[str], filters: Filters, without: Query | None) -> list[Candidate]:
        """Return the notes with these ids, in their order, without those that have a term that ``without`` excludes."""
        conditions, values = self._conditions(filters, without)
        rows = self.connection.execute(
            f"SELECT {_COLUMNS} FROM json_each(?) AS ids CROSS JOIN notes AS n "  # noqa: S608 (fixed names)
            f"ON n.namespace = ? AND n.id = ids.value WHERE 1 {conditions} ORDER BY ids.key",
            (json.dumps(list(dict.fromkeys(ids))), self.namespace, *values),
        )
        return [candidate_of(row) for row in rows]

    def similarities(self, active: tuple[int, Model], vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the similarities of the notes with these ids to a vector, as ``search_vectors`` computes them."""
        rows = fetch(
            self.connection,
            "SELECT n.id, v.vector FROM json_each(?) AS ids CROSS JOIN notes AS n "
            "ON n.namespace = ? AND n.id = ids.value JOIN vectors AS v ON v.note = n.key AND v.model = ?",
            (json.dumps(list(dict.fromkeys(ids))), self.namespace, active[0]),
        )
        scores = cosine_similarities([blob for _, blob in rows], active[1], vector.astype(np.float64))
        return dict(zip((note for note, _ in rows), scores.tolist(), strict=True))

    def _with_postings(self, search: Callable[[PostingsView], T | None]) -> T | None:
        """Search the posting lists; ``None`` if there are none, or the snapshot turns out to be corrupt."""
        try:
            view = self.indexes.postings_view(self.connection, self.namespace)
            return None if view is None else search(view)
        except SNAPSHOT_ERRORS:
            if not self.indexes.postings(self.namespace).is_corrupt():
                raise
            return None

    def _search_postings(
        self, view: PostingsView, query: TermQuery, limit: int, filters: Filters
    ) -> list[Candidate] | None:
        """Return the best notes by BM25, as ``search_fts5`` does.

        With filters, some of the best notes are read, and then more, until enough of them pass. If too few do, the
        result is ``None``: FTS5 is faster then.
        """
        conditions, values = filter_conditions(filters)
        restricted = bool(conditions) or hides_notes(self.connection)
        for factor in OVERFETCH if restricted else (1,):
            best = view.search(query, factor * limit)
            scores = dict(zip(best.notes.tolist(), best.scores.tolist(), strict=True))
            rows = fetch(
                self.connection,
                f"SELECT n.key, {_COLUMNS} FROM notes AS n "  # noqa: S608 (fixed names)
                f"WHERE n.key IN (SELECT value FROM json_each(?)) {conditions}",
                (json.dumps(list(scores)), *values),
            )
            if len(rows) >= limit or len(scores) < factor * limit:
                break
        else:
            return None
        candidates = []
        for key, *row in rows:
            candidate = candidate_of(row)
            candidate.lexical_score = candidate.score = scores[key]
            candidates.append(candidate)
        candidates.sort(key=_rank)
        for rank, candidate in enumerate(candidates[:limit], start=1):
            candidate.lexical_rank = rank
        return candidates[:limit]

    def _search_vectors(
        self, index: VectorIndex, model: Model, vector: Vector, limit: int, conditions: tuple[str, list[Any]]
    ) -> list[Candidate]:
        view = index.view(self.connection)
        allowed = None
        if conditions[0]:
            keys = self.connection.execute(
                "SELECT v.key FROM notes AS n JOIN vectors AS v ON v.note = n.key "  # noqa: S608 (fixed conditions)
                f"WHERE n.namespace = ? {conditions[0]} ORDER BY v.key",
                (self.namespace, *conditions[1]),
            )
            allowed = np.fromiter((key for (key,) in keys), dtype=np.int64)
        while True:
            candidate_keys = view.search(vector, limit, allowed)
            rows = fetch(
                self.connection,
                f"SELECT v.key, v.vector, {_COLUMNS} FROM vectors AS v JOIN notes AS n ON n.key = v.note "  # noqa: S608 (fixed names)
                "WHERE v.key IN (SELECT value FROM json_each(?)) ORDER BY v.key",
                (json.dumps(candidate_keys),),
            )
            if len(rows) == len(candidate_keys):
                break
            deleted = {*candidate_keys}.difference(row[0] for row in rows)
            if deleted <= view.tombstones:  # only a corrupt snapshot returns its tombstones
                view = index.rebuild(self.connection)
                continue
            index.mark_deleted(deleted)
            view = view.without(deleted)
        scores = cosine_similarities([row[1] for row in rows], model, vector.astype(np.float64))
        best = Scores(np.arange(len(rows)), scores).best(limit)
        candidates = []
        for position, score in zip(best.notes.tolist(), best.scores.tolist(), strict=True):
            candidate = candidate_of(rows[position][2:])
            candidate.vector_similarity = candidate.score = score
            candidates.append(candidate)
        candidates.sort(key=_rank)
        for rank, candidate in enumerate(candidates[:limit], start=1):
            candidate.vector_rank = rank
        return candidates[:limit]

    def _conditions(self, filters: Filters, without: Query | None) -> tuple[str, list[Any]]:
        return candidate_conditions(self.namespace, filters, render_fts5_exclusion(without) if without else "")

    def _keys_of(self, ids: Sequence[str]) -> dict[int, str]:
        """Return the ids of notes by their keys."""
        rows = self.connection.execute(
            "SELECT n.key, n.id FROM json_each(?) AS ids CROSS JOIN notes AS n ON n.namespace = ? AND n.id = ids.value",
            (json.dumps(list(dict.fromkeys(ids))), self.namespace),
        )
        return dict(rows)


def _postings_scores(view: PostingsView, query: TermQuery, keys: Mapping[int, str]) -> dict[str, float]:
    notes, scores = view.scores(query, np.fromiter(keys, dtype=np.int64, count=len(keys)))
    return {keys[note]: score for note, score in zip(notes.tolist(), scores.tolist(), strict=True)}


def _rank(candidate: Candidate) -> tuple[float, str, str]:
    return -candidate.score, candidate.path, candidate.id
