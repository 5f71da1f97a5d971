"""Compare the speed of two checkouts: interleaved rounds, the ratio of medians and its 95 % interval.

    scripts/bench checkouts --base v0.1.0 [--rounds 12] [--only search] [--postgres] [--json FILE]

In each round, a new process for each checkout runs every measurement once. The order of the checkouts alternates, so
that drift of the machine affects both equally. The memories are built once for each checkout, by its own code. The
texts are docstrings of Python's standard library (real text that every machine has) and generated words. The interval
is a percentile bootstrap interval of the ratio new/base over rounds. A measurement fails if its whole interval is above
``--limit`` (1.05).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import recollect
from recollect import fusion, query

ROOT = Path(__file__).resolve().parent.parent
REAL_NOTES = 6_000
GENERATED_NOTES = 10_000
QUERIES = 120
BATCH = 1_000
SEARCH_OPTIONS: dict[str, dict[str, Any]] = {
    **{mode: {"mode": mode} for mode in ("bm25", "semantic", "hybrid")},
    "trovella": {"preset": "trovella"},
}


class Target(NamedTuple):
    """Where a checkout stores its memories: in a folder, or in a PostgreSQL database if ``store`` is its address."""

    folder: Path
    store: str

    def address(self, file_name: str) -> str:
        """Return the address to open: the database, or a file of the folder."""
        return self.store or str(self.folder / file_name)


def main(argv: list[str] | None = None) -> int:
    """Run the comparison; return 1 if a measurement is slower than allowed."""
    parser = argparse.ArgumentParser(prog="scripts/bench checkouts", description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="v0.1.0", help="commit, tag or folder to compare with (default: v0.1.0)")
    parser.add_argument("--new", default=str(ROOT), help="folder of the checkout to measure (default: this one)")
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each checkout (default: 12)")
    parser.add_argument("--only", default="", help="run only measurements whose name contains this text")
    parser.add_argument("--postgres", action="store_true", help="measure searches and writes of the PostgreSQL store")
    parser.add_argument("--limit", type=float, default=1.05, help="largest ratio that passes (default: 1.05)")
    parser.add_argument("--json", type=Path, help="write the times and ratios to this file")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--store", default="", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.worker:
        print(json.dumps(run_worker(Target(args.worker, args.store), args.only)))
        return 0
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees = {"base": stack.enter_context(checkout(args.base, scratch)), "new": Path(args.new).resolve()}
        stores = stack.enter_context(postgres_databases(trees)) if args.postgres else dict.fromkeys(trees, "")
        targets = {name: Target(scratch / f"data-{name}", store) for name, store in stores.items()}
        times = run_rounds(trees, targets, args.rounds, args.only)
    rows = [summary(name, times["base"][name], times["new"][name]) for name in times["base"]]
    for row in rows:
        slow = "  SLOWER" if row["low"] > args.limit else ""
        print(
            f"{row['name']:28} base {row['base_ms']:10.3f} ms  new {row['new_ms']:10.3f} ms  "
            f"ratio {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f}){slow}"
        )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return int(any(row["low"] > args.limit for row in rows))


@contextmanager
def checkout(base: str, scratch: Path) -> Iterator[Path]:
    """Yield ``base`` if it is a folder, else a temporary worktree of the commit or tag ``base``."""
    if Path(base).is_dir():
        yield Path(base).resolve()
        return
    tree = scratch / "base"
    subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(tree), base], check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True)


@contextmanager
def postgres_databases(names: Iterable[str]) -> Iterator[dict[str, str]]:
    """Start a PostgreSQL server and yield the address of a new database for each name."""
    from tests.stores.postgres.server import Server  # noqa: PLC0415 (imports test tools)

    server = Server(durable=True, shared_buffers="1GB")
    try:
        server.start()
        server.prepare()
        yield {name: server.address(server.create()) for name in names}
    finally:
        server.remove()


def run_rounds(
    trees: dict[str, Path], targets: dict[str, Target], rounds: int, only: str
) -> dict[str, dict[str, list[float]]]:
    """Return by checkout and measurement a list of milliseconds, one entry for each round."""
    times: dict[str, dict[str, list[float]]] = {name: {} for name in trees}
    for number in range(rounds + 1):  # the first round builds the memories and warms the disk; it is not counted
        for name in sorted(trees, reverse=bool(number % 2)):
            folder, store = targets[name]
            folder.mkdir(exist_ok=True)
            command = [sys.executable, str(Path(__file__).resolve()), "--worker", str(folder), "--only", only]
            command += ["--store", store]
            environment = os.environ | {"PYTHONPATH": str(trees[name] / "src"), "OPENBLAS_NUM_THREADS": "1"}
            output = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
            for measurement, milliseconds in json.loads(output).items():
                if number:
                    times[name].setdefault(measurement, []).append(milliseconds)
        print(f"round {number} of {rounds}", file=sys.stderr)
    return times


def summary(name: str, base: list[float], new: list[float], samples: int = 4_000) -> dict[str, Any]:
    """Return medians, their ratio new/base and its 95 % percentile bootstrap interval over rounds."""
    rng = random.Random(0)  # noqa: S311 (a bootstrap, nothing secret)
    pairs = list(zip(base, new, strict=True))
    ratios = []
    for _ in range(samples):
        drawn = rng.choices(pairs, k=len(pairs))
        ratios.append(median(pair[1] for pair in drawn) / median(pair[0] for pair in drawn))
    ratios.sort()
    return {
        "name": name,
        "base_ms": median(base),
        "new_ms": median(new),
        "ratio": median(new) / median(base),
        "low": ratios[int(samples * 0.025)],
        "high": ratios[int(samples * 0.975)],
        "base": base,
        "new": new,
    }


def paragraphs(limit: int) -> list[str]:
    """Return up to ``limit`` paragraphs, of 80 characters or more, of docstrings of the standard library."""
    texts: list[str] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                texts += [part for part in (ast.get_docstring(node) or "").split("\n\n") if len(part) >= 80]
        if len(texts) >= limit:
            break
    return texts[:limit]


def generated_texts(count: int) -> list[str]:
    """Return texts of random words whose frequencies follow Zipf's law."""
    rng = random.Random(1)  # noqa: S311 (reproducible text)
    vocabulary = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(3, 9))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return [" ".join(rng.choices(vocabulary, weights, k=rng.randint(20, 60))) for _ in range(count)]


def sample_queries(texts: list[str]) -> list[str]:
    """Return queries, each of two to five consecutive words of a text."""
    rng = random.Random(2)  # noqa: S311
    drawn: list[str] = []
    while len(drawn) < QUERIES:
        words = [word for word in rng.choice(texts).split() if word.isalnum()]
        if len(words) >= 5:
            start = rng.randrange(len(words) - 4)
            drawn.append(" ".join(words[start : start + rng.randint(2, 5)]))
    return drawn


def run_worker(target: Target, only: str) -> dict[str, float]:
    """Return the milliseconds of each measurement of the checkout that this process imports.

    Memories that the target does not have yet are built first.
    """
    times: dict[str, float] = {}
    for name, measure in (STORE_MEASUREMENTS if target.store else MEASUREMENTS).items():
        if only in name:
            times |= {f"{name}{suffix}": value for suffix, value in measure(target).items()}
    return times


def timed(action: Callable[..., object], *args: Any, **keywords: Any) -> float:
    """Return the milliseconds that a call takes."""
    started = perf_counter()
    action(*args, **keywords)
    return (perf_counter() - started) * 1000


def measure_import(_: Target) -> dict[str, float]:
    """Return the median time of five imports, each in a new interpreter."""
    command = [sys.executable, "-c", "import recollect; recollect.open, recollect.Memory"]
    return {"": median(timed(lambda: subprocess.run(command, check=True)) for _ in range(5))}


def measure_query(_: Target) -> dict[str, float]:
    """Return the shortest time of three to parse and compile many queries."""
    texts = [
        *sample_queries(generated_texts(500)),
        '"green tea" AND NOT coffee OR tea*',
        "what did we decide two weeks ago?",
    ]

    def run() -> None:
        for text in texts * 20:
            query.compile_fts5(query.parse(text))

    return {"": min(timed(run) for _ in range(3))}


def measure_fusion(_: Target) -> dict[str, float]:
    """Return the time to fuse two lists of 200 candidates fifty times, for each fusion method."""
    lists = [
        [
            {"id": f"n{(rank * step) % 300}", "path": f"{(rank * step) % 300}.md", "score": 1 / (rank + 1)}
            for rank in range(200)
        ]
        for step in (7, 11)
    ]
    rrf = min(timed(lambda: [fusion.reciprocal_rank_fusion(lists) for _ in range(50)]) for _ in range(3))
    convex = min(timed(lambda: [fusion.convex_combination(lists) for _ in range(50)]) for _ in range(3))
    return {" rrf": rrf, " convex": convex}


def measure_search(target: Target) -> dict[str, float]:
    """Return the median time of a search for each corpus and mode, with the static embedder."""
    times = {}
    for corpus, texts in (("real", paragraphs(REAL_NOTES)), ("generated", generated_texts(GENERATED_NOTES))):
        address = target.address(f"{corpus}.db")
        finished = target.folder / f"{corpus}.finished"
        if not finished.exists():
            with recollect.open(address, embedder="static") as memory:
                notes = [{"content": text, "path": f"{number}.md"} for number, text in enumerate(texts)]
                memory.add_many(notes, namespace=corpus)
            finished.touch()
        with recollect.open(address, embedder="static", read_only=True) as memory:
            queries = sample_queries(texts)
            for name, options in SEARCH_OPTIONS.items():
                for text in queries[:20]:  # warm-up
                    memory.search(text, namespace=corpus, **options)
                times[f" {corpus} {name}"] = median(
                    timed(memory.search, text, namespace=corpus, **options) for text in queries
                )
    return times


def measure_add(target: Target) -> dict[str, float]:
    """Return the times of writes to an empty namespace: a batch, single notes, the unchanged batch, links and so on."""
    texts = paragraphs(BATCH + 50)
    for old_file in target.folder.glob("written.db*"):
        old_file.unlink()
    with recollect.open(target.address("written.db"), embedder="static") as memory:
        namespace = f"written-{os.getpid()}"
        batch: list[dict[str, Any]] = [
            {"content": text, "title": text.split("\n")[0][:60], "path": f"{number}.md"}
            for number, text in enumerate(texts)
        ]
        many = timed(lambda: memory.add_many(batch[:BATCH], namespace=namespace))
        one = median(timed(memory.add, **note, namespace=namespace) for note in batch[BATCH:])
        unchanged = timed(lambda: memory.add_many(batch[:BATCH], namespace=namespace))
        paths = [note["path"] for note in batch[:50]]
        linked = median(timed(memory.link, path, "0.md", namespace=namespace) for path in paths[1:])
        neighbours = median(timed(memory.neighbours, path, namespace=namespace) for path in paths)
        updated = median(timed(memory.update, path, content=f"Changed: {path}", namespace=namespace) for path in paths)
        deleted = median(timed(memory.delete, path, namespace=namespace) for path in paths)
    return {
        f" batch of {BATCH}": many,
        " one": one,
        " unchanged batch": unchanged,
        " link": linked,
        " neighbours": neighbours,
        " update": updated,
        " delete": deleted,
    }


def measure_ingest(target: Target) -> dict[str, float]:
    """Return the time to ingest a folder of Markdown files into a new memory."""
    folder = target.folder
    vault = folder / "vault"
    if not vault.exists():
        vault.mkdir()
        texts = paragraphs(1_200)
        for start in range(0, len(texts), 4):
            body = "\n\n".join(f"## Part {n}\n\n{text}" for n, text in enumerate(texts[start : start + 4]))
            (vault / f"page-{start}.md").write_text(f"# Page {start}\n\n{body}\n", encoding="utf-8")
    for old_file in folder.glob("ingested.db*"):
        old_file.unlink()
    with recollect.open(folder / "ingested.db", embedder="static") as memory:
        return {"": timed(lambda: memory.ingest(vault, progress=lambda *_: None))}


def measure_command(target: Target) -> dict[str, float]:
    """Return the median time of three searches on the command line, from start to exit."""
    path = target.folder / "command.db"
    if not path.exists():
        with recollect.open(path, embedder="static") as memory:
            memory.add_many([{"content": text} for text in paragraphs(500)])
    command = [sys.executable, "-m", "recollect", "search", "--db", str(path), "--embedder", "static", "file object"]
    return {
        " search": median(timed(lambda: subprocess.run(command, check=False, capture_output=True)) for _ in range(3))
    }


Measurement = Callable[[Target], dict[str, float]]
"""A function that returns milliseconds by name suffix."""
STORE_MEASUREMENTS: dict[str, Measurement] = {"search": measure_search, "add": measure_add}
MEASUREMENTS: dict[str, Measurement] = {
    "import": measure_import,
    "query": measure_query,
    "fusion": measure_fusion,
    **STORE_MEASUREMENTS,
    "ingest": measure_ingest,
    "command": measure_command,
}


if __name__ == "__main__":
    sys.exit(main())
