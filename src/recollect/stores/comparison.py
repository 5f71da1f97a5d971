"""Compare two stores: the same notes to the last bit, in the same order, with the same search results.

A hash of each namespace shows whether its notes are the same. Where it differs, the notes are read again and compared
one by one, so that what changed between two reads does not count. Searches are compared for a sample of the notes.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.model import Candidate, Filters, Note
from recollect.progress import Progress
from recollect.query import parse
from recollect.stores.base import Store
from recollect.stores.copying import (
    canonical_json,
    count_notes,
    differing_notes,
    documents_in,
    note_batches,
    notes_in,
)

if TYPE_CHECKING:
    from recollect.stores.base import Vector

SAMPLE = 50
"""For how many notes searches are compared."""
MAX_DIFFERENCES = 1000
"""After how many differences the comparison stops."""
MIN_OVERLAP = 0.9
"""How much of the results of searches must be the same: an index may be approximate, and scores may tie."""
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
class NamespaceSummary:
    """What one of the stores has in a namespace."""

    notes: int
    digest: str
    """The hash of all notes with their vectors, in their order."""


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

    namespaces: Mapping[str, Mapping[str, NamespaceSummary]]
    """For each namespace, that of ``source`` and ``target``, where they have it."""
    differences: Sequence[Difference]
    """The first :data:`MAX_DIFFERENCES`."""
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
    expected = count_notes(source, namespaces)
    total = expected + count_notes(target, namespaces)
    done = 0
    queries: list[_SampledQuery] = []
    summaries: dict[str, dict[str, NamespaceSummary]] = {}
    for side, store in (("source", source), ("target", target)):
        counts: Counter[str] = Counter()
        hashes: dict[str, Any] = {}
        for batch in note_batches(notes_in(store, namespaces)):
            _, vectors = store.vectors_of(batch)
            for note, vector in zip(batch, vectors, strict=True):
                counts[note.namespace] += 1
                data = canonical_json(note.to_dict()).encode() + (
                    b"" if vector is None else vector.astype("<f4").tobytes()
                )
                hashes.setdefault(note.namespace, blake2b(digest_size=16)).update(data)
                if store is source and done % (expected // SAMPLE + 1) == 0:
                    queries.append(_sampled_query(note, vector))
                done += 1
            progress(done, max(done, total), "comparing")
        for name, count in counts.items():
            summaries.setdefault(name, {})[side] = NamespaceSummary(count, hashes[name].hexdigest())
    changed = [name for name, sides in summaries.items() if sides.get("source") != sides.get("target")]
    differences = islice(_differences(source, target, namespaces, changed, merged=merged), MAX_DIFFERENCES)
    return StoreComparison(
        namespaces=summaries,
        differences=tuple(differences),
        searches=_compare_searches(source, target, [] if merged and total > 2 * expected else queries, progress),
        seconds=time.monotonic() - started,
    )


def _differences(
    source: Store, target: Store, namespaces: Sequence[str] | None, changed: Iterable[str], *, merged: bool
) -> Iterator[Difference]:
    """Yield the differences of the models, of the notes in ``changed`` namespaces, and of the documents."""
    model, other_model = source.model, target.model
    if model and other_model and model != other_model:
        yield Difference("store", "", other_model.name, f"not searched with {model.name}")
    for namespace in changed:
        yield from _note_differences(source, target, namespace, merged=merged)
    documents, others = documents_in(source, namespaces), documents_in(target, namespaces)
    for key in sorted({*documents} if merged else {*documents, *others}):
        one, two = documents.get(key), others.get(key)
        if one != two:
            namespace, root, name = key
            problem = "missing" if two is None else "extra" if one is None else "fingerprint or notes"
            yield Difference("document", namespace, f"{root}/{name}", problem)


def _note_differences(source: Store, target: Store, namespace: str, *, merged: bool) -> Iterator[Difference]:
    order: dict[str, None] = {}
    for batch in note_batches(source.notes(namespace=namespace)):
        order |= dict.fromkeys(note.id for note in batch)
        for note, _, problem in differing_notes(source, target, batch):
            yield Difference("note", namespace, note.id, problem)
            if problem == "missing":
                del order[note.id]
    other_order = [note.id for note in target.notes(namespace=namespace)]
    if not merged:
        yield from (Difference("note", namespace, name, "extra") for name in other_order if name not in order)
    for name, other in zip(order, (name for name in other_order if name in order), strict=False):
        if name != other:
            yield Difference("note", namespace, name, "order")
            return


class _SampledQuery(NamedTuple):
    namespace: str
    text: str
    vector: Vector | None


def _sampled_query(note: Note, vector: Vector | None) -> _SampledQuery:
    """Return a query of the longest words of a note, and its vector."""
    text = f"{note.title} {note.content}".lower()
    words = sorted(set(_LONG_WORD.findall(text) or _WORD.findall(text)), key=lambda word: (-len(word), word))
    return _SampledQuery(note.namespace, " ".join(words[:QUERY_WORDS]), vector)


def _compare_searches(
    source: Store, target: Store, queries: Sequence[_SampledQuery], report: Progress
) -> dict[str, SearchAgreement]:
    """Compare lexical and vector searches."""
    lexical, by_vector = [], []
    comparable = source.model is not None and source.model == target.model
    for done, (namespace, text, vector) in enumerate(queries, start=1):
        limits: dict[str, Any] = {"namespace": namespace, "filters": Filters()}
        if text:
            query = parse(text)
            lexical.append([store.search_text(query, TOP_K, **limits) for store in (source, target)])
        if vector is not None and comparable:
            first = np.atleast_2d(vector)[0]
            by_vector.append([store.search_vectors(first, TOP_K, **limits) for store in (source, target)])
        report(done, len(queries), "searching")
    return {"lexical": _agreement(lexical), "vector": _agreement(by_vector)}


def _agreement(searches: Sequence[Sequence[Sequence[Candidate]]]) -> SearchAgreement:
    if not searches:
        return SearchAgreement()
    lists = [[[candidate.id for candidate in results] for results in both] for both in searches]
    overlaps = [1.0 if one == two else len({*one} & {*two}) / max(len(one), len(two)) for one, two in lists]
    return SearchAgreement(len(lists), sum(one == two for one, two in lists), sum(overlaps) / len(overlaps))
