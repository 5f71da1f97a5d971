"""Searches whose results 0.1.0 and this version must share: those of the store, below the ranking presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.model import Filters
from recollect.query import parse

WORDS = "tea green black milk sugar kettle cup water leaf steam morning garden kitchen friend paper".split()
QUERIES = ["tea", "green kettle", '"black tea"', "mil*", "tea NOT sugar", "garden AND cup", "friend paper steam"]


FILTERS = {"all": Filters(), "tag": Filters(tags=("tea",)), "metadata": Filters(metadata={"even": True})}


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the counts of words as vectors."""
    rows = [[1 + text.lower().count(word) for word in WORDS] + [1] for text in texts]
    return np.array(rows, dtype=np.float32)


def search_everything(memory: Any) -> dict[str, Any]:
    """Return all notes of a memory, and the results of lexical, vector, name and graph searches."""
    store, namespace = memory._store, {"namespace": "default"}
    results: dict[str, Any] = {"notes": [[note.id, note.path, note.content] for note in store.notes()]}
    for query in QUERIES:
        for name, filters in FILTERS.items():
            hits = store.search_text(parse(query), 10, **namespace, filters=filters)
            results[f"text {query} {name}"] = [[hit.id, hit.lexical_score] for hit in hits]
        hits = store.search_vectors(embed([query])[0], 10, **namespace, filters=Filters())
        results[f"vector {query}"] = [[hit.id, hit.vector_similarity] for hit in hits]
    names = store.search_names(["kettel", "gardn"], 5, **namespace, filters=Filters())
    results["names"] = [hit.id for hit in names]
    similar = store.similar_words(["suger"], **namespace)
    results["similar words"] = {word: list(words) for word, words in similar.items()}
    neighbours = store.neighbours("n10", **namespace)
    results["neighbours"] = sorted(f"{neighbour.kind} {neighbour.note.id}" for neighbour in neighbours)
    return results
