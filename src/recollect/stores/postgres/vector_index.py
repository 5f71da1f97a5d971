"""HNSW indexes for namespaces with too many vectors to compare them all: how the indexes are built, tested and used.

Each model has its own index. A thread builds a missing index in the background; until it is built, searches compare all
vectors. The recall of an HNSW graph depends on the vectors: it is high for text embeddings, which form clusters, and
low for random vectors. So an index is tested before it is used: some stored vectors are searched with and without it.
The result is the comment of the index in PostgreSQL (COMMENT ON INDEX): the lowest ``ef_search`` (how many candidates a
search keeps) with enough recall, or 0 if no value has enough.
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

MAX_EXACT_NOTES = 20_000  # up to this many notes, a search compares all vectors of a namespace
# A namespace uses the index only if it has at least this share of all notes. Because the index has the vectors of all
# namespaces, too few of its results would belong to a smaller namespace.
MIN_SHARE = 0.2
MAX_INDEX_DIMENSION = 4000  # the limit of an HNSW index of halfvec
RETEST_GROWTH = 2
"""An index is tested again when the store has more than this many times as many notes as at the last test."""
RETRY_SECONDS = 30.0  # seconds until a missing index is looked for again: another process may be building it
EF_SEARCH = (200, 400, 800)
"""The values of ``hnsw.ef_search`` to test; with lower values, some queries find no neighbours at all."""
MIN_RECALL = 0.97  # for the definition of the recall, see lowest_ef_search
_TEST_QUERIES = 24  # how many stored vectors a test searches for
_TEST_LIMIT = 10  # how many nearest notes of each query a test looks for

_INDEX_PREFIX = "vectors_near_"  # the key of the model follows
_BUILD_LOCK = (0x5265636C, 1)  # keys of an advisory lock: "Recl" in ASCII, and a number; the lock of migrations is 0
_MIN_PGVECTOR_FOR_INDEX = (0, 8)  # earlier versions have no iterative scan, and may return too few rows
_BUILD_MEMORY = 256  # megabytes; an index that needs more memory is built much slower


def halfvec(value: str, model: Model) -> str:
    """Return the SQL that casts a value to the type of a model's index."""
    return f"({value}::halfvec({model.dimension:d}))"


class RecallTest(NamedTuple):
    """The result of a recall test of an index."""

    ef_search: int  # the lowest value with enough recall; 0 if the recall is too low at every value
    notes: int  # the number of notes of the store at the time of the test

    def __str__(self) -> str:
        """Return the comment of the index, in which ``ef_search`` is called breadth."""
        return f"breadth {self.ef_search} for {self.notes} notes"

    @classmethod
    def parse(cls, comment: str | None) -> RecallTest | None:
        """Return the test result in the comment of an index; ``None`` if the comment has no result."""
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
        self._start_time = -math.inf  # when the last thread started, in seconds of time.monotonic

    def ef_search(self, connection: Connection, namespace_id: int, active: ActiveModel) -> int:
        """Return the ``ef_search`` for this namespace; 0 if all vectors must be compared.

        A missing index is built, and an index that has grown much is tested again, both in the background.
        """
        key, model = active
        if model.dimension > MAX_INDEX_DIMENSION:
            return 0
        ((notes, all_notes, comment),) = connection.execute(
            _STATE, [f"recollect.{_INDEX_PREFIX}{key}", namespace_id]
        ).fetchall()
        if notes <= MAX_EXACT_NOTES:
            return 0
        test = RecallTest.parse(comment)
        needs_test = test is None or all_notes > RETEST_GROWTH * test.notes
        if needs_test and time.monotonic() - self._start_time >= RETRY_SECONDS:
            self.start()
        return test.ef_search if test and notes >= MIN_SHARE * all_notes else 0

    def start(self) -> None:
        """Run :meth:`ensure` in a thread, unless one is running or has failed, or the store is closed or read-only."""
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._failed or self._closed or self._connections.read_only:
                return
            self._start_time = time.monotonic()
            self._thread = threading.Thread(target=self._run, name="recollect-vector-index", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Build and test missing indexes, and wait: a process that ended now would stop the thread before the test."""
        self.wait()  # a running thread may have read the table models before the active model changed
        self._failed = False
        self.start()
        self.wait()

    def wait(self) -> None:
        """Wait for the background thread, if one is running."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Start no more threads; the server finishes an index that it is building."""
        with self._lock:
            self._closed = True

    def _run(self) -> None:
        try:
            self.ensure()
        except StoreError as error:
            self._failed = True  # do not try again: searches work without an index
            if not self._closed:
                warnings.warn(
                    f"vectors are searched without an index, which takes longer: {error}",
                    RecollectWarning,
                    stacklevel=2,
                )

    def ensure(self) -> None:
        """Build the index of the active model, if a namespace is large enough; drop the indexes of other models.

        Two processes that build an index would deadlock until the server cancels one, so only the process with the lock
        builds. If the process ends, the server still finishes the index, and keeps the lock until then.
        """
        with self._connections.autocommit_connection() as connection:
            ((locked, version, dimensions, max_notes),) = connection.execute(_PLAN, _BUILD_LOCK).fetchall()
            if not locked or tuple(map(int, version.split(".")[:2])) < _MIN_PGVECTOR_FOR_INDEX:
                return
            active_dimensions: dict[str, int] = dimensions or {}  # by model key; at most one model is active
            for name, valid, building in connection.execute(_EXISTING, [f"{_INDEX_PREFIX}%"]).fetchall():
                key = name.removeprefix(_INDEX_PREFIX)
                build_failed = not valid and not building
                if key not in active_dimensions or build_failed:
                    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_INDEX_PREFIX}{int(key):d}")
            for key, dimension in active_dimensions.items():
                if (max_notes or 0) > MAX_EXACT_NOTES and dimension <= MAX_INDEX_DIMENSION:
                    self._build(connection, int(key), Model("", dimension))  # the name is not used

    def _build(self, connection: Connection, key: int, model: Model) -> None:
        """Build the index of a model, unless it exists, and test it, unless it has a recent test result."""
        near = halfvec("near", model)  # the column near has the vectors in half precision
        connection.execute(_BUILD_SETTINGS, [_BUILD_MEMORY])
        connection.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {_INDEX_PREFIX}{key:d} ON vectors "
            f"USING hnsw ({near} halfvec_ip_ops) WHERE model = {key:d}"
        )
        ((comment, all_notes),) = connection.execute(_TEST_RESULT, [f"recollect.{_INDEX_PREFIX}{key}"]).fetchall()
        test = RecallTest.parse(comment)
        if test is None or all_notes > RETEST_GROWTH * test.notes:
            # The planner needs statistics of the values; building the index updated only the number of rows.
            connection.execute("ANALYZE vectors, notes")
            test = RecallTest(lowest_ef_search(connection, key, model), all_notes)
            connection.execute(f"COMMENT ON INDEX {_INDEX_PREFIX}{key:d} IS '{test}'")


def lowest_ef_search(connection: Connection, key: int, model: Model) -> int:
    """Return the lowest ``ef_search`` with enough recall for the index of a model; 0 if none has enough.

    The recall is the share of the ``_TEST_LIMIT`` nearest notes that is among the first ``ef_search`` rows of the
    index. The connection must be in no transaction; afterwards it sees all namespaces.
    """
    connection.execute("SELECT set_config('recollect.namespaces', '*', false)")
    ((first, last),) = connection.execute(_KEY_RANGE, [key]).fetchall()
    sample_keys = [first + (last - first) * index // _TEST_QUERIES for index in range(_TEST_QUERIES)]
    queries = [vector for (vector,) in connection.execute(_SAMPLE, [sample_keys, key])]

    def search(statement: str, vector: str, limit: int) -> set[int]:
        return {note for (note,) in connection.execute(statement, [vector, limit])}

    # This statement does not use the index, because the index is on a cast of the column.
    exact = f"SELECT note FROM vectors WHERE model = {key:d} ORDER BY near <#> %s::halfvec LIMIT %s"  # noqa: S608 (a number)
    expected = [search(exact, query, _TEST_LIMIT) for query in queries]
    near, parameter = halfvec("near", model), halfvec("%s", model)
    indexed = f"SELECT note FROM vectors WHERE model = {key:d} ORDER BY {near} <#> {parameter} LIMIT %s"  # noqa: S608 (fixed names)
    for ef_search in EF_SEARCH:
        connection.execute(SEARCH_SETTINGS, {"ef_search": str(ef_search), "in_transaction": False})
        hits = sum(
            len(neighbours & search(indexed, query, ef_search))
            for query, neighbours in zip(queries, expected, strict=True)
        )
        if hits >= MIN_RECALL * sum(map(len, expected)):
            return ef_search
    return 0


# Select the number of notes of a namespace, that of the store, and the comment of an index if the index is valid.
_STATE = """
SELECT s.notes, (SELECT sum(notes)::bigint FROM namespaces),
    (SELECT obj_description(indexrelid, 'pg_class') FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)
FROM namespaces AS s WHERE s.key = %s
"""

_TEST_RESULT = "SELECT obj_description(to_regclass(%s), 'pg_class'), (SELECT sum(notes)::bigint FROM namespaces)"

# One statement instead of four: a short command may end, and with it the thread, before several round trips are done.
_PLAN = """
SELECT pg_try_advisory_lock(%s, %s), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT json_object_agg(key, dimension) FROM models WHERE active),
    (SELECT max(notes) FROM namespaces)
"""

# An index that is not valid is being built by another process, or its build failed.
_EXISTING = """
SELECT c.relname, i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = c.oid)
FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relname LIKE %s
"""

# No parallel workers: they need shared memory, of which a server in a container often has too little.
_BUILD_SETTINGS = """
SELECT set_config('max_parallel_maintenance_workers', '0', false),
    set_config('maintenance_work_mem', greatest(%s * 1024, (
        SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'
    ))::text, false)
"""

_KEY_RANGE = "SELECT coalesce(min(note), 0), coalesce(max(note), 0) FROM vectors WHERE model = %s"

# Select, for each key, a vector of the first note whose key is not below this key.
_SAMPLE = """
SELECT v.near::text FROM unnest(%s::bigint[]) AS sample (key) CROSS JOIN LATERAL (
    SELECT near FROM vectors WHERE model = %s AND note >= sample.key ORDER BY note LIMIT 1
) AS v
"""

# Sorting is turned off, so that the planner has to use the index. Otherwise it would sort the rows of a table that has
# just grown and has no statistics yet. With ``in_transaction``, the settings end with the transaction.
SEARCH_SETTINGS = """
SELECT set_config('hnsw.ef_search', %(ef_search)s, %(in_transaction)s),
    set_config('hnsw.iterative_scan', 'relaxed_order', %(in_transaction)s),
    set_config('enable_sort', 'off', %(in_transaction)s)
"""
