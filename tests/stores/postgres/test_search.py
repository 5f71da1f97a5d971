"""Lexical search and name search return what SQLite returns, in the same order, with the same scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.model import Candidate, Filters, draft_of
from recollect.query import Query, expression, parse
from recollect.query.expressions import Semantics
from recollect.stores.base import Store
from recollect.stores.postgres import search
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SQLiteStore
from tests.stores.postgres.fts5_reference import NOTES, queries
from tests.stores.postgres.server import Server
from tests.stores.postgres.test_scoring import BOOK, is_scored_as_a_whole
from tests.strategies import ENGINE_EXAMPLES

NAMESPACE = "default"
Stores = tuple[Store, Store]

_NAMES = [
    "Ines Weber",
    "ines-webber",
    "Müller & Söhne",
    "Мария Иванова",
    "Мария Ивановна",
    "日本語 入門",
    "हिन्दी भाषा",
    "straße 17",
    "aaaaaaaa",
    "ёжъёжъёж",  # two of its trigrams have the same ASCII form
    "x",
    "node.js",
    "kubernetes cluster notes",
    "ΩΩΩ ωωω",
    "",
    "very " * 300 + "long",
]


def drafts() -> Iterator[dict[str, Any]]:
    for key, (_, title, summary, tags, content) in enumerate(NOTES):
        yield {
            "id": f"n{key}",
            "path": f"notes/{key % 7}/{key}.md" if key % 3 else "",
            "title": title,
            "summary": summary,
            "tags": tags.split(),
            "content": content,
            "session": f"s{key % 4}" if key % 4 else "",
            "metadata": {"half": key % 2 == 0},
            "created_at": f"2026-01-{key % 28 + 1:02d}",
        }
    yield {"id": "book", "content": BOOK}
    for number in range(40):  # equal scores, not in the order of their paths
        yield {
            "id": f"tie{number}",
            "path": f"ties/{(number * 7) % 40}.md" if number % 2 else "",
            "content": "tied knots",
        }
    for number, name in enumerate(_NAMES):
        yield {"id": f"name{number}", "title": name, "content": "named"}
        yield {"id": f"path{number}", "path": f"named/{name.strip().replace('/', '')} {number}.md", "content": "named"}


@pytest.fixture(scope="module")
def stores(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    name = postgres.create()
    notes = [draft_of(draft) for draft in drafts()]
    with (
        closing(PostgresStore(postgres.address(name))) as postgres_store,
        closing(SQLiteStore(tmp_path_factory.mktemp("beside") / "memory.db")) as sqlite_store,
    ):
        for store in (postgres_store, sqlite_store):
            store.write([{**note} for note in notes])
        yield postgres_store, sqlite_store
    postgres.drop(name)


def ranked(candidates: Sequence[Candidate]) -> list[tuple[str, float, int | None]]:
    return [(candidate.id, candidate.score, candidate.lexical_rank) for candidate in candidates]


_FILTERS = [
    {},
    {"tags": ["tea"]},
    {"tags": ["tea", "green"]},
    {"session": "s1"},
    {"session": ""},
    {"path_prefix": "notes/3/"},
    {"metadata": {"half": True}},
    {"created_after": "2026-01-10", "created_before": "2026-01-20", "updated_after": "2026-01-01"},
    {"updated_before": "2026-01-01"},
]


@settings(max_examples=ENGINE_EXAMPLES // 80)
@given(queries, st.sampled_from([1, 5, 300]), st.sampled_from(_FILTERS), st.sampled_from(["strict", "literal"]))
@example(parse('"green tea"'), 5, {}, "strict")
@example(parse("tied OR knots"), 5, {}, "strict")
@example(parse("word3 OR tied"), 3, {"session": ""}, "strict")
@example(parse("tea"), 5, _FILTERS[-2], "strict")
@example(parse("tea"), 5, _FILTERS[-1], "literal")
def test_lexical_results_equal_those_of_sqlite(
    stores: Stores, query: Query, limit: int, filters: dict[str, Any], semantics: Semantics
) -> None:
    actual, expected = (
        ranked(store.search_text(query, limit, namespace=NAMESPACE, filters=Filters.of(filters), semantics=semantics))
        for store in stores
    )
    node = expression(query, semantics)
    if node is None or is_scored_as_a_whole(node):
        assert actual == expected
    elif limit == 300:
        assert {note_id for note_id, *_ in actual} == {note_id for note_id, *_ in expected}


def test_filter_reads_the_whole_ranking(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FILTERED_NOTES", 2)
    query, filters = parse("tea OR green OR cafe"), Filters(session="s3")
    actual, expected = (ranked(store.search_text(query, 8, namespace=NAMESPACE, filters=filters)) for store in stores)
    assert actual == expected
    assert len(actual) == 8


@settings(max_examples=ENGINE_EXAMPLES // 200)
@given(queries)
@example(parse('tea NOT "tea at the end"'))
@example(parse('tea NOT "green tea at the end"'))
@example(parse('tea NOT "tea cup"'))
@example(parse("tea NOT word16990"))
def test_exclusions_equal_those_of_sqlite(stores: Stores, query: Query) -> None:
    ids = ["book", *(f"n{key}" for key in range(len(NOTES)))]
    actual, expected = (
        [candidate.id for candidate in store.candidates(ids, namespace=NAMESPACE, filters=Filters(), exclusions=query)]
        for store in stores
    )
    assert actual == expected


@settings(max_examples=ENGINE_EXAMPLES // 200)
@given(st.lists(queries, max_size=4))
@example([parse("tea"), parse("teas"), parse("?!"), parse("nothing"), parse('"green tea"'), parse("te*")])
def test_counts_equal_those_of_sqlite(stores: Stores, counted: list[Query]) -> None:
    actual, expected = (store.note_counts(counted, namespace=NAMESPACE) for store in stores)
    assert actual == expected


_letters = st.sampled_from([*"abeinrsw ", *"МариявяёжüßΩ日本語हन"])
_word = st.one_of(
    st.sampled_from([word for name in _NAMES for word in name.split()[:3]]),
    st.text(_letters, max_size=8),
    st.builds(
        lambda name, at, letter: name[: at % (len(name) + 1)] + letter + name[at % (len(name) + 1) + 1 :],
        st.sampled_from(_NAMES[:-1]),
        st.integers(0, 20),
        _letters,
    ),
)


@settings(max_examples=ENGINE_EXAMPLES // 80)
@given(st.lists(_word, min_size=1, max_size=3), st.booleans(), st.sampled_from([{}, {"path_prefix": "named/"}]))
@example(["ёжъёжъ"], True, {})
@example(["very"], True, {})
@example([""], True, {})
@example(["a" * 900], True, {})
@example(["Ω" * 900, "webber"], True, {})
@example(["".join(map(chr, range(0x4E00, 0x6000)))], True, {})  # more trigrams than any name has
def test_name_similarities_equal_those_of_sqlite(
    stores: Stores, words: list[str], titles: bool, filters: dict[str, Any]
) -> None:
    actual, expected = (
        ranked(store.search_names(words, 20, namespace=NAMESPACE, filters=Filters.of(filters), titles=titles))
        for store in stores
    )
    assert actual == expected


def test_repair_rebuilds_wrong_names(postgres: Server) -> None:
    name = postgres.create()
    with closing(PostgresStore(postgres.address(name))) as store:
        store.write(
            [draft_of({"id": "a", "path": "tea.md", "content": "x"}), draft_of({"title": "Ines", "content": ""})]
        )
        with store._connections.write([NAMESPACE]) as transaction:
            transaction.connection.execute("UPDATE names SET name = 'coffee' WHERE name = 'tea'")
        problems = {finding.part: finding.problem for finding in store.check() if finding.problem}
        assert problems == {
            "names of 'default'": "the stored names of note 'tea.md' differ from its path and title",
        }
        assert not any(finding.problem for finding in store.repair())
        results = store.search_names(["teaa"], 5, namespace=NAMESPACE, filters=Filters())
        assert [candidate.id for candidate in results] == ["a"]
    postgres.drop(name)


@settings(max_examples=ENGINE_EXAMPLES // 800)
@given(
    st.lists(st.sampled_from("graen teaa brewng brewinng cafes kubernetse tied wxyz knoots numbre".split()), max_size=3)
)
def test_similar_words_equal_those_of_sqlite(stores: Stores, words: list[str]) -> None:
    actual, expected = (store.similar_words(words, namespace=NAMESPACE) for store in stores)
    assert actual == expected
