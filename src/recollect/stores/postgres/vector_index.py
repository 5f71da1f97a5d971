"""HNSW indexes for namespaces that are too large to compare every vector.

A thread builds a missing index in the background; until then, searches compare all vectors. Each model has its own
index. The recall of an HNSW graph depends on the vectors: it is high for those of texts, which form clusters, and low
for random ones. So an index is tested before it is used: some stored vectors are searched with and without it. The
lowest ``ef_search`` with enough recall is stored as the comment of the index, or 0 if there is none.
"""

from __future__ import annotations

import math
import re
import threading
import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

from psycopg import Connection

from recollect.errors import RecollectWarning, StoreError
from recollect.stores.base import Model
from recollect.stores.sql.tables import ActiveModel

if TYPE_CHECKING:
    from recollect.stores.postgres.connections import Connections

MAX_EXACT_NOTES = 20_000
"""Up to this many notes, a search compares all vectors of a namespace."""
MIN_SHARE = 0.2
"""The minimum share of all notes for a namespace to use the index, which finds too few notes of a small namespace."""
MAX_INDEX_DIMENSION = 4000
"""The limit of an index of ``halfvec``."""
RETEST_GROWTH = 2
"""An index is tested again when there are this many times as many notes."""
RETRY_SECONDS = 30.0
"""Seconds before a missing index is looked for again: another process may be building it."""
EF_SEARCH = (200, 400, 800)
"""The values that are tested; with lower ones, some queries find no neighbours at all."""
MIN_RECALL = 0.97
_TEST_QUERIES = 24
_TEST_LIMIT = 10

_NAME = "vectors_near_"
_LOCK = (0x5265636C, 1)  # "Recl"; the first is of migrations
_MIN_PGVECTOR = (0, 8)  # earlier versions have no iterative scan, and may return too little
_BUILD_MEMORY = 256  # megabytes; a larger index is built much slower


def halfvec(value: str, model: Model) -> str:
    """Return the SQL that casts a value to the type of a model's index."""
    return f"({value}::halfvec({model.dimension:d}))"


class RecallTest(NamedTuple):
    """The result of a test."""

    ef_search: int
    """0 if the recall is too low at every value."""
    notes: int
    """How many notes the store had."""

    def __str__(self) -> str:
        """Return the comment of the index."""
        return f"breadth {self.ef_search} for {self.notes} notes"

    @classmethod
    def parse(cls, comment: str | None) -> RecallTest | None:
        """Return the test that a comment describes; ``None`` for any other comment."""
        match = re.fullmatch(r"breadth (\d+) for (\d+) notes", comment or "")
        return cls(*map(int, match.groups())) if match else None


class VectorIndexes:
    """The HNSW indexes of one store."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failed = False
        self._closed = False
        self._started = -math.inf

    def ef_search(self, connection: Connection, namespace_id: int, active: ActiveModel) -> int:
        """Return the ``ef_search`` for this namespace; 0 if all vectors must be compared.

        A missing index is built in the background, and one that has grown much is tested again.
        """
        key, model = active
        if model.dimension > MAX_INDEX_DIMENSION:
            return 0
        ((notes, all_notes, comment),) = connection.execute(
            _STATE, [f"recollect.{_NAME}{key}", namespace_id]
        ).fetchall()
        if notes <= MAX_EXACT_NOTES:
            return 0
        test = RecallTest.parse(comment)
        outdated = test is None or all_notes > RETEST_GROWTH * test.notes
        if outdated and time.monotonic() - self._started >= RETRY_SECONDS:
            self.start()
        return test.ef_search if test and notes >= MIN_SHARE * all_notes else 0

    def start(self) -> None:
        """Build missing indexes and drop unused ones in the background."""
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._failed or self._closed or self._connections.read_only:
                return
            self._started = time.monotonic()
            self._thread = threading.Thread(target=self._run, name="recollect-vector-index", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Build missing indexes, and wait for them: a background thread would end with the process."""
        self.wait()  # a running thread may have started before something changed
        self._failed = False
        self.start()
        self.wait()

    def wait(self) -> None:
        """Wait until no index is being built here."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Start no more threads; the server finishes what it is building."""
        with self._lock:
            self._closed = True

    def _run(self) -> None:
        try:
            self.ensure()
        except StoreError as error:
            self._failed = True  # not repeated: searches work without
            if not self._closed:
                warnings.warn(
                    f"vectors are searched without an index, which takes longer: {error}",
                    RecollectWarning,
                    stacklevel=2,
                )

    def ensure(self) -> None:
        """Build the index of the active model, if a namespace is large enough; drop those of other models.

        Two processes that build would deadlock until the server cancels one, so only the one with the lock builds. The
        lock belongs to the server's side of the connection, which keeps building when the process ends.
        """
        with self._connections.autocommit_connection() as connection:
            ((locked, version, models, largest),) = connection.execute(_PLAN, _LOCK).fetchall()
            if not locked or tuple(map(int, version.split(".")[:2])) < _MIN_PGVECTOR:
                return
            active = models or {}
            for name, valid, building in connection.execute(_EXISTING, [f"{_NAME}%"]).fetchall():
                key = name.removeprefix(_NAME)
                if key not in active or not (valid or building):
                    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}{int(key):d}")
            for key, dimension in active.items() if (largest or 0) > MAX_EXACT_NOTES else ():
                if dimension <= MAX_INDEX_DIMENSION:
                    self._build(connection, int(key), Model("", dimension))

    def _build(self, connection: Connection, key: int, model: Model) -> None:
        """Build and test the index, unless it exists and was tested."""
        near = halfvec("near", model)
        connection.execute(_BUILD_SETTINGS, [_BUILD_MEMORY])
        connection.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {_NAME}{key:d} ON vectors "
            f"USING hnsw ({near} halfvec_ip_ops) WHERE model = {key:d}"
        )
        ((comment, all_notes),) = connection.execute(_TESTED, [f"recollect.{_NAME}{key}"]).fetchall()
        test = RecallTest.parse(comment)
        if test is None or all_notes > RETEST_GROWTH * test.notes:
            # A new index tells the planner the number of rows, but not their statistics.
            connection.execute("ANALYZE vectors, notes")
            test = RecallTest(measure_recall(connection, key, model), all_notes)
            connection.execute(f"COMMENT ON INDEX {_NAME}{key:d} IS '{test}'")


def measure_recall(connection: Connection, key: int, model: Model) -> int:
    """Return the lowest ``ef_search`` with enough recall for the index of a model; 0 if there is none.

    The connection must be in no transaction; afterwards it sees all namespaces.
    """
    connection.execute("SELECT set_config('recollect.namespaces', '*', false)")
    ((first, last),) = connection.execute(_KEY_RANGE, [key]).fetchall()
    notes = [first + (last - first) * index // _TEST_QUERIES for index in range(_TEST_QUERIES)]
    queries = [vector for (vector,) in connection.execute(_SAMPLE, [notes, key])]

    def search(statement: str, vector: str, limit: int) -> set[int]:
        return {note for (note,) in connection.execute(statement, [vector, limit])}

    # This statement does not use the index, which is on a cast of the column.
    exact = f"SELECT note FROM vectors WHERE model = {key:d} ORDER BY near <#> %s::halfvec LIMIT %s"  # noqa: S608 (a number)
    expected = [search(exact, query, _TEST_LIMIT) for query in queries]
    near, parameter = halfvec("near", model), halfvec("%s", model)
    indexed = f"SELECT note FROM vectors WHERE model = {key:d} ORDER BY {near} <#> {parameter} LIMIT %s"  # noqa: S608 (fixed names)
    for ef_search in EF_SEARCH:
        connection.execute(_TEST_SETTINGS, [str(ef_search)])
        hits = sum(
            len(neighbours & search(indexed, query, ef_search))
            for query, neighbours in zip(queries, expected, strict=True)
        )
        if hits >= MIN_RECALL * sum(map(len, expected)):
            return ef_search
    return 0


_STATE = """
SELECT s.notes, (SELECT sum(notes)::bigint FROM namespaces),
    (SELECT obj_description(indexrelid, 'pg_class') FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)
FROM namespaces AS s WHERE s.key = %s
"""

_TESTED = "SELECT obj_description(to_regclass(%s), 'pg_class'), (SELECT sum(notes)::bigint FROM namespaces)"

# One statement, because a process that ends soon has little time to send several.
_PLAN = """
SELECT pg_try_advisory_lock(%s, %s), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT json_object_agg(key, dimension) FROM models WHERE active),
    (SELECT max(notes) FROM namespaces)
"""

# An index that is not valid is being built by another process, or was abandoned.
_EXISTING = """
SELECT c.relname, i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = c.oid)
FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relname LIKE %s
"""

# One worker: several need shared memory, of which a server in a container often has too little.
_BUILD_SETTINGS = """
SELECT set_config('max_parallel_maintenance_workers', '0', false),
    set_config('maintenance_work_mem', greatest(%s * 1024, (
        SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'
    ))::text, false)
"""

_KEY_RANGE = "SELECT coalesce(min(note), 0), coalesce(max(note), 0) FROM vectors WHERE model = %s"

_SAMPLE = """
SELECT v.near::text FROM unnest(%s::bigint[]) AS first CROSS JOIN LATERAL (
    SELECT near FROM vectors WHERE model = %s AND note >= first ORDER BY note LIMIT 1
) AS v
"""

# Without sorting the planner has to use the index.
_TEST_SETTINGS = """
SELECT set_config('hnsw.ef_search', %s, false), set_config('hnsw.iterative_scan', 'relaxed_order', false),
    set_config('enable_sort', 'off', false)
"""
