"""Indexes of vectors, HNSW graphs, for namespaces that are too large to look at every vector.

They are made behind the back of searches and writes: who searches such a namespace without one gets an exact answer,
and the index is built meanwhile. Each model has one of its own, which is tried before it is trusted.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from typing import TYPE_CHECKING

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.errors import RecollectWarning, StoreError
from recollect.stores.base import Model
from recollect.stores.postgres.index_trial import Trial, try_index

if TYPE_CHECKING:
    from recollect.stores.postgres.connections import Connections

__all__ = ["LARGEST_EXACT", "VectorIndexes", "cast"]

LARGEST_EXACT = 20_000
"""Up to so many notes, a namespace is searched by looking at all of them."""
SMALLEST_SHARE = 0.2
"""The share of a store's notes that a namespace must have: an index is one of all, and finds little of a small part."""
WIDEST = 4000
"""The most numbers of a vector that can be in an index."""

GROWN = 2
"""An index is tried again when there are so many times as many notes as there were."""

LOOKED = 30.0
"""Seconds until a search that finds no index has one looked for again: others may be building it, or none can be."""

_NAME = "vectors_near_"
_LOCK = (0x5265636C, 1)  # "Recl"; the first is of migrations
_OLDEST_VECTOR = (0, 8)  # before, what is led to by an index could be too little, and it did not go on
_BUILDING_MEMORY = 256  # megabytes; what does not fit is built much slower


def cast(value: str, model: Model) -> str:
    """Return the SQL that takes a value for a vector of a model, as its index has it.

    >>> cast("near", Model("tiny", 2))
    '(near::halfvec(2))'
    """
    return f"({value}::halfvec({model.dimension:d}))"


class VectorIndexes:
    """The indexes of the vectors of one store."""

    def __init__(self, connections: Connections) -> None:
        """Know nothing yet."""
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failed = False
        self._closed = False
        self._looked = -math.inf

    def serve(self, connection: Connection[TupleRow], namespace: int, active: tuple[int, Model]) -> int:
        """Return how broadly an index is searched for this namespace, 0 where all vectors must be looked at.

        An index that is missing is built from now on, and one that has grown much is tried again.
        """
        key, model = active
        if model.dimension > WIDEST:
            return 0
        ((notes, everywhere, told),) = connection.execute(_STATE, [f"recollect.{_NAME}{key}", namespace]).fetchall()
        if notes <= LARGEST_EXACT:
            return 0
        trial = Trial.read(told)
        if (trial is None or everywhere > GROWN * trial.notes) and time.monotonic() - self._looked >= LOOKED:
            self.look()
        return trial.breadth if trial and notes >= SMALLEST_SHARE * everywhere else 0

    def look(self) -> None:
        """Look in the background which indexes are missing and which are left over, and see to it."""
        with self._lock:
            running = self._thread is not None and self._thread.is_alive()
            if running or self._failed or self._closed or self._connections.read_only:
                return
            self._looked = time.monotonic()
            self._thread = threading.Thread(target=self._see_to_it, name="recollect-vector-index", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Look, and wait for what comes of it: who asked for this may end with it, and leave nobody to go on."""
        self.wait()  # who is at it may have looked before something changed
        self._failed = False
        self.look()
        self.wait()

    def wait(self) -> None:
        """Wait until nothing is being built here."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Begin no more. What is being built goes on by itself, and nobody is told what comes of it."""
        with self._lock:
            self._closed = True

    def _see_to_it(self) -> None:
        try:
            self.ensure()
        except StoreError as error:
            self._failed = True  # once is enough: searches go on without
            if not self._closed:
                warnings.warn(
                    f"vectors are searched without an index, which takes longer: {error}",
                    RecollectWarning,
                    stacklevel=2,
                )

    def ensure(self) -> None:
        """Build the index of the model that is searched with, if a namespace is large enough; drop those of others.

        One process at a time: of two that build, each waits for the other, and the server ends the one that was first.
        Who finds another at it leaves it to that one. The lock stays with the server's side of the connection, which
        goes on building when the process has gone.
        """
        with self._connections.outside() as connection:
            ((alone, version, models, largest),) = connection.execute(_NEEDED, _LOCK).fetchall()
            if not alone:
                return
            if tuple(map(int, version.split(".")[:2])) < _OLDEST_VECTOR:
                return
            wanted = dict(models or {}) if (largest or 0) > LARGEST_EXACT else {}
            for name, valid, building in connection.execute(_THERE, [f"{_NAME}%"]).fetchall():
                key = name.removeprefix(_NAME)
                if key not in (models or {}) or not (valid or building):
                    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}{int(key):d}")
            for key, dimension in wanted.items():
                if dimension <= WIDEST:
                    self._build(connection, int(key), Model("", dimension))

    def _build(self, connection: Connection[TupleRow], key: int, model: Model) -> None:
        """Build the index, unless it is there, and try it, unless that was done."""
        near = cast("near", model)
        connection.execute(_SETTINGS, [_BUILDING_MEMORY])
        connection.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {_NAME}{key:d} ON vectors "
            f"USING hnsw ({near} halfvec_ip_ops) WHERE model = {key:d}"
        )
        ((told, everywhere),) = connection.execute(_TRIED, [f"recollect.{_NAME}{key}"]).fetchall()
        before = Trial.read(told)
        if before is None or everywhere > GROWN * before.notes:
            # Making an index tells the planner how many rows there are, but not of what kind: it would join them badly.
            connection.execute("ANALYZE vectors, notes")
            trial = Trial(try_index(connection, key, near, cast("%s", model)), everywhere)
            connection.execute(f"COMMENT ON INDEX {_NAME}{key:d} IS '{trial}'")


_STATE = """
SELECT s.notes, (SELECT sum(notes)::bigint FROM namespaces),
    (SELECT obj_description(indexrelid, 'pg_class') FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid)
FROM namespaces AS s WHERE s.key = %s
"""

_TRIED = "SELECT obj_description(to_regclass(%s), 'pg_class'), (SELECT sum(notes)::bigint FROM namespaces)"

# In one statement: who ends at once has little time to send what is to be done.
_NEEDED = """
SELECT pg_try_advisory_lock(%s, %s), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT json_object_agg(key, dimension) FROM models WHERE active),
    (SELECT max(notes) FROM namespaces)
"""

# One that is not valid is being built by somebody, or was given up.
_THERE = """
SELECT c.relname, i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = c.oid)
FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE c.relnamespace = 'recollect'::regnamespace AND c.relname LIKE %s
"""

# By one process: several need shared memory, of which a server in a container often has too little.
_SETTINGS = """
SELECT set_config('max_parallel_maintenance_workers', '0', false),
    set_config('maintenance_work_mem', greatest(%s * 1024, (
        SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'
    ))::text, false)
"""
