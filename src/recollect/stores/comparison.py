"""Compare two stores: the same notes to the last bit, in the same order, with the same search results.

Both are read in parallel. A note that differs is read again, by id, before it counts: the source may be written to
meanwhile, and a note may expire between two reads. Searches are compared for a sample of notes of the source.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect import arguments
from recollect.model import Candidate, Filters, Note
from recollect.progress import Progress
from recollect.query import parse
from recollect.stores.base import Model, Store
from recollect.stores.iteration import (
    NoteKey,
    differing_fields,
    document_states,
    key_of,
    note_batches,
    note_digest,
    notes_by_id,
    notes_in,
    vectors_by_key,
)

if TYPE_CHECKING:
    from recollect.stores.base import Vector

SAMPLE = 50
"""For how many notes searches are compared."""
BATCH_NOTES = 500
MAX_DIFFERENCES = 1000
"""How many differences are listed; more are only counted."""
MIN_OVERLAP = 0.9
"""How much of the results of searches must be the same: an index may be approximate, and scores may tie."""
TOP_K = 10
QUERY_WORDS = 3

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD = re.compile(r"[^\W_]+")  # for notes without long words, such as numbers and codes


class SearchAgreement(NamedTuple):
    """How far the searches of one leg agree."""

    searches: int = 0
    same: int = 0
    """How many have the same results in the same order."""
    overlap: float = 1.0
    """The mean fraction of the best ten results that both have."""


class NamespaceSummary(NamedTuple):
    """What one of the stores has in a namespace."""

    notes: int
    digest: str
    """The hash of all notes with their vectors, in their order, and of the documents."""


class Difference(NamedTuple):
    """A difference between two stores."""

    part: str
    """``note``, ``document`` or ``store``."""
    namespace: str
    name: str
    """The id of a note, the root and the name of a document."""
    problem: str
    """``missing`` or ``extra`` in the target, or the fields that differ, ``vector`` or ``order``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreComparison:
    """The result of a comparison."""

    namespaces: Mapping[str, tuple[NamespaceSummary, NamespaceSummary]]
    """Source and target."""
    models: tuple[Model | None, Model | None]
    difference_count: int
    differences: Sequence[Difference]
    """The first of them."""
    lexical: SearchAgreement
    vector: SearchAgreement
    seconds: float

    @property
    def same(self) -> bool:
        """Whether the target is a copy of the source."""
        return not self.difference_count and min(self.lexical.overlap, self.vector.overlap) >= MIN_OVERLAP

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        sides = ("source", "target")
        return {
            "same": self.same,
            "namespaces": {
                name: {side: summary._asdict() for side, summary in zip(sides, summaries, strict=True)}
                for name, summaries in self.namespaces.items()
            },
            "models": {side: model and model._asdict() for side, model in zip(sides, self.models, strict=True)},
            "difference_count": self.difference_count,
            "differences": [difference._asdict() for difference in self.differences],
            "searches": {"lexical": self.lexical._asdict(), "vector": self.vector._asdict()},
            "seconds": self.seconds,
        }


def compare_stores(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    merged: bool = False,
    sample: int = SAMPLE,
    report: Progress | None = None,
) -> StoreComparison:
    """Compare all notes, vectors and documents of two stores, or of some namespaces, and a sample of searches.

    With ``merged`` the target may have what the source has not; then searches are not compared, for they return it.
    ``report`` is called with the number done, the total and the phase: ``comparing`` or ``searching``.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     source, target = open_store(f"{folder}/one.db"), open_store(f"{folder}/two.db")
    ...     _ = source.write([{"id": "n1", "content": "Prefers green tea."}, {"id": "n2", "content": "Hot."}])
    ...     _ = target.write([{"id": "n1", "content": "Prefers black tea."}])
    ...     comparison = compare_stores(source, target)
    ...     source.close()
    ...     target.close()
    >>> [(difference.name, difference.problem) for difference in comparison.differences]
    [('n1', 'content, created_at, updated_at'), ('n2', 'missing')]
    """
    started = time.monotonic()
    progress = report or (lambda *_: None)
    run = _ComparisonRun(source, target, namespaces, QuerySample(arguments.count("sample", sample)), merged=merged)
    run.compare_models()
    run.compare_notes(progress)
    run.compare_documents()
    lexical, vector = _compare_searches(source, target, [] if merged and run.extra else run.sample.queries, progress)
    return StoreComparison(
        namespaces=run.summaries(),
        models=(run.model, run.other_model),
        difference_count=run.difference_count,
        differences=tuple(run.differences),
        lexical=lexical,
        vector=vector,
        seconds=time.monotonic() - started,
    )


class _SampledQuery(NamedTuple):
    namespace: str
    text: str
    vector: Vector | None


class QuerySample:
    """Queries of some notes, each as likely as any other, and the same whenever the notes are the same.

    >>> sample = QuerySample(2)
    >>> for word in ("green", "black", "white"):
    ...     sample.offer(Note(content=f"Prefers {word}."), None)
    >>> [query.text for query in sample.queries]
    ['prefers green', 'black prefers']
    """

    def __init__(self, size: int) -> None:
        self.queries: list[_SampledQuery] = []
        self._size = size
        self._offered = 0
        self._random = random.Random(0)  # noqa: S311 (no secret)

    def offer(self, note: Note, vector: Vector | None) -> None:
        """Take a query of the note, perhaps in place of another (reservoir sampling)."""
        self._offered += 1
        full = len(self.queries) >= self._size
        index = self._random.randrange(self._offered) if full else len(self.queries)
        if index < self._size:
            text = f"{note.title} {note.content}".lower()
            words = sorted(set(_LONG_WORD.findall(text) or _WORD.findall(text)))
            query = " ".join(self._random.sample(words, min(QUERY_WORDS, len(words))))
            self.queries[index : index + 1] = [_SampledQuery(note.namespace, query, vector)]


class _SourceNote(NamedTuple):
    """A note of the source whose counterpart in the target is yet to come."""

    position: int
    digest: bytes
    embedded: bool


@dataclass(slots=True)
class _Summary:
    notes: int = 0
    hashed: Any = field(default_factory=lambda: blake2b(digest_size=16))


class _ComparisonRun:
    """Two iterations, the source's ahead of the target's, and the differences so far."""

    def __init__(
        self, source: Store, target: Store, namespaces: Sequence[str] | None, sample: QuerySample, *, merged: bool
    ) -> None:
        self._source = source
        self._target = target
        self._namespaces = namespaces
        self._merged = merged
        self.sample = sample
        self.model, self.other_model = source.model, target.model
        self.extra = 0
        self.difference_count = 0
        self.differences: list[Difference] = []
        self._summaries: tuple[dict[str, _Summary], dict[str, _Summary]] = ({}, {})
        self._read = 0
        self._source_batches = self._batches(source)
        self._ahead: dict[NoteKey, _SourceNote] = {}
        self._last_position: dict[str, int] = {}
        """In each namespace, the highest position in the source of a note that the target had."""

    def compare_models(self) -> None:
        """Compare the models that both are searched with; a store without vectors has none."""
        if self.model and self.other_model and self.model != self.other_model:
            self._add_difference("store", "", self.other_model.name, f"not searched with {self.model.name}")

    def compare_notes(self, report: Progress) -> None:
        """Read both stores in parallel."""
        read = 0
        notes = self._source.stats().notes
        total = sum(count for name, count in notes.items() if self._namespaces is None or name in self._namespaces)
        report(read, total, "comparing")
        for batch in self._batches(self._target):
            read += len(batch)
            self._read_ahead(partial(self._has_read, read))
            self._compare_batch(batch)
            report(read, max(read, total), "comparing")
        self._read_ahead(lambda: False)
        missing = list(self._ahead)
        for start in range(0, len(missing), BATCH_NOTES):
            self._compare_again(missing[start : start + BATCH_NOTES])

    def _batches(self, store: Store) -> Iterator[list[Note]]:
        return note_batches(notes_in(store, self._namespaces), BATCH_NOTES)

    def _has_read(self, notes: int) -> bool:
        return self._read >= notes

    def _read_ahead(self, enough: Callable[[], bool]) -> None:
        """Read the next notes of the source, until that is enough or there are no more."""
        while not enough() and (batch := next(self._source_batches, None)):
            _, vectors = self._source.vectors_of(batch)
            for note, vector in zip(batch, vectors, strict=True):
                self._read += 1
                digest = note_digest(note, vector)
                self._summarise(0, note.namespace, digest)
                self.sample.offer(note, vector)
                self._ahead[key_of(note)] = _SourceNote(self._read, digest, vector is not None)

    def _compare_batch(self, batch: Sequence[Note]) -> None:
        """Compare the next notes of the target with those of the source."""
        active, vectors = self._target.vectors_of(batch)
        behind = notes_by_id(self._source, (key_of(note) for note in batch if key_of(note) not in self._ahead))
        for key in behind:
            self._read_ahead(partial(self._ahead.__contains__, key))
        doubtful = []
        for note, vector in zip(batch, vectors, strict=True):
            key = key_of(note)
            counterpart = self._ahead.pop(key, None)
            self.extra += counterpart is None
            if counterpart is None and self._merged:
                continue
            # A vector that the target made of the same text does no harm.
            counts = active == self.model and (counterpart is None or counterpart.embedded)
            digest = note_digest(note, vector if counts else None)
            self._summarise(1, note.namespace, digest)
            if counterpart is None or counterpart.digest != digest:
                doubtful.append(key)
            if counterpart is not None:
                last = self._last_position.get(note.namespace, 0)
                if counterpart.position < last:
                    self._add_difference("note", *key, "order")
                self._last_position[note.namespace] = max(counterpart.position, last)
        self._compare_again(doubtful)

    def _compare_again(self, keys: Sequence[NoteKey]) -> None:
        """Add the differences of these notes that still exist."""
        source, target = notes_by_id(self._source, keys), notes_by_id(self._target, keys)
        vectors = vectors_by_key(self._source, source.values())
        others = vectors_by_key(self._target, target.values()) if self.other_model == self.model else {}
        for key in keys:
            if key in source and key in target:
                problems = differing_fields(source[key], target[key])
                if key in vectors and not np.array_equal(vectors[key], others.get(key, ())):
                    problems.append("vector")
                if problems:
                    self._add_difference("note", *key, ", ".join(problems))
            elif key in source:
                self._add_difference("note", *key, "missing")
            elif key in target:
                self._add_difference("note", *key, "extra")

    def compare_documents(self) -> None:
        """Find documents that one of the stores has not, or whose fingerprint or notes differ."""
        source, target = (document_states(store, self._namespaces) for store in (self._source, self._target))
        for side, documents in enumerate((source, target)):
            for (namespace, root, name), (fingerprint, notes) in sorted(documents.items(), key=lambda item: item[0]):
                if not (self._merged and (namespace, root, name) not in source):
                    data = "\0".join((root, name, fingerprint, *sorted(notes)))
                    self._summaries[side].setdefault(namespace, _Summary()).hashed.update(data.encode())
        for document in sorted({*source, *target}):
            state, other = source.get(document), target.get(document)
            problem = ""
            if other is None or (state is None and not self._merged):
                problem = "missing" if other is None else "extra"
            elif state is not None:
                pairs = zip(("fingerprint", "notes"), state, other, strict=True)
                problem = ", ".join(name for name, one, two in pairs if one != two)
            if problem:
                namespace, root, name = document
                self._add_difference("document", namespace, f"{root}/{name}", problem)

    def summaries(self) -> dict[str, tuple[NamespaceSummary, NamespaceSummary]]:
        """Return what both stores have, by namespace."""
        return {
            name: tuple(_summary(side.get(name, _Summary())) for side in self._summaries)  # type: ignore[misc]
            for name in sorted({*self._summaries[0], *self._summaries[1]})
        }

    def _summarise(self, side: int, namespace: str, digest: bytes) -> None:
        summary = self._summaries[side].setdefault(namespace, _Summary())
        summary.notes += 1
        summary.hashed.update(digest)

    def _add_difference(self, part: str, namespace: str, name: str, problem: str) -> None:
        self.difference_count += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(Difference(part, namespace, name, problem))


def _summary(summary: _Summary) -> NamespaceSummary:
    return NamespaceSummary(summary.notes, summary.hashed.hexdigest())


def _compare_searches(
    source: Store, target: Store, sample: Sequence[_SampledQuery], report: Progress
) -> tuple[SearchAgreement, SearchAgreement]:
    """Compare lexical and vector searches for the sampled queries."""
    lexical, by_vector = [], []
    comparable = source.model is not None and source.model == target.model
    report(0, len(sample), "searching")
    for done, (namespace, text, vector) in enumerate(sample, start=1):
        limits: dict[str, Any] = {"namespace": namespace, "filters": Filters()}
        if text:
            query = parse(text)
            lexical.append([store.search_text(query, TOP_K, **limits) for store in (source, target)])
        if vector is not None and comparable:
            first = np.atleast_2d(vector)[0]
            by_vector.append([store.search_vectors(first, TOP_K, **limits) for store in (source, target)])
        report(done, len(sample), "searching")
    return _agreement(lexical), _agreement(by_vector)


def _agreement(searches: Sequence[Sequence[Sequence[Candidate]]]) -> SearchAgreement:
    if not searches:
        return SearchAgreement()
    lists = [[[candidate.id for candidate in results] for results in both] for both in searches]
    overlaps = [1.0 if one == two else len({*one} & {*two}) / max(len(one), len(two)) for one, two in lists]
    return SearchAgreement(len(lists), sum(one == two for one, two in lists), sum(overlaps) / len(overlaps))
