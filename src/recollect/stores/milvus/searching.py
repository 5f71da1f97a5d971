"""Searching by words: the engine proposes notes, and the exact BM25 of FTS5 ranks them.

Where at most :data:`RANKED_HERE` notes can match, the directory knows all of them, and what their words count.
Otherwise the BM25 function proposes :data:`PROPOSED` of those that pass the query tree and the filters. It ranks by
statistics of its own, in which a phrase or a prefix is so many words; the notes that hold one are therefore asked for
as well.

Where the words of a phrase stand, only the rows tell; a phrase is looked for once, as long as the notes say the same.
A note whose row has not all its words is read as a whole, if the directory says that it may hold what is sought.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.query.expressions import AllOf, AnyOf, Expression, Match, Reading, exclusion, expression
from recollect.stores import bm25
from recollect.stores.bm25 import Occurrences, Scores, leaves_of
from recollect.stores.milvus.client import MOST_RESULTS
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.filtering import among, conditions, holding, in_words, within
from recollect.stores.milvus.scoring import Leaf, Worded, leaf_of, scored, unabridged
from recollect.stores.rows import CANDIDATE_COLUMNS, candidate_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.milvus.reading import Reader

__all__ = ["View", "candidates", "note_counts", "search_text", "text_scores"]

RANKED_HERE = 20_000
"""Up to how many matches are ranked from the directory: all of them exactly, and sooner than rows come."""
PROPOSED = 1000
"""How many notes the BM25 function proposes at least, whatever the limit: a shorter list begins the longer one."""
MOST_BEGUN = 500
"""For how many words that begin with a prefix notes are proposed: the most frequent."""
MOST_PHRASES = 1000
"""How many phrases are kept; one that was never asked for twice is soon looked for again."""

_OF_CANDIDATE = attrgetter(*CANDIDATE_COLUMNS.split(", "))
_NO_KEYS = np.empty(0, np.int64)


def search_text(
    reader: Reader, directory: Directory, query: Query, limit: int, filters: Filters, reading: Reading = "strict"
) -> list[Candidate]:
    """Return the best notes by BM25; ties by path, then id."""
    node = expression(query, reading)
    if node is None or limit <= 0:
        return []
    view = View(reader, directory)
    scores = view.best(node, limit, filters)
    best = sorted(scores, key=lambda key: (-scores[key], *view.place(key)))[:limit]
    listed = view.candidates(best)
    for rank, (key, candidate) in enumerate(listed.items(), start=1):
        candidate.lexical_rank = rank
        candidate.lexical_score = candidate.score = scores[key]
    return list(listed.values())


def text_scores(
    reader: Reader, directory: Directory, query: Query, ids: Sequence[str], reading: Reading = "strict"
) -> dict[str, float]:
    """Return the scores that ``search_text`` gives the notes with these ids; those that do not match have none."""
    node = expression(query, reading)
    view = View(reader, directory)
    keys = {directory.ids[each]: each for each in ids if each in directory.ids}
    asked = sorted(keys.keys() - view.hidden)
    if node is None or not asked or not view.most(node):
        return {}
    notes, scores = view.scores(node)
    _, rows, matching = np.intersect1d(asked, notes, assume_unique=True, return_indices=True)
    return {keys[asked[row]]: score for row, score in zip(rows.tolist(), scores[matching].tolist(), strict=True)}


def candidates(
    reader: Reader, directory: Directory, ids: Sequence[str], filters: Filters, without: Query | None = None
) -> list[Candidate]:
    """Return the notes with these ids that pass the filters, in the order of ``ids``."""
    view = View(reader, directory)
    keys = [directory.ids[each] for each in dict.fromkeys(ids) if each in directory.ids]
    return list(view.candidates(view.passing(keys, filters, without)).values())


def note_counts(reader: Reader, directory: Directory, queries: Sequence[Query]) -> tuple[int, list[int]]:
    """Return how many notes the namespace has, and how many of them each query finds by its words."""
    view = View(reader, directory)
    nodes = [expression(query) for query in queries]
    return len(directory.notes), [0 if node is None else len(view.matching(node)) for node in nodes]


class View:
    """The notes of a namespace as one reader sees them: those that are due are not there."""

    def __init__(self, reader: Reader, directory: Directory) -> None:
        """Look at them now."""
        self.reader = reader
        self.directory = directory
        self.hidden = directory.hidden(reader.now)
        self.alive = f"expires > {reader.now}" if self.hidden else ""
        self._begun: dict[Leaf, list[str]] = {}

    def place(self, key: int) -> tuple[str, str]:
        """Return the path and the id of a note, which settle ties."""
        header = self.directory.notes[key]
        return header.path, header.id

    def candidates(self, keys: Sequence[int]) -> dict[int, Candidate]:
        """Return notes as candidates, in the same order."""
        stored = self.reader.notes(keys)
        return {key: candidate_of(_OF_CANDIDATE(stored[key].row)) for key in keys if key in stored}

    def passing(self, keys: Sequence[int], filters: Filters, without: Query | None = None) -> list[int]:
        """Return those of the notes that are seen, pass the filters, and hold nothing of what a query excludes."""
        hidden = self.hidden | self.excluded(without)
        seen = [key for key in keys if key not in hidden]
        wanted = conditions(filters)
        if wanted and seen:
            rows = self.reader.query(self._where([among(seen), *wanted]), ["key"])
            passing = {row["key"] for row in rows}
            seen = [key for key in seen if key in passing]
        return seen

    def excluded(self, without: Query | None) -> set[int]:
        """Return the notes that hold what a query excludes."""
        node = None if without is None else exclusion(without)
        return set() if node is None else set(self.matching(node).tolist())

    def matching(self, node: Expression) -> NDArray[np.int64]:
        """Return the notes that match, by rising keys, those that are due included."""
        if not self.most(node):
            return _NO_KEYS
        return bm25.matching_notes(node, [self.occurrences(leaf_of(match)).notes for match in leaves_of(node)])

    def best(self, node: Expression, limit: int, filters: Filters) -> dict[int, float]:
        """Return the scores of the best notes that pass the filters; more than so many where they tie."""
        most = self.most(node)
        if not most:
            return {}
        count, total = len(self.directory.notes), self.directory.total
        if most <= RANKED_HERE or 2 * limit > MOST_RESULTS:
            return self._best_of(self.scores(node), limit, filters)
        notes = self._proposals(node, max(PROPOSED, 2 * limit), filters)
        found = scored(node, notes, lambda leaf: self.occurrences(leaf).holding, count, total).best(limit)
        return dict(zip(found.notes.tolist(), found.scores.tolist(), strict=True))

    def scores(self, node: Expression) -> Scores:
        """Return all notes that match, with their BM25 scores, expired ones included."""
        lists = [self.occurrences(leaf_of(match)) for match in leaves_of(node)]
        return bm25.score_notes(node, lists, len(self.directory.notes), self.directory.total)

    def most(self, node: Expression) -> int:
        """Return a number that no fewer notes than match ``node`` reach; 0 where none can."""
        match node:
            case Match():
                return self._most(leaf_of(node))
            case AnyOf(parts):
                return sum(map(self.most, parts))
            case AllOf(parts):
                return min(map(self.most, parts))
            case _:
                return self.most(node.wanted)

    def occurrences(self, leaf: Leaf) -> Occurrences:
        """Return the notes that hold a leaf, those that are due included."""
        if not leaf.stems or not self._most(leaf):
            return self.directory.occurrences(() if leaf.stems else self._last(leaf))
        known: dict[Leaf, Occurrences] = self.directory.kept("phrases", lambda _: {})
        found = known.get(leaf)
        if found is None:
            found = self._phrase(leaf)
            if len(known) >= MOST_PHRASES:
                known.clear()
            known[leaf] = found
        return found

    def _best_of(self, scores: Scores, limit: int, filters: Filters) -> dict[int, float]:
        """Return the best of scores that pass the filters; few more are looked at than are wanted."""
        best: dict[int, float] = {}
        seen, reach = 0, 2 * limit
        while len(best) < limit and seen < len(scores.notes):
            notes, values = scores.best(reach)
            found = dict(zip(notes[seen:].tolist(), values[seen:].tolist(), strict=True))
            best.update((key, found[key]) for key in self.passing(list(found), filters))
            seen, reach = len(notes), 4 * reach
        return best

    def _proposals(self, node: Expression, reach: int, filters: Filters) -> dict[int, Worded]:
        """Return the words of the notes that the BM25 function proposes; some may not match."""
        counting = list(dict.fromkeys(leaf_of(match) for match in leaves_of(_wanted(node))))
        base = ["part == 0", self.alive, *conditions(filters)]
        words = in_words(node, lite=self.reader.lite)
        asked = [word for leaf in counting for word in self._asked(leaf)]
        found = self._proposed(asked, [*base, "" if _is_choice(node) else words], reach)
        for leaf in counting:
            if not leaf.is_term:
                held = [*base, words, holding(leaf, lite=self.reader.lite)]
                few = self._most(leaf) <= PROPOSED  # of rows, all that match can be read
                found |= self._read(held) if few else self._proposed(self._asked(leaf), held, reach)
        for key in self.directory.abridged:
            found.pop(key, None)
        whole = {key for leaf in counting for key in self._abridged(leaf)}
        return found | self._unabridged(self.passing(sorted(whole), filters))

    def _phrase(self, leaf: Leaf) -> Occurrences:
        """Read where a phrase stands."""
        notes = self._read(["part == 0", holding(leaf, lite=self.reader.lite)])
        notes = {key: worded for key, worded in notes.items() if key not in self.directory.abridged}
        notes |= self._unabridged(self._abridged(leaf))
        weights = {key: weight for key in sorted(notes) if (weight := leaf.weight(notes[key].words.split()))}
        keys = np.fromiter(weights, np.int64, len(weights))
        counts = np.fromiter(weights.values(), np.float64, len(weights))
        return Occurrences(keys, counts, self.directory.tokens_of(keys), len(keys))

    def _most(self, leaf: Leaf) -> int:
        last = sum(map(self.directory.holding, self._last(leaf)))
        return min([last, *map(self.directory.holding, leaf.stems)])

    def _asked(self, leaf: Leaf) -> list[str]:
        """Return the words that notes with a leaf are proposed for."""
        return [*leaf.stems, *self._last(leaf)[:MOST_BEGUN]]

    def _last(self, leaf: Leaf) -> Sequence[str]:
        """Return the words that may be a leaf's last, those that most notes hold first."""
        if not leaf.prefix:
            return leaf.endings
        if leaf not in self._begun:
            self._begun[leaf] = self.directory.begun(leaf.endings) if leaf.endings else []
        return self._begun[leaf]

    def _where(self, parts: Iterable[str]) -> str:
        return within(self.directory.namespace, *parts)

    def _read(self, parts: Sequence[str]) -> dict[int, Worded]:
        """Return the words of the notes for which all parts of an expression hold."""
        return self._worded(self.reader.query(self._where(parts), ["key", "words"]))

    def _proposed(self, asked: Sequence[str], parts: Sequence[str], reach: int) -> dict[int, Worded]:
        """Return the words of the notes that the BM25 function proposes among those."""
        return self._worded(self.reader.search("sparse", " ".join(asked), self._where(parts), ["key", "words"], reach))

    def _worded(self, rows: Iterable[Mapping[str, Any]]) -> dict[int, Worded]:
        tokens = self.directory.tokens
        return {row["key"]: Worded(row["words"], tokens[row["key"]]) for row in rows if row["key"] in tokens}

    def _abridged(self, leaf: Leaf) -> list[int]:
        """Return the notes whose rows have not all their words and which may hold a leaf."""
        holds, last = self.directory.holds, self._last(leaf)
        return [
            key
            for key in self.directory.abridged
            if holds(key, leaf.stems) and any(holds(key, [word]) for word in last)
        ]

    def _unabridged(self, keys: Sequence[int]) -> dict[int, Worded]:
        """Return all words of such notes."""
        tokens = self.directory.tokens
        return {key: Worded(unabridged(held.row), tokens[key]) for key, held in self.reader.notes(keys).items()}


def _wanted(node: Expression) -> Expression:
    """Return a tree without what it excludes."""
    match node:
        case Match():
            return node
        case AnyOf(parts):
            return AnyOf(tuple(map(_wanted, parts)))
        case AllOf(parts):
            return AllOf(tuple(map(_wanted, parts)))
        case _:
            return _wanted(node.wanted)


def _is_choice(node: Expression) -> bool:
    """Return whether a note matches that holds any word of a tree: only such notes are ever proposed."""
    parts = node.parts if isinstance(node, AnyOf) else (node,)
    return all(isinstance(part, Match) and leaf_of(part).is_term for part in parts)
