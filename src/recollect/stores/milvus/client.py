"""The connection to Milvus: its few calls that the store needs, with its errors as ours.

Milvus Lite runs in this process, in threads of its own, and keeps its folder to itself. A connection belongs to the
process that opened it: after a fork the child opens its own.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from weakref import finalize

from recollect.errors import StoreBusyError, StoreDamagedError, StoreError, StoreReadOnlyError
from recollect.stores.milvus.address import Address
from recollect.stores.milvus.failures import failure
from recollect.stores.milvus.levels import STRONG

__all__ = ["ASKED_AT_ONCE", "MOST_RESULTS", "Client", "chunks", "let_go"]

TIMEOUT = 60.0
"""Seconds that a call may take."""
CONNECTING = 10.0
"""Seconds until a server must have answered first."""
MOST_RESULTS = 16_384
"""How many results a cluster returns at once."""
PAGE_ROWS = 1000
"""How many rows are read at once, where each may have some hundred kilobytes: Lite sends 256 MB at most."""
LITE_PAGE_ROWS = 100_000
"""How many are read at once from Lite, which looks at every row again for each page, where they are short."""
LONG_FIELDS = frozenset({"body", "header", "words", "vector"})
ASKED_AT_ONCE = 1000
"""How many keys one call asks for."""
WRITTEN_AT_ONCE = 8_000_000
"""About how many characters and numbers one call writes; a cluster takes 64 MB."""
UNFLUSHED_ROWS = 200
"""How many rows Lite keeps unsorted: it indexes them anew in every search, and what lies in segments only once."""

LITE_NAMES = frozenset({"LOCK", "collections"})
"""What a folder of Lite holds from its first moments on."""


class Client:
    """One connection to a Milvus, for any number of threads."""

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        """Connect; for a folder, Milvus Lite is started here."""
        self.location = address.location
        self.folder = address.folder
        self.read_only = read_only
        self._level = address.level
        self._process = os.getpid()
        self._closed = False
        self._unflushed: dict[str, int] = {}
        self._open_parts: list[Callable[[], object]] = []
        # Also at the end of the process, if nobody closes it: what Lite has not sorted yet is safe in its log.
        self._release = finalize(self, let_go, self._open_parts, self._process)
        # Read once, when gRPC is loaded: else it prints that a server went away, as Lite does whenever it is closed.
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
        try:
            uri = address.uri if address.folder is None else self._start(address.folder)
            self._milvus = self._connect(uri, address)
        except BaseException:
            self._release()
            raise

    @property
    def lite(self) -> bool:
        """Whether this is Milvus Lite: one process, no limits, and all that was written is seen at once."""
        return self.folder is not None

    @property
    def level(self) -> str:
        """The consistency of searches that the address asked for."""
        return self._level

    def collections(self) -> list[str]:
        """Return the names of all collections."""
        with self._translated(loading=True):
            return [str(name) for name in self._milvus.list_collections()]

    def create(self, collection: str, schema: Any, index: Any) -> None:
        """Make a collection, indexed and ready to be searched."""
        with self._translated():
            if self.folder is not None and not self._milvus.has_collection(collection):
                # Left by a process that was killed while it made or dropped it: Lite does not know it, and stumbles.
                shutil.rmtree(self.folder / "collections" / collection, ignore_errors=True)
            self._milvus.create_collection(collection, schema=schema, consistency_level=STRONG)
            # Not sync: for an empty collection there is nothing to wait for but the client's own pause.
            self._milvus.create_index(collection, index, sync=not self.lite)
            self._milvus.load_collection(collection)

    def load(self, collection: str) -> None:
        """Make a collection ready to be searched."""
        with self._translated(loading=True):
            self._milvus.load_collection(collection)

    def drop(self, collection: str) -> None:
        """Drop a collection with all that it holds."""
        with self._translated():
            self._milvus.drop_collection(collection)
        self._unflushed.pop(collection, None)

    def rows(
        self,
        collection: str,
        expression: str,
        fields: Sequence[str],
        *,
        limit: int | None = None,
        level: str = STRONG,
    ) -> list[dict[str, Any]]:
        """Return the rows that an expression holds for, in the order of their keys."""
        found: list[dict[str, Any]] = []
        for page in self.pages(collection, expression, fields, limit=limit, level=level):
            found += page
        return found

    def pages(
        self,
        collection: str,
        expression: str,
        fields: Sequence[str],
        *,
        limit: int | None = None,
        level: str = STRONG,
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield the same rows page by page."""
        short = self.lite and LONG_FIELDS.isdisjoint(fields)
        size = LITE_PAGE_ROWS if short else PAGE_ROWS
        asked, wanted = expression, list({*fields, "key"})
        while limit is None or limit > 0:
            most = size if limit is None else min(size, limit)
            with self._translated():
                # What an iterator of the client sends for each of its pages: so rows come in the order of their keys.
                rows = self._milvus.query(
                    collection,
                    filter=asked,
                    output_fields=wanted,
                    limit=most,
                    consistency_level=level,
                    iterator="True",
                    reduce_stop_for_best="True",
                    timeout=TIMEOUT,
                )
                page = [dict(row) for row in rows]
            yield page
            if len(page) < most:
                return
            limit = None if limit is None else limit - len(page)
            asked = f"({expression}) and key > {json.dumps(page[-1]['key'])}"

    def get(
        self, collection: str, keys: Sequence[Any], fields: Sequence[str], *, level: str = STRONG
    ) -> list[dict[str, Any]]:
        """Return the rows with these keys that are there."""
        found: list[dict[str, Any]] = []
        for start in range(0, len(keys), ASKED_AT_ONCE):
            with self._translated():
                rows = self._milvus.get(
                    collection,
                    ids=list(keys[start : start + ASKED_AT_ONCE]),
                    output_fields=list(fields),
                    consistency_level=level,
                    timeout=TIMEOUT,
                )
                found += [dict(row) for row in rows]
        return found

    def search(
        self,
        collection: str,
        field: str,
        query: Any,
        expression: str,
        fields: Sequence[str],
        limit: int,
        *,
        level: str = STRONG,
        params: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return what is nearest to a query in a vector field, nearest first, each with its ``distance``."""
        with self._translated():
            (found,) = self._milvus.search(
                collection,
                data=[query],
                anns_field=field,
                filter=expression,
                limit=limit if self.lite else min(limit, MOST_RESULTS),
                output_fields=list(fields),
                consistency_level=level,
                timeout=TIMEOUT,
                **({"search_params": dict(params)} if params else {}),
            )
            return [{**hit["entity"], "distance": hit["distance"]} for hit in found]

    def count(self, collection: str, expression: str, *, level: str = STRONG) -> int:
        """Return how many rows an expression holds for."""
        with self._translated():
            (row,) = self._milvus.query(
                collection, filter=expression, output_fields=["count(*)"], consistency_level=level, timeout=TIMEOUT
            )
            return int(row["count(*)"])

    def holds_rows(self, collection: str) -> bool:
        """Return whether a collection has rows; it need not be loaded for that."""
        with self._translated(loading=True):
            return bool(self._milvus.get_collection_stats(collection)["row_count"])

    def upsert(self, collection: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows in place of those with the same keys."""
        for some in chunks(rows):
            with self._translated():
                self._milvus.upsert(collection, [dict(row) for row in some], timeout=TIMEOUT)
        self._wrote(collection, len(rows))

    def delete(self, collection: str, keys: Sequence[Any]) -> None:
        """Delete the rows with these keys."""
        for start in range(0, len(keys), MOST_RESULTS):
            with self._translated():
                self._milvus.delete(collection, ids=list(keys[start : start + MOST_RESULTS]), timeout=TIMEOUT)

    def flush(self, collection: str) -> None:
        """Let Lite sort what was written, so that no search does."""
        with self._translated():
            self._milvus.flush(collection, timeout=TIMEOUT)
        self._unflushed.pop(collection, None)

    def server(self) -> str:
        """Return what answers here."""
        if self.lite:
            return f"Milvus Lite {version('milvus-lite')}"
        with self._translated():
            return f"Milvus {self._milvus.get_server_version()}"

    def size(self) -> int:
        """Return how many bytes the folder has; of a cluster nobody tells."""
        if self.folder is None:
            return 0
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """Let go of the connection, and of the folder."""
        if self._closed:
            return
        self._closed = True
        self._release()

    def check_open(self) -> None:
        """Refuse to go on where it was closed, or opened by another process."""
        if self._closed:
            raise StoreError(f"{self.location} is closed; open it again to use it")
        if self._process != os.getpid():
            raise StoreError(f"{self.location} was opened by another process, before a fork; open it anew in this one")

    def check_writable(self) -> None:
        """Refuse to go on where nothing may be written."""
        if self.read_only:
            raise StoreReadOnlyError(f"{self.location} was opened with read_only=True; open it without to change it")

    def _wrote(self, collection: str, rows: int) -> None:
        if not self.lite:
            return
        self._unflushed[collection] = self._unflushed.get(collection, 0) + rows
        if self._unflushed[collection] >= UNFLUSHED_ROWS:
            self.flush(collection)

    def _connect(self, uri: str, address: Address) -> Any:
        with self._translated():
            from pymilvus import MilvusClient  # noqa: PLC0415 (takes a second)

            logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # what it would print is raised here
            milvus: Any = MilvusClient(
                uri=uri, token=address.token, db_name=address.database, timeout=CONNECTING, dedicated=True
            )
            self._open_parts.append(milvus.close)
            return milvus

    def _start(self, folder: Path) -> str:
        """Start Milvus Lite on a folder and return where it listens."""
        try:
            if folder.is_file():
                raise StoreDamagedError(f"{folder} is a file; Milvus Lite keeps a folder: choose another name")
            if not folder.is_dir():
                if self.read_only:
                    raise StoreError(f"{folder} does not exist, and reading begins no memory; add a note first")
                folder.parent.mkdir(parents=True, exist_ok=True)
            else:
                self._check_is_lites(folder)
        except (OSError, UnicodeError) as error:
            raise StoreError(f"{str(folder)!a} cannot be used as a folder: {error}") from error
        try:
            from milvus_lite.adapter.grpc.server import start_server_in_thread  # noqa: PLC0415 (takes a second)
            from milvus_lite.exceptions import DataDirLockedError  # noqa: PLC0415 (as above)
        except ImportError as error:
            raise StoreError(_INSTALL) from error
        # What calls would print, with a traceback, is raised here; what its engine warns of is not.
        logging.getLogger("milvus_lite.adapter").setLevel(logging.CRITICAL)
        try:
            server, database, port = start_server_in_thread(str(folder.absolute()))
        except DataDirLockedError as error:
            raise StoreBusyError(
                f"{folder} is open in another process, or twice in this one; Milvus Lite takes one at a time: "
                "close it there, or run a server of Recollect for all"
            ) from error
        except Exception as error:  # it raises whatever reading its files led to
            raise StoreDamagedError(f"{folder} cannot be opened by Milvus Lite; restore a backup ({error})") from error
        self._open_parts += [database.close, lambda: server.stop(grace=None).wait()]
        return f"http://127.0.0.1:{port}"

    def _check_is_lites(self, folder: Path) -> None:
        """Refuse a folder that something else lies in: Lite would put its own files among it, to read, too."""
        names = {inside.name for inside in folder.iterdir()}
        if names and names.isdisjoint(LITE_NAMES):
            raise StoreDamagedError(
                f"{folder} holds other files, such as {min(names)!a}; Milvus Lite keeps a folder of its own: "
                "choose another name"
            )
        if not names and self.read_only:
            raise StoreError(f"{self.location} holds no memory, and reading begins none; add a note first")

    @contextmanager
    def _translated(self, *, loading: bool = False) -> Iterator[None]:
        """Raise errors of Milvus as ours."""
        self.check_open()
        try:
            yield
        except ImportError as error:
            raise StoreError(_INSTALL) from error
        except Exception as error:  # the exceptions of both packages have no base in common
            milvus = type(error).__module__.partition(".")[0] in ("pymilvus", "grpc")
            if not milvus:
                raise
            raise failure(self.location, error, lite=self.lite, loading=loading) from error


_INSTALL = "Milvus needs packages that are not installed: pip install 'recollect[milvus]'"


def chunks(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield rows in parts that one call can write.

    >>> [len(part) for part in chunks([{"body": "x" * 3_000_000}] * 5)]
    [2, 2, 1]
    """
    some: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        weight = sum(len(value) for value in row.values() if isinstance(value, str | list))
        if some and size + weight > WRITTEN_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(row)
        size += weight
    if some:
        yield some


def let_go(open_parts: Sequence[Callable[[], object]], process: int) -> None:
    """Close what was opened, the last first."""
    if os.getpid() == process:  # a child of a fork that ends must not touch what its parent goes on with
        for close in reversed(open_parts):
            close()
