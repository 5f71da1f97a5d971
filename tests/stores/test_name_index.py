"""Name search returns the same notes as trigram similarity over all notes."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Filters
from recollect.query import jaccard, slug_text, trigram_search, trigrams
from recollect.query.trigrams import TRIGRAM_THRESHOLD
from recollect.text import split_words
from tests.stores.engines import ENGINES
from tests.strategies import any_text

NAMESPACE_NUMBERS = count()

_word = st.text("abtén", min_size=1, max_size=6) | st.sampled_from(
    ["kubernetes", "Kubernets", "İstanbul", "日本語", "🥑"]
)
_name = st.lists(_word, min_size=1, max_size=4).map("-".join)
_path = st.builds(lambda folder, name, end: folder + name + end, st.sampled_from(["", "a/", "b/"]), _name,
                  st.sampled_from([".md", "", ".MD", "#1"]))  # fmt: skip
_note = st.fixed_dictionaries(
    {"path": _path | st.none(), "title": st.just("") | _name.map(lambda name: name.replace("-", " "))},
    optional={"tags": st.just(("x",))},
)
_words = st.lists(_word | any_text, max_size=4)


def _similarity(words: list[str], note: dict[str, Any]) -> float:
    """Return the best trigram similarity of the words to a note's path slug, title and their words."""
    similarities = [0.0]
    for name in (slug_text(note["path"] or ""), note["title"]):
        for word in words:
            name_similarity = jaccard(trigrams(word), trigrams(name))
            word_similarities = [
                jaccard(trigrams(word), trigrams(part)) for part in split_words(name) if len(part) >= 4
            ]
            similarities += [name_similarity] if name_similarity >= TRIGRAM_THRESHOLD else []
            similarities += [part for part in word_similarities if part >= 0.5]
    return max(similarities)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_any_names_are_searched_as_defined(engine: str, tmp_path: Path) -> None:
    store = ENGINES[engine](tmp_path)

    @given(st.lists(_note, max_size=12), st.lists(_note, max_size=3), _words, st.integers(0, 6), st.booleans())
    def law(
        first: list[dict[str, Any]], later: list[dict[str, Any]], words: list[str], limit: int, tagged: bool
    ) -> None:
        namespace = f"n{next(NAMESPACE_NUMBERS)}"
        filters = Filters(tags=("x",) if tagged else ())
        for drafts in (first, later):
            store.write([{**draft, "content": "x", "namespace": namespace} for draft in drafts if draft["path"]])
            store.write([{**draft, "content": "x", "namespace": namespace} for draft in drafts if not draft["path"]])
            notes = [
                {"id": note.id, "path": note.path, "title": note.title}
                for note in store.notes(namespace=namespace, filters=filters)
            ]
            results = store.search_names(words, limit, namespace=namespace, filters=filters)
            expected = trigram_search(notes, words, limit)
            assert [(result.id, result.path, result.score) for result in results] == expected
            results = store.search_names(words, limit, namespace=namespace, filters=filters, titles=True)
            titled = sorted((-_similarity(words, note), note["path"], note["id"]) for note in notes)
            assert [(-result.score, result.path, result.id) for result in results] == [
                row for row in titled if row[0] < 0
            ][:limit]

    law()
    store.close()
