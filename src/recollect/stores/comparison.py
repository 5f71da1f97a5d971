"""Compare one store, the target, with another, the source: notes, vectors, documents and search results.

All notes, vectors and documents are compared, and the order of the notes within each namespace. Searches are compared
for a sample of the notes: a lexical search for the longest words of a note, and a vector search with its vector.
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

SAMPLE = 50  # the number of notes for which searches are compared
MAX_DIFFERENCES = 1000  # the number of differing notes after which the comparison of notes stops
MIN_OVERLAP = 0.9  # the minimum overlap of a copy's search results; not 1: indexes may be approximate, scores may tie
TOP_K = 10  # the number of results of each search
QUERY_WORDS = 3  # the maximum number of words in a lexical query

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")  # at least four letters
_WORD = re.compile(r"[^\W_]+")  # letters and digits, for notes without long words


@dataclass(frozen=True, slots=True)
class SearchAgreement:
    """How far the search results of two stores agree, for one leg (lexical or vector)."""

    searches: int = 0  # how many searches were run in both stores
    same: int = 0  # how many searches returned the same notes in the same order from both stores
    overlap: float = 1.0  # the mean over the searches of the fraction of notes that both stores returned


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two stores."""

    part: str  # "note", "document" or "store"
    namespace: str
    name: str  # the id of a note, the root and name of a document, or the model of the target
    problem: str  # "missing" or "extra" in the target, "order", the names of fields that differ, or a message


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreComparison:
    """The result of a comparison."""

    notes: int  # how many notes the source has
    differences: Sequence[Difference]
    """All differences of documents and models, and the first :data:`MAX_DIFFERENCES` differences of notes."""
    searches: Mapping[str, SearchAgreement]  # by leg: "lexical" and "vector"
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

    If ``merged`` is true, the target may have notes and documents that the source lacks. If it has such notes, searches
    are not compared, because they would return these notes. ``report`` is called with the number of notes or searches
    done, their total and the phase: ``comparing`` or ``searching``.
    """
    started = time.monotonic()
    progress = report or (lambda *_: None)
    notes = count_notes(source, namespaces)
    sample: list[Note] = []
    note_differences = _note_differences(source, target, namespaces, sample, progress, merged=merged)
    differences = list(islice(note_differences, MAX_DIFFERENCES))
    source_documents, target_documents = documents_in(source, namespaces), documents_in(target, namespaces)
    for key in sorted({*source_documents} if merged else {*source_documents, *target_documents}):
        problem = "fingerprint or notes"
        if key not in target_documents:
            problem = "missing"
        elif key not in source_documents:
            problem = "extra"
        elif source_documents[key] == target_documents[key]:
            continue
        namespace, root, name = key
        differences.append(Difference("document", namespace, f"{root}/{name}", problem))
    model, target_model = source.model, target.model
    if model and target_model and model != target_model:
        differences.insert(0, Difference("store", "", target_model.name, f"the source has the model {model.name}"))
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
    """Yield the differences of the notes, and append about :data:`SAMPLE` notes of the source to ``sample``."""
    total = count_notes(source, namespaces)
    step = total // SAMPLE + 1
    source_keys: list[tuple[str, str]] = []
    for batch in note_batches(notes_in(source, namespaces)):
        _, differing = differing_notes(source, target, batch)
        yield from (Difference("note", *key_of(note), problem) for note, _, problem in differing)
        first_sampled = -len(source_keys) % step  # so that every step-th note of all batches is sampled
        sample += batch[first_sampled::step]
        source_keys += map(key_of, batch)
        report(len(source_keys), max(len(source_keys), total), "comparing")
    target_keys = [key_of(note) for note in notes_in(target, namespaces)]
    in_source, in_target = set(source_keys), set(target_keys)
    if not merged:
        yield from (Difference("note", *key, "extra") for key in target_keys if key not in in_source)
    # The order of the common notes is compared within each namespace. A stable sort by the namespace keeps this order.
    source_order = sorted((key for key in source_keys if key in in_target), key=itemgetter(0))
    target_order = sorted((key for key in target_keys if key in in_source), key=itemgetter(0))
    for source_key, target_key in zip(source_order, target_order, strict=True):
        if source_key != target_key:
            yield Difference("note", *source_key, "order")
            return


def _query_text(note: Note) -> str:
    """Return the longest words of a note, as the text of a query."""
    text = f"{note.title} {note.content}".lower()
    words = sorted(set(_LONG_WORD.findall(text) or _WORD.findall(text)), key=lambda word: (-len(word), word))
    return " ".join(words[:QUERY_WORDS])


def _compare_searches(
    source: Store, target: Store, sample: Sequence[Note], report: Progress
) -> dict[str, SearchAgreement]:
    """Compare lexical and vector searches for the notes of ``sample``; return the agreement of each leg."""
    lexical_pairs, vector_pairs = [], []
    model, vectors = source.vectors_of(sample)
    for done, (note, vector) in enumerate(zip(sample, vectors, strict=True), start=1):
        scope: dict[str, Any] = {"namespace": note.namespace, "filters": Filters()}
        query = parse(_query_text(note))
        if query.tokens:
            lexical_pairs.append([_ids(store.search_text(query, TOP_K, **scope)) for store in (source, target)])
        if vector is not None and target.model == model:
            first_chunk = np.atleast_2d(vector)[0]
            vector_pairs.append([_ids(store.search_vectors(first_chunk, TOP_K, **scope)) for store in (source, target)])
        report(done, len(sample), "searching")
    return {"lexical": _agreement(lexical_pairs), "vector": _agreement(vector_pairs)}


def _ids(results: Sequence[Candidate]) -> list[str]:
    return [candidate.id for candidate in results]


def _agreement(pairs: Sequence[Sequence[list[str]]]) -> SearchAgreement:
    """Return how far search results agree; each pair has the ids of the results of the source and of the target."""
    if not pairs:
        return SearchAgreement()
    same = sum(ids == target_ids for ids, target_ids in pairs)
    overlaps = [  # two empty lists agree
        1.0 if ids == target_ids else len({*ids} & {*target_ids}) / max(len(ids), len(target_ids))
        for ids, target_ids in pairs
    ]
    return SearchAgreement(len(pairs), same, sum(overlaps) / len(overlaps))
