"""Measure exact-term search: how often the only note that contains a token is the first hit, or in the top ten.

    python -m benchmarks.studies.exact_terms SOURCE ... [--embedder arctic-embed-s|static|none] [--sample N]

A SOURCE is a dataset that ``recollect.evaluation`` reads (LongMemEval is pooled), a folder of documents, a memory such
as ``recollect demo --db demo.db`` makes, or the word ``sample`` for the built-in sample notes. The exit code is 1 if a
hit rate is below ``--first`` or ``--ten``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import recollect
from benchmarks.studies.tables import table
from recollect.embedders import Embedder, embedder_from
from recollect.evaluation import CachingEmbedder, Dataset, exact_tokens, load_dataset, temporary_memory
from recollect.evaluation.cache import default_cache_folder
from recollect.memory import Memory
from recollect.retrieval.options import Mode
from recollect.sample import sample_notes

__all__ = ["TokenRank", "hit_rates", "main", "rank_tokens"]

TOP_K = 10


class TokenRank(NamedTuple):
    """A token that exactly one note contains, its kind, the id of the note, and the rank of the note."""

    token: str
    kind: str
    note: str
    rank: int | None
    """From 1; ``None`` if the note is not in the top ten."""


def rank_tokens(
    memory: Memory, limit: int | None = None, *, preset: str = "default", mode: Mode = "auto", seed: int = 0
) -> list[TokenRank]:
    """Search for each token that exactly one note contains, or for ``limit`` of these tokens; return their ranks."""
    notes = list(memory.notes())
    results = []
    for token, kind, note in exact_tokens(notes, limit, seed):
        hits = memory.search(token, top_k=TOP_K, preset=preset, mode=mode)
        rank = next((hit.rank for hit in hits if hit.id == note), None)
        results.append(TokenRank(token, kind, note, rank))
    return results


def hit_rates(results: Sequence[TokenRank]) -> tuple[float, float]:
    """Return the fraction of tokens whose note is first, and the fraction whose note is in the top ten."""
    first = sum(result.rank == 1 for result in results)
    ten = sum(result.rank is not None for result in results)
    return first / max(1, len(results)), ten / max(1, len(results))


@contextmanager
def _open_memories(source: str, embedder: Embedder | None, level: str | None) -> Iterator[Iterator[Memory]]:
    """Yield an iterator over the memories of a source, which are open one after the other."""
    path = Path(source)
    with TemporaryDirectory(prefix="recollect-") as folder:
        if source != "sample" and path.is_file() and path.suffix != ".json":
            with recollect.open(path, embedder=embedder, record_access=False) as memory:
                yield iter([memory])
        elif source == "sample" or (path.is_dir() and not (path / "queries.jsonl").exists()):
            with recollect.open(Path(folder, "memory.db"), embedder=embedder, record_access=False) as memory:
                if source == "sample":
                    memory.add_many(sample_notes())
                else:
                    memory.ingest(path)
                yield iter([memory])
        else:
            yield _collection_memories(_load(path, level), embedder)


def _load(path: Path, level: str | None) -> Dataset:
    if path.is_dir():
        return load_dataset(path)
    dataset = load_dataset(path, level=level)
    # LongMemEval has a collection for each question.
    is_longmemeval = len(dataset.collections) == len(dataset.questions) > 1
    return load_dataset(path, level=level, pool=True) if is_longmemeval else dataset


def _collection_memories(dataset: Dataset, embedder: Embedder | None) -> Iterator[Memory]:
    for collection in dataset.collections.values():
        with temporary_memory(collection, embedder) as (memory, _):
            yield memory


def _rows(name: str, results: Sequence[TokenRank]) -> list[list[str]]:
    kinds = dict.fromkeys(result.kind for result in results)
    groups = {"all": list(results)} | {
        kind: [result for result in results if result.kind == kind] for kind in sorted(kinds)
    }
    return [
        [name if kind == "all" else "", kind, f"{len(group):,}", *(f"{rate:.3f}" for rate in hit_rates(group))]
        for kind, group in groups.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Search for the tokens of each source; print the hit rates by kind, and tokens whose note is not first."""
    parser = argparse.ArgumentParser(prog="scripts/bench studies.exact_terms", description=__doc__)
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("--embedder", default="arctic-embed-s")
    parser.add_argument(
        "--level", choices=("turn", "session"), help="whether a note is a turn or a session of a conversation"
    )
    parser.add_argument("--preset", default="default")
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--sample", type=int, metavar="N", help="tokens of each collection (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder for cached vectors")
    parser.add_argument("--first", type=float, default=0.99, help="the lowest fraction of tokens whose note is first")
    parser.add_argument("--ten", type=float, default=1.0, help="the lowest fraction whose note is in the top ten")
    parser.add_argument(
        "--misses", type=int, default=10, metavar="N", help="the number of misses to list for each source"
    )
    options = parser.parse_args(arguments)
    model = embedder_from(options.embedder)
    embedder = CachingEmbedder(model, options.cache or default_cache_folder(), cache_queries=True) if model else None
    rows, missed, passed = [], [], True
    for source in options.sources:
        results: list[TokenRank] = []
        with _open_memories(source, embedder, options.level) as memories:
            for memory in memories:
                results += rank_tokens(
                    memory, options.sample, preset=options.preset, mode=options.mode, seed=options.seed
                )
        name = source if source == "sample" else Path(source).stem
        rows += _rows(name, results)
        first, ten = hit_rates(results)
        passed = passed and first >= options.first and ten >= options.ten
        worst = sorted(
            (result for result in results if result.rank != 1), key=lambda result: -(result.rank or TOP_K + 1)
        )
        missed += [
            f"{name}: {result.token} ({result.kind}), {_format_rank(result.rank)}" for result in worst[: options.misses]
        ]
    print(table(["source", "kind", "tokens", "first", "in ten"], rows))
    print("\n".join(["", *missed]) if missed else "")
    return 0 if passed else 1


def _format_rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else "not among ten"


if __name__ == "__main__":
    raise SystemExit(main())
