"""Searches find what SQLite finds, in the same order and with the same scores."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.model import Candidate, Draft, Filters
from recollect.query import Query, expression, parse
from recollect.query.expressions import Reading
from recollect.stores.bm25 import Occurrences
from recollect.stores.milvus import searching
from recollect.stores.milvus.scoring import Leaf
from recollect.stores.milvus.searching import View
from recollect.stores.milvus.store import MilvusStore
from recollect.stores.sqlite.store import SQLiteStore
from tests.generated import MANY, query_text
from tests.stores.postgres.beside import queries
from tests.stores.postgres.test_scoring import is_scored_as_a_whole

_WORDS = (
    "tea green teas brewing brew café cafe o'neil node.js nodejs 2026-04-04 running run runs it's foo:* (bar) "
    "a&b c|d \U0001f375 日本 İstanbul ß STRASSE x\u0301y 42 ERR_42 AND OR NOT \ue000 straße cup of the and with milk"
).split()
LONG = " ".join(f"word{number} green tea" for number in range(6_000)) + " brew at the very end"


def drafts() -> list[Draft]:
    chance = random.Random(7)  # noqa: S311 (no secret)

    def some(most: int) -> str:
        # Some words are frequent, most are rare.
        return " ".join(
            _WORDS[min(int(chance.expovariate(0.12)), len(_WORDS) - 1)] for _ in range(chance.randrange(most))
        )

    made: list[Draft] = [
        {
            "path": f"{chance.choice(['work', 'home', 'Wörk'])}/{number}-{some(2)}.md".replace(" ", ""),
            "title": some(5),
            "summary": some(4),
            "content": some(30) or "tea",
            "tags": tuple(set(some(3).replace("\ue000", "").split())),
            "session": f"s{number % 5}",
            "position": number,
            "metadata": {"n": number % 3},
            "vector": np.array([chance.gauss(0, 1) for _ in range(4)], dtype=np.float32),
        }
        for number in range(300)
    ]
    made += [{"id": f"{number}", "content": LONG, "vector": np.ones(4, dtype=np.float32)} for number in range(2)]
    for draft in made:
        if not draft.get("path"):
            continue
        draft["id"] = f"id-{draft['path']}"
    return made


Pair = tuple[SQLiteStore, MilvusStore]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("pair")
    sqlite, milvus = SQLiteStore(folder / "memory.db"), MilvusStore(f"milvus://{folder}/milvus.db")
    for store in (sqlite, milvus):
        made = drafts()
        store.write(made[:200])
        store.write([{"content": "green tea elsewhere", "namespace": "other", "vector": np.ones(4, dtype=np.float32)}])
        store.write(made[200:])
        store.delete([made[3]["id"], made[250]["id"]], namespace="default")
        store.write([{"id": made[5]["id"], "title": "brewing green tea", "content": "café", "vector": np.ones(4)}])
    yield sqlite, milvus
    sqlite.close()
    milvus.close()


def told(found: list[Candidate]) -> list[tuple[Any, ...]]:
    return [(each.id, each.path, each.lexical_rank, each.lexical_score, each.score, each.content) for each in found]


filters = st.sampled_from(
    [
        Filters(),
        Filters(),
        Filters(path_prefix="work/"),
        Filters(tags=("tea",)),
        Filters(session="s1", metadata={"n": 1}),
        Filters(path_prefix="Wörk", session="s2"),
    ]
)
any_reading = st.sampled_from(["strict", "literal"])


@settings(max_examples=MANY // 80)
@given(queries, any_reading, filters, st.sampled_from([1, 3, 10, 50, 400, 20_000]))
@example(parse('"at the very end"'), "strict", Filters(), 10)
@example(parse('word17 "tea word18 green"'), "strict", Filters(), 10)
@example(parse('wor* NOT "very end"'), "strict", Filters(), 10)
def test_any_query_finds_the_same(
    pair: Pair, query: Query, reading: Reading, given_filters: Filters, limit: int
) -> None:
    node = expression(query, reading)
    if node is None or not is_scored_as_a_whole(node):
        limit = 20_000
    found, expected = (
        store.search_text(query, limit, namespace="default", filters=given_filters, reading=reading)
        for store in (pair[1], pair[0])
    )
    if node is None or is_scored_as_a_whole(node):
        assert told(found) == told(expected)
    else:
        assert {each.id for each in found} == {each.id for each in expected}


@pytest.fixture(scope="class")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Give few notes, of which the BM25 function proposes whatever is found, however little it is."""
    folder: Path = tmp_path_factory.mktemp("few")
    sqlite, milvus = SQLiteStore(folder / "memory.db"), MilvusStore(f"milvus://{folder}/milvus.db")
    for store in (sqlite, milvus):
        store.write(drafts()[280:301])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "RANKED_HERE", 0)
        patch.setattr(searching, "PROPOSED", 0)
        yield sqlite, milvus
    sqlite.close()
    milvus.close()


class TestProposals:
    """Whatever is asked for reaches the engine."""

    @settings(max_examples=MANY // 20)
    @given(st.one_of(queries, query_text.map(parse)), any_reading, filters)
    @example(parse('wor* NOT "very end"'), "strict", Filters())
    @example(parse('"at the very end" OR tea'), "strict", Filters(path_prefix="work"))
    def test_any_query_finds_the_same(self, few: Pair, query: Query, reading: Reading, given_filters: Filters) -> None:
        found, expected = (
            store.search_text(query, 30, namespace="default", filters=given_filters, reading=reading)
            for store in reversed(few)
        )
        node = expression(query, reading)
        if node is None or is_scored_as_a_whole(node):
            assert told(found) == told(expected)
        else:
            assert {each.id for each in found} == {each.id for each in expected}


@pytest.mark.parametrize(
    "text", ["tea", "green tea brew", "tea AND green", '"green tea" cup', "tea milk NOT 日本", "日本 tea", "te* bre*"]
)
def test_what_is_proposed_scores_the_same(pair: Pair, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(searching, "RANKED_HERE", 50)
    monkeypatch.setattr(searching, "PROPOSED", 50)
    query = parse(text)
    expected = pair[0].search_text(query, 400, namespace="default", filters=Filters())
    found = pair[1].search_text(query, 10, namespace="default", filters=Filters())
    scores = {each.id: each.score for each in expected}
    assert len(scores) > 50
    assert len(found) == 10
    assert [each.score for each in found] == [scores[each.id] for each in found]
    ids = [each.id for each in found]
    assert [each.id for each in expected if each.id in ids] == ids


@settings(max_examples=MANY // 200)
@given(st.lists(queries, max_size=3))
def test_any_query_is_counted_alike(pair: Pair, asked: list[Query]) -> None:
    found, expected = (store.note_counts(asked, namespace="default") for store in reversed(pair))
    assert found == expected


@settings(max_examples=MANY // 200)
@given(queries, filters, st.sampled_from([1, 3, 10, 400]), st.lists(st.integers(-2, 2), min_size=4, max_size=4))
@example(parse("zzz NOT word17"), Filters(), 400, [1, 0, 0, 0])
@example(parse('zzz NOT "very end"'), Filters(), 400, [0, 0, 0, 0])
def test_any_vector_finds_the_same(
    pair: Pair, without: Query, given_filters: Filters, limit: int, vector: list[int]
) -> None:
    asked = np.array(vector, dtype=np.float32)
    found, expected = (
        store.search_vectors(asked, limit, namespace="default", filters=given_filters, without=without)
        for store in reversed(pair)
    )
    assert [(each.id, each.vector_rank, each.vector_similarity, each.score) for each in found] == [
        (each.id, each.vector_rank, each.vector_similarity, each.score) for each in expected
    ]


def test_no_list_is_too_long(pair: Pair) -> None:
    asked = np.ones(4, dtype=np.float32)
    found, expected = (
        [each.id for each in store.search_vectors(asked, 20_000, namespace="default", filters=Filters())]
        for store in reversed(pair)
    )
    assert found == expected
    assert len(found) == 300


@pytest.mark.parametrize(("most", "looks"), [(1, 3), (2, 2)])
def test_phrases_are_looked_for_again_where_too_many_were(
    lite: MilvusStore, monkeypatch: pytest.MonkeyPatch, most: int, looks: int
) -> None:
    # A store of its own: in one that others search, too, these phrases may be known already.
    lite.write([{"content": "green tea"}, {"content": "tea green tea"}])
    looked: list[Leaf] = []
    usual = View._phrase

    def noted(self: View, leaf: Leaf) -> Occurrences:
        looked.append(leaf)
        return usual(self, leaf)

    monkeypatch.setattr(View, "_phrase", noted)
    monkeypatch.setattr(searching, "MOST_PHRASES", most)
    asked = [parse(text) for text in ('"green tea"', '"tea green"', '"green tea"')]
    assert lite.note_counts(asked, namespace="default") == (2, [2, 1, 2])
    assert len(looked) == looks


@settings(max_examples=MANY // 200)
@given(queries, filters)
def test_any_exclusion_leaves_the_same(pair: Pair, without: Query, given_filters: Filters) -> None:
    ids = [draft["id"] for draft in drafts()[:40]] + ["0", "1", "unknown"]
    found, expected = (
        store.candidates(ids, namespace="default", filters=given_filters, without=without) for store in reversed(pair)
    )
    assert [each.id for each in found] == [each.id for each in expected]


@settings(max_examples=MANY // 200)
@given(st.lists(st.sampled_from([*_WORDS, "gren", "brewin", "stra", "caffe", "kyto", "worrd17"]), max_size=3))
def test_any_misspelt_word_is_like_the_same(pair: Pair, words: list[str]) -> None:
    found, expected = (store.similar_words(words, namespace="default") for store in reversed(pair))
    assert found == expected


@settings(max_examples=MANY // 400)
@given(st.lists(st.sampled_from([*_WORDS, "gren", "17-tea", "brewin"]), max_size=3), queries, filters, st.booleans())
def test_any_name_is_like_the_same(
    pair: Pair, words: list[str], without: Query, given_filters: Filters, titles: bool
) -> None:
    found, expected = (
        store.search_names(words, 7, namespace="default", filters=given_filters, titles=titles, without=without)
        for store in reversed(pair)
    )
    assert told(found) == told(expected)


def test_connections_are_the_same(pair: Pair) -> None:
    ids = [draft["id"] for draft in drafts()]
    for kinds in (None, ("mention",), ("previous", "entity")):
        found, expected = (store.edges(ids, namespace="default", reach=2, kinds=kinds) for store in reversed(pair))
        assert found == expected
        assert any(each.kind in ("mention", "previous") for each in found)
