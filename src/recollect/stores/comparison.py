"""Compare two stores: whether they have identical notes, in the same order, and return the same search results.

Searches are compared for a sample of the notes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from recollect.model import Candidate, Filters, Note
from recollect.progress import Progress
from recollect.query import parse
from recollect.stores.base import Store
from recollect.stores.copying import count_notes, differing_notes, documents_in, key_of, note_batches, notes_in

SAMPLE = 50
"""The number of notes for which searches are compared."""
MAX_DIFFERENCES = 1000
"""The number of differing notes after which the comparison stops."""
MIN_OVERLAP = 0.9
"""The minimum fraction of equal search results: an index may be approximate, and scores may tie."""
TOP_K = 10
QUERY_WORDS = 3

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD = re.compile(r"[^\W_]+")  # for notes without long words, such as numbers and codes


@dataclass(frozen=True, slots=True)
class SearchAgreement:
    """How far the searches of one leg agree."""

    searches: int = 0
    same: int = 0
    """How many have the same results in the same order."""
    overlap: float = 1.0
    """The mean fraction of the best ten results that both have."""


@dataclass(frozen=True, slots=True)
class Difference:
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

    notes: int
    """How many notes the source has."""
    differences: Sequence[Difference]
    """Those of notes only up to :data:`MAX_DIFFERENCES`."""
    searches: Mapping[str, SearchAgreement]
    """Those of the legs ``lexical`` and ``vector``."""
    seconds: float

    @property
    def same(self) -> bool:
        """Whether the target is a copy of the source."""
        return not self.differences and all(leg.overlap >= MIN_OVERLAP for leg in self.searches.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        return {"same": self.same, **asdict(self)}


def compare_stores(
    source: Store,
    target: Store,
    *,
    namespaces: Sequence[str] | None = None,
    merged: bool = False,
    report: Progress | None = None,
) -> StoreComparison:
    """Compare all notes, vectors and documents of two stores, or of some namespaces, and a sample of searches.

    With ``merged`` the target may have notes that the source lacks; then searches are not compared, for they return
    these. ``report`` is called with the number done, the total and the phase: ``comparing`` or ``searching``.
    """
    started = time.monotonic()
    progress = report or (lambda *_: None)
    notes = count_notes(source, namespaces)
    sample: list[Note] = []
    note_differences = _note_differences(source, target, namespaces, sample, progress, merged=merged)
    differences = list(islice(note_differences, MAX_DIFFERENCES))
    documents, others = documents_in(source, namespaces), documents_in(target, namespaces)
    for key in sorted({*documents} if merged else {*documents, *others}):
        one, two = documents.get(key), others.get(key)
        if one != two:
            namespace, root, name = key
            problem = "missing" if two is None else "extra" if one is None else "fingerprint or notes"
            differences.append(Difference("document", namespace, f"{root}/{name}", problem))
    model, other_model = source.model, target.model
    if model and other_model and model != other_model:
        differences.insert(0, Difference("store", "", other_model.name, f"not searched with {model.name}"))
    if merged and count_notes(target, namespaces) > notes:
        sample = []
    return StoreComparison(
        notes=notes,
        differences=differences,
        searches=_compare_searches(source, target, sample, progress),
        seconds=time.monotonic() - started,
    )


def _note_differences(
    source: Store,
    target: Store,
    namespaces: Sequence[str] | None,
    sample: list[Note],
    report: Progress,
    *,
    merged: bool,
) -> Iterator[Difference]:
    """Yield the differences of the notes, and append :data:`SAMPLE` of the source's notes to ``sample``."""
    total = count_notes(source, namespaces)
    keys: list[tuple[str, str]] = []
    for batch in note_batches(notes_in(source, namespaces)):
        _, differing = differing_notes(source, target, batch)
        yield from (Difference("note", *key_of(note), problem) for note, _, problem in differing)
        step = total // SAMPLE + 1
        sample += batch[-len(keys) % step :: step]
        keys += map(key_of, batch)
        report(len(keys), max(len(keys), total), "comparing")
    other_keys = [key_of(note) for note in notes_in(target, namespaces)]
    known, stored = set(keys), set(other_keys)
    if not merged:
        yield from (Difference("note", *key, "extra") for key in other_keys if key not in known)
    # The order counts within a namespace.
    order = sorted((key for key in keys if key in stored), key=itemgetter(0))
    other_order = sorted((key for key in other_keys if key in known), key=itemgetter(0))
    moved = next((key for key, other in zip(order, other_order, strict=True) if key != other), None)
    if moved:
        yield Difference("note", *moved, "order")


def _query_text(note: Note) -> str:
    """Return the longest words of a note."""
    text = f"{note.title} {note.content}".lower()
    words = sorted(set(_LONG_WORD.findall(text) or _WORD.findall(text)), key=lambda word: (-len(word), word))
    return " ".join(words[:QUERY_WORDS])


def _compare_searches(
    source: Store, target: Store, sample: Sequence[Note], report: Progress
) -> dict[str, SearchAgreement]:
    """Compare lexical and vector searches for some notes of the source."""
    lexical, by_vector = [], []
    model, vectors = source.vectors_of(sample)
    for done, (note, vector) in enumerate(zip(sample, vectors, strict=True), start=1):
        scope: dict[str, Any] = {"namespace": note.namespace, "filters": Filters()}
        query = parse(_query_text(note))
        if query.tokens:
            lexical.append([store.search_text(query, TOP_K, **scope) for store in (source, target)])
        if vector is not None and target.model == model:
            first = np.atleast_2d(vector)[0]
            by_vector.append([store.search_vectors(first, TOP_K, **scope) for store in (source, target)])
        report(done, len(sample), "searching")
    return {"lexical": _agreement(lexical), "vector": _agreement(by_vector)}


def _agreement(searches: Sequence[Sequence[Sequence[Candidate]]]) -> SearchAgreement:
    if not searches:
        return SearchAgreement()
    lists = [[[candidate.id for candidate in results] for results in both] for both in searches]
    overlaps = [1.0 if one == two else len({*one} & {*two}) / max(len(one), len(two)) for one, two in lists]
    return SearchAgreement(len(lists), sum(one == two for one, two in lists), sum(overlaps) / len(overlaps))
