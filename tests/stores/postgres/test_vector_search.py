"""Vector search is exact in small namespaces, and uses an index in large ones."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg import Connection

from recollect import RecollectWarning
from recollect.errors import StoreError
from recollect.model import Candidate, Filters
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.batches import NewVector
from recollect.stores.postgres import search as search_module
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.connections import Connections
from recollect.stores.postgres.postings import ScoreCache
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.postgres.vector_index import VectorIndexes
from recollect.stores.sql.tables import ActiveModel, active_model, write_vectors
from tests.stores.postgres.server import Server

T = TypeVar("T")
Vectors = NDArray[np.float32]

SearchWithDepths = Callable[[int, Filters], tuple[list[str], list[int]]]

MANY = 25_000
DIMENSION = 16
MODEL = Model("topics", DIMENSION)


def topics(number: int, dimension: int = DIMENSION) -> Vectors:
    """Return clustered unit vectors, similar to those of texts."""
    rng = np.random.default_rng(number)
    centres = rng.standard_normal((120, dimension))
    rows = centres[rng.integers(0, len(centres), number)] + 0.6 * rng.standard_normal((number, dimension))
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def store_vectors(transaction: PostgresTransaction, vectors: Vectors, model: Model = MODEL, *, first: int = 1) -> None:
    """Write minimal notes with vectors; every tenth is in a session, every third has a tag."""
    (namespace,) = transaction.namespaces.values()
    keys = range(first, first + len(vectors))
    transaction.connection.execute(
        "INSERT INTO notes (key, namespace, id, importance, created_at, updated_at, session, tags, metadata, title, "
        "summary, content) SELECT k, %s, 'n' || k, 0.5, k, k, CASE WHEN k %% 10 = 0 THEN 'tenth' END, "
        "CASE WHEN k %% 3 = 0 THEN 'third' ELSE '' END, '{}', '', '', 'note ' || k FROM unnest(%s::bigint[]) AS k",
        [namespace, list(keys)],
    )
    transaction.connection.execute(
        "UPDATE namespaces SET notes = notes + %s, revision = revision + 1 WHERE key = %s", [len(vectors), namespace]
    )
    new_vectors = [NewVector(key, namespace, b"%d" % key, vector) for key, vector in zip(keys, vectors, strict=True)]
    write_vectors(transaction, model, new_vectors)


class Searches:
    """Searches of one namespace."""

    def __init__(self, connections: Connections, namespace: str = "big") -> None:
        self.connections = connections
        self.indexes = VectorIndexes(connections)
        self.namespace = namespace

    def read(self, work: Callable[[Connection, int], T]) -> T:
        return self.connections.read(
            lambda t: work(t.connection, t.namespaces[self.namespace]), namespace=self.namespace
        )

    def nearest(
        self, vector: Vectors, limit: int, filters: Filters | None = None, exclusions: str = ""
    ) -> list[Candidate]:
        def work(connection: Connection, namespace: int) -> list[Candidate]:
            active = active_model(PostgresTransaction(connection, {}))
            assert active
            excluded = parse(exclusions) if exclusions else None
            search = search_module.NamespaceSearch(connection, namespace, ScoreCache(), self.indexes)
            return search.search_vectors(active, vector, limit, filters or Filters(), excluded)

        return self.read(work)


def best(vectors: Vectors, query: Vectors, limit: int, keep: Callable[[int], bool] = lambda _: True) -> list[str]:
    """Return the ids of the nearest vectors by exact search."""
    scores = vectors.astype(np.float64) @ query.astype(np.float64)
    order = [index for index in np.argsort(-scores, kind="stable").tolist() if keep(index + 1)]
    return [f"n{index + 1}" for index in order[:limit]]


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return topics(MANY)


@pytest.fixture(scope="module")
def big(postgres: Server, vectors: Vectors) -> Iterator[Searches]:
    """Return a namespace with too many vectors for exact search, and no index yet."""
    name = postgres.create()
    with closing(Connections(postgres.address(name))) as connections:
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, vectors)
        yield Searches(connections)
    postgres.drop(name)


@pytest.fixture(scope="module")
def indexed(big: Searches) -> Searches:
    """Return the namespace with its index, which a search has started to build."""
    big.nearest(np.eye(DIMENSION, dtype=np.float32)[0], 1)
    big.indexes.wait()
    return big


def ids(hits: list[Candidate]) -> list[str]:
    return [hit.id for hit in hits]


def test_missing_index_is_built_in_the_background(
    big: Searches, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = topics(1)[0]
    started: list[bool] = []
    monkeypatch.setattr(VectorIndexes, "start", lambda _: started.append(True))
    hits = big.nearest(query, 10)
    assert ids(hits) == best(vectors, query, 10)
    assert [hit.vector_rank for hit in hits] == list(range(1, 11))
    assert hits[0].vector_similarity == hits[0].score == pytest.approx(float(vectors.max(axis=0).max()), abs=1)
    assert started == [True]


@pytest.fixture
def no_exact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make exact search fail."""
    monkeypatch.delattr(search_module._VectorSearch, "by_scan")


@pytest.mark.usefixtures("no_exact_search")
def test_index_recall(indexed: Searches, vectors: Vectors) -> None:
    queries = topics(60)
    recall = [len(set(ids(indexed.nearest(query, 10))) & set(best(vectors, query, 10))) / 10 for query in queries]
    assert np.mean(recall) >= 0.95


def test_build_analyzes_the_tables(indexed: Searches) -> None:
    known = "SELECT count(last_analyze) FROM pg_stat_user_tables WHERE relname IN ('vectors', 'notes')"
    with indexed.connections.autocommit_connection() as connection:
        assert connection.execute(known).fetchall() == [(2,)]


def test_planner_uses_the_index(indexed: Searches) -> None:
    def plan(connection: Connection, namespace_id: int) -> str:
        connection.execute(vector_index.SEARCH_SETTINGS, {"ef_search": "200", "in_transaction": True})
        params = [namespace_id, search_module.vector_literal(topics(1)[0]), 200]
        rows = connection.execute(f"EXPLAIN {search_module.index_query(1, MODEL)}", params).fetchall()
        return "\n".join(line for (line,) in rows)

    explained = indexed.read(plan)
    assert "Index Scan using vectors_near_1" in explained
    assert "Sort" not in explained


@pytest.mark.usefixtures("no_exact_search")
def test_index_results_are_rescored(indexed: Searches) -> None:
    query = topics(3)[2]
    hits = indexed.nearest(query, 20)
    same = indexed.read(
        lambda c, n: search_module.NamespaceSearch(c, n, ScoreCache(), indexed.indexes).similarities(
            ActiveModel(1, MODEL), query, ids(hits)
        )
    )
    assert {hit.id: hit.score for hit in hits} == same
    assert [hit.score for hit in hits] == sorted(same.values(), reverse=True)


@pytest.mark.usefixtures("no_exact_search")
def test_filtered_search_uses_the_index(indexed: Searches, vectors: Vectors) -> None:
    queries, third = topics(30), Filters(tags=("third",))
    for query in queries:
        hits = ids(indexed.nearest(query, 10, third))
        assert len(set(hits) & set(best(vectors, query, 10, lambda key: key % 3 == 0))) >= 8
        assert all(int(hit[1:]) % 3 == 0 for hit in hits)


@pytest.mark.usefixtures("no_exact_search")
def test_index_search_is_widened_for_expired_notes(indexed: Searches, vectors: Vectors) -> None:
    query = topics(5)[1]
    nearest_ones = best(vectors, query, 195)
    with indexed.connections.write(["big"]) as transaction:
        transaction.connection.execute("UPDATE notes SET expires_at = 1 WHERE id = ANY (%s)", [nearest_ones])
    hits = ids(indexed.nearest(query, 10))
    with indexed.connections.write(["big"]) as transaction:
        transaction.connection.execute("UPDATE notes SET expires_at = NULL WHERE id = ANY (%s)", [nearest_ones])
    left = [note_id for note_id in best(vectors, query, 210) if note_id not in nearest_ones]
    assert len(set(hits) & set(left[:10])) >= 8


def test_selective_filters_and_large_limits_are_exact(indexed: Searches, vectors: Vectors) -> None:
    query = topics(2)[1]
    tenth = Filters(session="tenth")
    assert ids(indexed.nearest(query, 10, tenth)) == best(vectors, query, 10, lambda key: key % 10 == 0)
    assert ids(indexed.nearest(query, 700)) == best(vectors, query, 700)


def test_small_namespace_does_not_use_the_index(
    indexed: Searches, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "MIN_SHARE", 1.1)
    monkeypatch.delattr(search_module._VectorSearch, "by_index")
    assert ids(indexed.nearest(vectors[7], 1)) == ["n8"]


@pytest.fixture
def search_with_depths(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> SearchWithDepths:
    """Return a search of vectors at growing distances that also returns the depths of index scans."""
    monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 20)
    monkeypatch.setattr(vector_index, "EF_SEARCH", (20,))
    angles = np.arange(100) / 100
    rows = np.zeros((100, DIMENSION), np.float32)
    rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
    with connections.write(["big"], create=True) as transaction:
        store_vectors(transaction, rows)
    searches = Searches(connections)
    searches.indexes.ensure()
    search_index = search_module._VectorSearch._search_index

    def search(limit: int, filters: Filters) -> tuple[list[str], list[int]]:
        depths: list[int] = []

        def counted(search: search_module._VectorSearch, depth: int) -> Any:
            depths.append(depth)
            return search_index(search, depth)

        with monkeypatch.context() as patch:
            patch.setattr(search_module._VectorSearch, "_search_index", counted)
            return ids(searches.nearest(rows[0], limit, filters)), depths

    return search


class TestWidening:
    """Filters drop index results; the pass rate determines the depth of the next scan."""

    def test_index_is_searched_once_if_enough_pass(self, search_with_depths: SearchWithDepths) -> None:
        assert search_with_depths(6, Filters(tags=("third",))) == (["n3", "n6", "n9", "n12", "n15", "n18"], [20])

    def test_index_search_is_widened_by_the_pass_rate(self, search_with_depths: SearchWithDepths) -> None:
        # Six of twenty pass: a depth of 2 * 20 * 10 / 6 should yield twice the limit.
        assert search_with_depths(10, Filters(tags=("third",))) == ([f"n{3 * n}" for n in range(1, 11)], [20, 66])

    def test_index_search_is_limited(self, search_with_depths: SearchWithDepths) -> None:
        # Two of 22 pass, then all ten: 2 * 22 * 11 / 2, 2 * 242 * 11 / 10; the next depth would exceed the limit.
        hits, depths = search_with_depths(11, Filters(session="tenth"))
        assert hits == [f"n{10 * n}" for n in range(1, 11)]
        assert depths == [22, 242, 532]

    def test_index_search_without_results(self, search_with_depths: SearchWithDepths) -> None:
        hits, depths = search_with_depths(30, Filters(session="nowhere"))
        assert (hits, depths) == ([], [60])


def index_names(searches: Searches) -> list[str]:
    rows = searches.read(
        lambda c, _: c.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'vectors_near_%%' AND relkind = 'i'", []
        )
    )
    return [name for (name,) in rows.fetchall()]


class TestIndexBuilds:
    @pytest.fixture
    def small(self, connections: Connections, monkeypatch: pytest.MonkeyPatch) -> Searches:
        """Return a namespace of thirty vectors, enough for an index here."""
        monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 20)
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, topics(30))
        return Searches(connections)

    def test_index_is_built_once(self, small: Searches) -> None:
        small.indexes.ensure()
        small.indexes.ensure()
        assert index_names(small) == ["vectors_near_1"]

    def test_concurrent_builds_do_not_conflict(
        self, connections: Connections, open_connections: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 20)
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, topics(3000))
        indexes = [VectorIndexes(open_connections()) for _ in range(3)]
        with ThreadPoolExecutor(3) as executor:
            for done in [executor.submit(index.ensure) for index in indexes]:
                done.result(60)
        searches = Searches(connections)
        assert searches.read(lambda c, n: searches.indexes.ef_search(c, n, ActiveModel(1, MODEL)))

    def test_build_of_another_process_is_not_repeated(self, small: Searches) -> None:
        with small.connections.autocommit_connection() as connection:
            connection.execute("SELECT pg_try_advisory_lock(%s, %s)", vector_index._BUILD_LOCK)
            small.indexes.start()
            small.indexes.wait()
        assert index_names(small) == []
        small.indexes.start()
        small.indexes.wait()
        assert index_names(small) == ["vectors_near_1"]

    def test_no_index_for_few_notes_or_without_model(self, connections: Connections) -> None:
        VectorIndexes(connections).ensure()
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, topics(30))
        searches = Searches(connections)
        searches.indexes.ensure()
        searches.indexes.wait()
        assert index_names(searches) == []
        assert ids(searches.nearest(topics(30)[4], 1)) == ["n5"]

    def test_no_index_for_wide_vectors(self, connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 5)
        wide = topics(6, 4001)
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, wide, Model("wide", 4001))
        searches = Searches(connections)
        searches.indexes.ensure()
        assert index_names(searches) == []
        assert ids(searches.nearest(wide[4], 2)) == best(wide, wide[4], 2)

    def test_abandoned_index_is_rebuilt(self, small: Searches) -> None:
        small.indexes.ensure()
        with small.connections.autocommit_connection() as connection:
            connection.execute("DROP INDEX vectors_near_1")
            with pytest.raises(Exception, match="duplicate|unique"):
                connection.execute("CREATE UNIQUE INDEX CONCURRENTLY vectors_near_1 ON vectors (model)")
        small.indexes.ensure()
        small.nearest(topics(1)[0], 1)
        assert small.read(lambda c, n: small.indexes.ef_search(c, n, ActiveModel(1, MODEL)))

    def test_indexes_of_old_models_are_dropped(self, small: Searches) -> None:
        small.indexes.ensure()
        with small.connections.write(None) as transaction:
            transaction.connection.execute("DELETE FROM vectors")
            transaction.connection.execute("DELETE FROM models")
        small.indexes.ensure()
        assert index_names(small) == []

    def test_old_pgvector_builds_no_index(self, small: Searches, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_index, "_MIN_PGVECTOR_FOR_INDEX", (99, 0))
        small.indexes.ensure()
        assert index_names(small) == []

    def test_missing_index_is_not_looked_for_by_every_search(
        self, small: Searches, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[bool] = []
        monkeypatch.setattr(VectorIndexes, "ensure", lambda _: looks.append(True))

        def search() -> None:
            small.nearest(topics(1)[0], 1)
            small.indexes.wait()

        search()
        search()
        assert len(looks) == 1
        monkeypatch.setattr(vector_index, "RETRY_SECONDS", 0.0)
        search()
        assert len(looks) == 2

    def test_closed_store_does_not_warn(self, small: Searches, monkeypatch: pytest.MonkeyPatch) -> None:
        go_on = threading.Event()

        def fail(_: VectorIndexes) -> None:
            go_on.wait(30)
            raise StoreError("the database is gone")

        monkeypatch.setattr(VectorIndexes, "ensure", fail)
        small.indexes.start()
        small.indexes.close()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            go_on.set()
            small.indexes.wait()
            small.indexes.start()
            small.indexes.wait()
        assert caught == []

    def test_read_only_store_builds_no_index(
        self, small: Searches, open_connections: Callable[..., Connections]
    ) -> None:
        reading = Searches(open_connections(read_only=True))
        reading.nearest(topics(1)[0], 1)
        reading.indexes.wait()
        assert index_names(small) == []

    def test_failed_build_warns_once(self, small: Searches, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_index, "_PLAN", "SELECT %s, %s, 1 / 0")

        def search() -> None:
            small.nearest(topics(1)[0], 1)
            small.indexes.wait()

        with pytest.warns(RecollectWarning, match="searched without an index, which takes longer: .*zero"):
            search()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search()


_SEARCH_SCRIPT = """
import sys
import numpy as np
import psycopg
from recollect.model import Filters
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.store import PostgresStore
vector_index.MAX_EXACT_NOTES = 20
store = PostgresStore(sys.argv[1])
_, = store.search_vectors(np.eye(64, dtype=np.float32)[0], 1, namespace="big", filters=Filters())
assert store._vector_indexes._thread.is_alive()
with psycopg.connect(sys.argv[1], autocommit=True) as watching:  # it leaves when the server is at it
    while store._vector_indexes._thread.is_alive() and not watching.execute(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND state = 'active'"
    ).fetchall():
        pass
"""


def test_server_finishes_the_build_of_an_ended_process(database: str, connections: Connections) -> None:
    """The build goes on if the process that started it searches once and exits."""
    with connections.write(["big"], create=True) as transaction:
        store_vectors(transaction, topics(6000, 64), Model("wider", 64))
    subprocess.run([sys.executable, "-c", _SEARCH_SCRIPT, database], check=True)
    searches, end = Searches(connections), time.monotonic() + 60
    while not searches.read(lambda c, _: c.execute(_VALID).fetchall() == [(True,)]):
        assert time.monotonic() < end, "nobody finishes it"
        time.sleep(0.05)


_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('recollect.vectors_near_1')"


class TestExactSearch:
    def test_half_precision_does_not_change_results(self, connections: Connections) -> None:
        """Vectors that are the same in half precision have different scores; ties are sorted by path and id."""
        base = topics(1, 8)[0]
        rows = np.stack([base + np.float32(1e-5) * index * topics(2, 8)[1] for index in range(40)])
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, rows, Model("near", 8))
        query = topics(2, 8)[1]
        assert ids(Searches(connections).nearest(query, 5)) == best(rows, query, 5)


class TestRecall:
    """An index with low recall is not used."""

    @pytest.fixture
    def scattered(self, connections: Connections, monkeypatch: pytest.MonkeyPatch) -> tuple[Searches, Vectors]:
        """Return uniformly distributed vectors, for which an HNSW graph has low recall."""
        monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 20)
        monkeypatch.setattr(vector_index, "EF_SEARCH", (2, 4))
        rows = np.random.default_rng(3).standard_normal((3000, 64))
        vectors: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        with connections.write(["big"], create=True) as transaction:
            store_vectors(transaction, vectors, Model("anywhere", 64))
        return Searches(connections), vectors

    def comment(self, searches: Searches) -> str | None:
        rows = searches.read(
            lambda c, _: c.execute("SELECT obj_description('recollect.vectors_near_1'::regclass)").fetchall()
        )
        text: str | None = rows[0][0]
        return text

    def test_index_with_low_recall_is_not_used(self, scattered: tuple[Searches, Vectors]) -> None:
        searches, vectors = scattered
        searches.indexes.ensure()
        assert self.comment(searches) == "breadth 0 for 3000 notes"
        query = topics(1, 64)[0]
        assert ids(searches.nearest(query, 10)) == best(vectors, query, 10)
        assert searches.indexes._thread is None

    def test_lowest_sufficient_ef_search_is_used(
        self, scattered: tuple[Searches, Vectors], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        searches, vectors = scattered
        monkeypatch.setattr(vector_index, "EF_SEARCH", (2, 1000))
        searches.indexes.ensure()
        assert self.comment(searches) == "breadth 1000 for 3000 notes"
        monkeypatch.delattr(search_module._VectorSearch, "by_scan")
        query = topics(1, 64)[0]
        assert len(set(ids(searches.nearest(query, 10))) & set(best(vectors, query, 10))) >= 9

    def test_index_is_tested_again_after_growth(
        self, scattered: tuple[Searches, Vectors], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        searches, _ = scattered
        searches.indexes.ensure()
        searches.indexes.ensure()  # nothing has changed
        with searches.connections.write(["big"]) as transaction:
            store_vectors(transaction, topics(3001, 64), Model("anywhere", 64), first=3001)
        monkeypatch.setattr(vector_index, "MIN_RECALL", 0.0)
        searches.nearest(topics(1, 64)[0], 1)
        searches.indexes.wait()
        assert self.comment(searches) == "breadth 2 for 6001 notes"
