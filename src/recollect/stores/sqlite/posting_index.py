"""The posting lists of one namespace: how a snapshot is kept up to date with the tables, and searched.

FTS5 is the source of truth, but it scores every match. Posting lists rank disjunctions of single terms faster, with the
same BM25 scores, bit for bit. A view has the posting lists as one transaction sees them, in three parts:

- the lists of the snapshot (:mod:`recollect.stores.sqlite.posting_lists`), memory-mapped and shared by all views;
- tombstones: the rows of the snapshot whose note was changed or deleted since the snapshot was written. (Earlier
  tombstones belong to the snapshot itself, as ``lists.tombstones``; these rows are in no list.);
- the delta, in memory: the lists of the notes that were added or changed since, with rows numbered from 0. If such a
  note is changed or deleted again, its row becomes a tombstone of the delta.

When the namespace has a new revision, the next search reads the changes from the tables and derives a new view.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.query.expressions import AnyOf, Expression, Match
from recollect.stores.bm25 import Scores, idf, length_norms, saturation
from recollect.stores.sqlite.posting_lists import (
    EMPTY,
    SNAPSHOT_ARRAYS,
    TOLERANCE,
    NoteFields,
    PostingLists,
    PostingsBuilder,
    Rows,
    TermList,
    new_term_numbers,
    tokenize_notes,
    top_candidates,
)
from recollect.stores.sqlite.snapshots import NewSnapshot, SnapshotArrays, SnapshotIndex, SnapshotRef
from recollect.stores.sqlite.transaction import fetch, revision
from recollect.stores.tokens import BREAK, stems_of

READ_NOTES = 2_000  # how many notes are read from the table at a time
MAX_TERM_LENGTH = 8_000  # characters; longer terms are left to FTS5, which truncates them

_NO_ROWS = np.empty(0, np.int64)
# FTS5 also indexes expired notes, so they are read, too: main.notes is the table, not the view that hides them.
_HIGHEST_KEY = "SELECT coalesce(max(key), 0) FROM main.notes WHERE namespace = ?"
_SELECT_NOTES = "SELECT key, path, title, summary, tags, content FROM main.notes WHERE namespace = ?"


def term_query(node: Expression) -> list[str] | None:
    """Return the stems of a disjunction of single terms ("" for punctuation); ``None`` for any other expression."""
    terms = []
    for leaf in node.parts if isinstance(node, AnyOf) else (node,):
        if not isinstance(leaf, Match) or leaf.kind == "prefix":
            return None
        stems = stems_of(leaf.text)
        if len(stems) > 1 or any(BREAK in stem or len(stem) > MAX_TERM_LENGTH for stem in stems):
            return None
        terms.append("".join(stems))
    return terms


class DeltaList(NamedTuple):
    """The posting list of a term in the delta: ascending rows, and the weighted frequency of the term in each."""

    rows: NDArray[np.int64]
    weights: NDArray[np.int64]

    def select(self, members: NDArray[np.bool_]) -> DeltaList:
        """Return the postings at which the mask ``members`` is true."""
        return DeltaList(self.rows[members], self.weights[members])


class DeltaPostings:
    """Append-only posting lists of the notes that were added or changed since a snapshot.

    All views of a snapshot share them, while threads append notes; ``count`` is how many notes belong to a view.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # an array cannot grow while it is copied
        self._keys = array("q")
        self._lengths = array("q")
        self._lists: dict[str, tuple[array[int], array[int]]] = {}  # the rows and the weights of each term

    def append(self, notes: Sequence[NoteFields]) -> int:
        """Add notes, and return how many tokens they have together."""
        numbers = new_term_numbers()
        *postings, lengths = tokenize_notes(notes, numbers)
        term_column, row_column, weight_column = (column.tolist() for column in postings)
        terms = list(numbers)  # a term's index is its number
        with self._lock:
            first_row = len(self._keys)
            for number, row, weight in zip(term_column, row_column, weight_column, strict=True):
                rows, weights = self._lists.setdefault(terms[number], (array("q"), array("q")))
                rows.append(first_row + row)
                weights.append(weight)
            self._lengths.extend(lengths.tolist())
            self._keys.extend(key for key, *_ in notes)
        return int(lengths.sum())

    def notes(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return two arrays for the first ``count`` notes: their keys, and their lengths in tokens."""
        with self._lock:
            return np.array(self._keys[:count], dtype=np.int64), np.array(self._lengths[:count], dtype=np.int64)

    def postings(self, term: str, count: int) -> DeltaList:
        """Return the posting list of a term among the first ``count`` notes."""
        with self._lock:
            rows, weights = (np.array(column, dtype=np.int64) for column in self._lists.get(term, ((), ())))
        end = int(np.searchsorted(rows, count))
        return DeltaList(rows[:end], weights[:end])


class _TermPostings(NamedTuple):
    """The postings of a term in the snapshot and in the delta."""

    snapshot: TermList
    delta: DeltaList
    document_frequency: int


class PostingsView(NamedTuple):
    """The posting lists at one revision of the namespace: snapshot, tombstones and delta."""

    lists: PostingLists  # of the snapshot
    key_order: NDArray[np.intp]
    """The rows of ``lists``, sorted by key. (Rows are in the order of keys, except those of notes that changed.)"""
    delta: DeltaPostings
    notes: int  # the number of all notes; like ``tokens``, a collection statistic of BM25
    tokens: int  # the number of tokens of all notes
    revision: int  # of the namespace
    last_key: int  # the highest key of a note at this revision: notes with higher keys were added later
    tombstones: Rows = np.empty(0, np.int32)  # ascending rows of ``lists``, without the tombstones of the snapshot
    delta_size: int = 0  # how many notes of the delta belong to the view
    delta_tombstones: NDArray[np.int64] = _NO_ROWS  # ascending rows of the delta

    @classmethod
    def of_snapshot(cls, ref: SnapshotRef, snapshot: SnapshotArrays) -> PostingsView:
        """Return the view of a snapshot without later changes."""
        lists = PostingLists._make([*(snapshot.arrays[name] for name in SNAPSHOT_ARRAYS), snapshot.facts["average"]])
        return cls(
            lists=lists,
            key_order=np.argsort(lists.keys, kind="stable"),
            delta=DeltaPostings(),
            notes=len(lists.keys) - len(lists.tombstones),
            tokens=int(lists.lengths.sum()),
            revision=ref.revision,
            last_key=ref.last_key,
        )

    @property
    def changes(self) -> int:
        """The number of rows of the delta, plus the number of tombstones: how much changed since the snapshot."""
        return self.delta_size + len(self.tombstones)

    def without(self, keys: Sequence[int]) -> PostingsView:
        """Return a view without the notes with these keys."""
        if not keys:
            return self
        lists, deleted_keys = self.lists, np.array(keys, dtype=np.int64)
        rows, delta_rows = self._rows_of(deleted_keys), self._delta_rows_of(deleted_keys)
        rows = np.setdiff1d(rows, lists.tombstones)  # the counts below do not include the snapshot's tombstones
        _, delta_lengths = self.delta.notes(self.delta_size)
        deleted_tokens = lists.lengths[rows].sum() + delta_lengths[delta_rows].sum()
        return self._replace(
            tombstones=np.union1d(self.tombstones, rows),
            delta_tombstones=np.union1d(self.delta_tombstones, delta_rows),
            notes=self.notes - len(rows) - len(delta_rows),
            tokens=self.tokens - int(deleted_tokens),
        )

    def with_notes(self, notes: Sequence[NoteFields]) -> PostingsView:
        """Return a view with further notes, which are appended to the delta."""
        tokens = self.delta.append(notes) if notes else 0
        return self._replace(
            delta_size=self.delta_size + len(notes), notes=self.notes + len(notes), tokens=self.tokens + tokens
        )

    @property
    def average_length(self) -> float:
        """The average number of tokens of a note."""
        return self.tokens / max(1, self.notes)

    def document_frequency(self, term: str) -> int:
        """Return how many notes contain a term."""
        return self._postings(term).document_frequency

    def search(self, terms: Sequence[str], limit: int) -> Scores:
        """Return the keys and scores of the best ``limit`` notes, and of all notes that tie with the last of them."""
        postings = {term: self._postings(term) for term in dict.fromkeys(terms)}
        lists = [postings[term].snapshot for term in terms if len(postings[term].snapshot.rows)]
        rows = top_candidates(lists, self.lists.lengths, self.average_length, limit, self.tombstones)
        # The delta is small: all of its matches are candidates.
        delta_rows = np.unique(np.concatenate([entry.delta.rows for entry in postings.values()]))
        return self._score(terms, postings, rows, delta_rows).best(limit)

    def scores(self, terms: Sequence[str], ids: Mapping[int, str]) -> dict[str, float]:
        """Return the ``search`` scores of matching notes, by id; ``ids`` maps the keys of notes to their ids.

        The time is linear in the number of keys and terms, and logarithmic in the number of notes.
        """
        if not self.tokens:
            return {}
        keys = np.fromiter(ids, dtype=np.int64, count=len(ids))
        rows, delta_rows = self._rows_of(keys), self._delta_rows_of(keys)
        postings = {}
        for term in dict.fromkeys(terms):
            entry = self._postings(term)
            if len(entry.snapshot.rows) and entry.snapshot.rows[-1] >= len(self.lists.keys):  # a corrupt snapshot
                raise LookupError(f"the posting list of {term!r} ends after the last row")
            if len(entry.delta.rows):  # _weights requires that ``delta_rows`` contains all of them
                entry = entry._replace(delta=entry.delta.select(np.isin(entry.delta.rows, delta_rows)))
            postings[term] = entry
        scored_keys, scores = self._score(terms, postings, rows, delta_rows)
        pairs = zip(scored_keys.tolist(), scores.tolist(), strict=True)
        return {ids[key]: score for key, score in pairs if score > 0}  # 0: the note matches no term

    def _rows_of(self, keys: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ascending snapshot rows of the notes with these keys, without tombstones of the view."""
        # A note that changed has several rows. The last is valid; the others are tombstones of the snapshot.
        indices = np.searchsorted(self.lists.keys, keys, side="right", sorter=self.key_order) - 1
        keys, rows = keys[indices >= 0], self.key_order[indices[indices >= 0]]
        rows = np.sort(rows[self.lists.keys[rows] == keys]).astype(np.int32)
        return rows[~np.isin(rows, self.tombstones)] if len(self.tombstones) else rows

    def _delta_rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ascending delta rows of the notes with these keys, without tombstones."""
        if not self.delta_size:
            return _NO_ROWS
        delta_keys, _ = self.delta.notes(self.delta_size)
        rows = np.flatnonzero(np.isin(delta_keys, keys))
        return rows[~np.isin(rows, self.delta_tombstones)]

    def _score(
        self, terms: Sequence[str], postings: Mapping[str, _TermPostings], rows: Rows, delta_rows: NDArray[np.int64]
    ) -> Scores:
        """Return the keys and exact scores of rows of the snapshot, followed by those of rows of the delta."""
        keys, lengths = self.lists.keys[rows], self.lists.lengths[rows].astype(np.float64)
        if len(delta_rows):
            delta_keys, delta_lengths = self.delta.notes(self.delta_size)
            keys = np.concatenate((keys, delta_keys[delta_rows]))
            lengths = np.concatenate((lengths, delta_lengths[delta_rows]))
        norms = length_norms(lengths, self.average_length)
        scores = np.zeros(len(norms))
        # The terms are added in the order of the query, as FTS5 does: in another order, the last bits would differ.
        for term in terms:
            members, weights = _weights(postings[term], rows, delta_rows)
            scores[members] += postings[term].snapshot.idf * saturation(weights, norms[members])
        return Scores(keys, scores)

    def _postings(self, term: str) -> _TermPostings:
        """Return the postings of a term. Those in the snapshot still include rows that are tombstones of the view."""
        lists = self.lists
        delta = self.delta.postings(term, self.delta_size)
        if len(self.delta_tombstones):
            delta = delta.select(~np.isin(delta.rows, self.delta_tombstones))
        number = lists.find(term) if term else None
        start, end = (0, 0) if number is None else lists.offsets[number : number + 2].tolist()
        rows = lists.rows[start:end]
        deleted_count = int(np.isin(self.tombstones, rows).sum()) if len(self.tombstones) else 0
        document_frequency = len(rows) - deleted_count + len(delta.rows)
        # If the average length has grown by a factor, saturations have grown at most by the same factor.
        growth = max(1.0, self.average_length / lists.average_length) * (1 + TOLERANCE)
        max_saturation = 0.0 if number is None else float(lists.max_saturations[number]) * growth
        term_idf = idf(self.notes, document_frequency)
        term_list = TermList(rows, lists.weights[start:end], term_idf, term_idf * max_saturation)
        return _TermPostings(term_list, delta, document_frequency)


def _weights(
    postings: _TermPostings, rows: Rows, delta_rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the indices, in ``rows`` followed by ``delta_rows``, of the notes with a term, and its weight in each."""
    members, weights = _NO_ROWS, np.empty(0)
    snapshot, delta = postings.snapshot, postings.delta
    if len(snapshot.rows):
        indices = np.minimum(np.searchsorted(snapshot.rows, rows), len(snapshot.rows) - 1)
        members = np.flatnonzero(snapshot.rows[indices] == rows)
        weights = snapshot.weights[indices[members]].astype(np.float64)
    if len(delta.rows):
        members = np.concatenate((members, len(rows) + np.searchsorted(delta_rows, delta.rows)))
        weights = np.concatenate((weights, delta.weights))
    return members, weights


class PostingsIndex(SnapshotIndex):
    """The posting lists of one namespace in this process: the latest view, and how snapshots are built."""

    min_rows = 2_000  # with fewer notes, a snapshot is not worth it: FTS5 takes only a millisecond or two
    added_rows_sql = "main.notes WHERE namespace = ?1 AND key > ?3"

    def _clear(self) -> None:
        self._view: PostingsView | None = None
        self._view_state: tuple[int, SnapshotRef | None] | None = None  # the revision and the snapshot of the view

    def view(self, connection: apsw.Connection) -> PostingsView | None:
        """Restart the transaction, and return the lists as it sees them; ``None`` if no snapshot is recent enough."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            current_revision, ref = revision(connection, self._namespace_id), self._current(connection)
            if self._view_state != (current_revision, ref):
                view = self._view
                self._clear()  # so that after an interrupt, the incomplete delta is not used
                if ref is not None:
                    # A view of an older snapshot cannot be updated, because writing a snapshot trims the change log.
                    if view is None or ref != self._ref:
                        self._ref, snapshot = ref, self._load_file(ref)
                        view = None if snapshot is None else PostingsView.of_snapshot(ref, snapshot)
                    self._view = None if view is None else self._advance(connection, view, current_revision)
                if self._view is None:
                    self.needs_snapshot = self.is_stale(connection)
                else:  # at half of the allowed changes, so that the new snapshot is ready in time
                    self.needs_snapshot = self._view.changes > self.max_delta(len(self._view.lists.keys)) // 2
                self._view_state = current_revision, ref
            return self._view

    @staticmethod
    def _is_consistent(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> bool:
        # The arrays have the names of SNAPSHOT_ARRAYS, not those of the fields of PostingLists.
        terms, offsets = len(arrays["word_ends"]), arrays["places"]
        return (
            arrays.keys() == {*SNAPSHOT_ARRAYS}
            and "average" in facts
            and len(arrays["keys"]) == len(arrays["lengths"])
            and len(offsets) - 1 == terms == len(arrays["heads"]) == len(arrays["peaks"])
            and bool(offsets[0] == 0 and offsets[-1] == len(arrays["rows"]) == len(arrays["weights"]))
            and (not terms or bool(arrays["word_ends"][-1] == len(arrays["words"])))
        )

    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> NewSnapshot | None:
        """Read the notes that the current snapshot ``ref`` lacks, or all notes if there is no usable snapshot."""
        snapshot = self._load_file(ref, verify=True) if ref else None
        base, last_key, changed = EMPTY, 0, []  # ``changed`` has the keys of notes that were changed or deleted
        if snapshot is not None and ref is not None:
            last_key = ref.last_key
            changed = [key for key in self._changed_since(connection, ref.revision) if key <= last_key]
            view = PostingsView.of_snapshot(ref, snapshot).without(changed)
            base = view.lists.without_rows(view.tombstones) if len(view.tombstones) else view.lists
            if len(base.tombstones) * 4 > len(base.keys):  # over a quarter of the rows: index all notes again
                base, last_key, changed = EMPTY, 0, []
        builder = PostingsBuilder(base)
        for notes in self._notes_after(connection, last_key):
            if stopped():
                return None
            builder.add(notes)
        if changed_notes := self._notes(connection, changed):
            builder.add(changed_notes)

        def build() -> SnapshotArrays:
            lists = builder.build()
            *fields, average_length = lists
            arrays: dict[str, Any] = dict(zip(SNAPSHOT_ARRAYS, fields, strict=True))
            return SnapshotArrays(arrays, {"average": average_length})

        return connection.execute(_HIGHEST_KEY, (self._namespace_id,)).get, build

    def _advance(self, connection: apsw.Connection, view: PostingsView, new_revision: int) -> PostingsView | None:
        """Return a view at a new revision; ``None`` if there are too many changes to read during a search."""
        max_changes = self.max_delta(len(view.lists.keys))
        changed = self._changed_since(connection, view.revision)
        if view.changes + len(changed) + self._count_added(connection, view.last_key, max_changes) > max_changes:
            return None
        changed = [key for key in changed if key <= view.last_key]  # the others are among the added notes
        added_notes = next(self._notes_after(connection, view.last_key, max_changes + 1), [])  # all in one batch
        new_view = view.without(changed).with_notes([*self._notes(connection, changed), *added_notes])
        last_key = connection.execute(_HIGHEST_KEY, (self._namespace_id,)).get
        return new_view._replace(revision=new_revision, last_key=last_key)

    def _notes_after(self, connection: apsw.Connection, last_key: int, size: int = READ_NOTES) -> Iterator[list[Any]]:
        """Yield batches of up to ``size`` notes (as ``NoteFields``) with higher keys, in the order of keys."""
        sql = f"{_SELECT_NOTES} AND key > ? ORDER BY key LIMIT ?"
        while rows := fetch(connection, sql, (self._namespace_id, last_key, size)):
            yield rows
            last_key = rows[-1][0]

    def _notes(self, connection: apsw.Connection, keys: Sequence[int]) -> list[NoteFields]:
        """Return the notes with these keys that still exist."""
        sql = f"{_SELECT_NOTES} AND key = ?"
        return [note for key in sorted(keys) for note in fetch(connection, sql, (self._namespace_id, key))]
