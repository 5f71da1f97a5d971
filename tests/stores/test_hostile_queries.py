"""Any text is a valid query: no engine interprets it as its own syntax, and all engines return the same notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from recollect.errors import ArgumentError
from recollect.model import Candidate, Filters, draft_of
from recollect.query import Query, expand_aliases, parse
from recollect.query.expressions import Semantics
from recollect.stores.base import Store
from tests.stores.engines import ENGINES
from tests.strategies import ENGINE_EXAMPLES, query_text

NAMESPACE = "o'home; DROP"
EVERYTHING = Filters()
SEMANTICS: Sequence[Semantics] = ("strict", "literal")

_NOTES: list[dict[str, Any]] = [
    {"content": "foo bar", "path": "foo.md"},
    {"content": "Kubernetes, foo", "title": 'Kube\'s "bar"'},
    {"content": "node.js 2026-04-18 and 2026/04/04", "tags": ["'; --", "%s"], "metadata": {"'": "$1", "%": ["\\"]}},
    {"content": "日本語 🥑 😀 हिन्दी عربى", "title": "Ωμέγα", "session": "don't"},
    {"content": "straße ﬁ ΣΣ İstanbul \0 \x1a", "summary": "C++ ERR_42 a@b.c"},
    {"content": "the bar to foo: NOT AND OR NEAR(", "path": "a'b/%s \\ {0}.md"},
    {"content": "x" * 3000 + " foofoo", "id": "$1"},
    {"content": ""},
]

VECTORS = np.eye(len(_NOTES), dtype=np.float32)


def filled(store: Store) -> Store:
    notes = [
        draft_of({"id": f"n{index}", "namespace": NAMESPACE, "vector": vector} | note)
        for index, (note, vector) in enumerate(zip(_NOTES, VECTORS, strict=True))
    ]
    store.write(notes)
    return store


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """Write the same notes to a store of every engine, once for all queries."""
    with ExitStack() as stack:
        yield {
            name: filled(stack.enter_context(closing(engine(tmp_path_factory.mktemp(name)))))
            for name, engine in ENGINES.items()
        }


def check_engines_agree(results: Mapping[str, Any]) -> bool:
    """Assert that all engines return the results of SQLite; return whether there are any."""
    expected = results["sqlite"]
    assert results == dict.fromkeys(results, expected)
    return bool(expected)


def ids(results: Sequence[Candidate]) -> set[str]:
    return {candidate.id for candidate in results}


@settings(max_examples=ENGINE_EXAMPLES)
@given(query_text, st.sampled_from(SEMANTICS))
@example("foo' | bar\\", "strict")
@example("'; DROP TABLE notes; --", "literal")
def test_any_query_is_searched_alike_by_all_engines(stores: dict[str, Store], text: str, semantics: Semantics) -> None:
    query = parse(text)
    check_engines_agree(
        {
            name: ids(store.search_text(query, 20, namespace=NAMESPACE, filters=EVERYTHING, semantics=semantics))
            for name, store in stores.items()
        }
    )


def other_searches(store: Store, query: Query, words: Sequence[str], filters: Filters) -> list[Any]:
    """Run every method that takes a user's text."""
    note_ids = [note.id for note in store.notes(namespace=NAMESPACE)]
    name_results = [
        store.search_names(
            [query.raw, *words], 5, namespace=NAMESPACE, filters=filters, titles=titles, exclusions=query
        )
        for titles in (False, True)
    ]
    return [
        [(candidate.id, candidate.score) for results in name_results for candidate in results],
        store.similar_words(words, namespace=NAMESPACE),
        store.note_counts([query, *map(parse, words)], namespace=NAMESPACE),
        [
            candidate.id
            for candidate in store.candidates(note_ids, namespace=NAMESPACE, filters=EVERYTHING, exclusions=query)
        ],
        ids(store.search_vectors(VECTORS[0], 20, namespace=NAMESPACE, filters=filters, exclusions=query)),
        ids(store.search_text(query, 20, namespace=NAMESPACE, filters=filters)),
        store.candidates(words, namespace=NAMESPACE, filters=filters),
        [note and note.id for note in store.get(words, namespace=NAMESPACE)],
        store.edges([*words, *note_ids[:3]], namespace=NAMESPACE, kinds=words),
        store.documents(words[0], namespace=NAMESPACE),
        store.search_text(query, 20, namespace=words[0], filters=filters),
    ]


_FILTERED = ("nothing", "path", "tag", "session", "metadata")


@settings(max_examples=ENGINE_EXAMPLES // 40)
@given(query_text, st.lists(query_text, min_size=1, max_size=3), st.sampled_from(_FILTERED))
@example("NOT foo", ["$1", "'", "ku be%"], "metadata")
@example("", ["foo" * 700], "nothing")  # many characters, but few trigrams
def test_any_text_is_searched_alike_by_all_methods(
    stores: dict[str, Store], text: str, words: list[str], filtered: str
) -> None:
    try:
        filters = filters_of(filtered, words[0])
    except ArgumentError:
        assume(False)
    words = [word.encode(errors="replace").decode() for word in words]
    query = expand_aliases(parse(text), {"foo": words})
    assert check_engines_agree({name: other_searches(store, query, words, filters) for name, store in stores.items()})


def filters_of(kind: str, text: str) -> Filters:
    match kind:
        case "path":
            return Filters(path_prefix=text)
        case "tag":
            return Filters(tags=(text,))
        case "session":
            return Filters(session=text)
        case "metadata":
            return Filters(metadata={text: [text, {text: text}], "'": text})
        case _:
            return EVERYTHING


@pytest.mark.parametrize("separator", [" ", " AND ", " NOT ", '" "', " OR NOT "])
def test_longest_query_is_searched(stores: dict[str, Store], separator: str) -> None:
    query = parse(separator.join(f"w{number}" for number in range(12_000))[:100_000])
    for store in stores.values():
        for semantics in SEMANTICS:
            assert store.search_text(query, 20, namespace=NAMESPACE, filters=EVERYTHING, semantics=semantics) == []
        assert store.candidates(["$1"], namespace=NAMESPACE, filters=EVERYTHING, exclusions=query)
