"""Exact terms: how often the only note that holds a token comes first, or among the first ten.

    python -m benchmarks.studies.exact_terms SOURCE ... [--embedder minilm|static|none] [--sample N]

A SOURCE is a dataset that ``recollect.evaluation`` reads (LongMemEval is pooled), a folder of documents, a memory such
as ``recollect demo --db demo.db`` makes, or the word ``sample`` for the built-in sample notes. The exit code is 1 if a
share is below ``--first`` or ``--ten``.
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
from recollect.evaluation import CachingEmbedder, Dataset, exact_tokens, load_dataset, open_collection
from recollect.evaluation.running import default_cache_folder
from recollect.memory import Memory
from recollect.retrieval.options import Mode
from recollect.sample import sample_notes

__all__ = ["Found", "look_up", "main", "shares"]

TOP = 10


class Found(NamedTuple):
    """A token that exactly one note holds, its kind, that note, and its rank; ``None`` if it is not in the top ten."""

    token: str
    kind: str
    note: str
    rank: int | None


def look_up(
    memory: Memory, limit: int | None = None, *, preset: str = "default", mode: Mode = "auto", seed: int = 0
) -> list[Found]:
    """Search for each token that exactly one note of a memory holds, or for ``limit`` of them."""
    notes = list(memory.notes())
    found = []
    for token, kind, note in exact_tokens(notes, limit, seed):
        hits = memory.search(token, top_k=TOP, preset=preset, mode=mode)
        rank = next((hit.rank for hit in hits if hit.id == note), None)
        found.append(Found(token, kind, note, rank))
    return found


def shares(found: Sequence[Found]) -> tuple[float, float]:
    """Return the share of tokens whose note is first, and of those whose note is among the first ten."""
    first = sum(each.rank == 1 for each in found)
    ten = sum(each.rank is not None for each in found)
    return first / max(1, len(found)), ten / max(1, len(found))


@contextmanager
def _opened(source: str, embedder: Embedder | None, level: str | None) -> Iterator[Iterator[Memory]]:
    """Give the memories of a source, one after the other."""
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
            yield _collections(_dataset(path, level), embedder)


def _dataset(path: Path, level: str | None) -> Dataset:
    if path.is_dir():
        return load_dataset(path)
    dataset = load_dataset(path, level=level)
    pooled = len(dataset.collections) == len(dataset.questions) > 1  # LongMemEval has a haystack for each question
    return load_dataset(path, level=level, pool=True) if pooled else dataset


def _collections(dataset: Dataset, embedder: Embedder | None) -> Iterator[Memory]:
    for collection in dataset.collections.values():
        with open_collection(collection, embedder) as memory:
            yield memory


def _rows(name: str, found: Sequence[Found]) -> list[list[str]]:
    kinds = dict.fromkeys(each.kind for each in found)
    groups = {"all": list(found)} | {kind: [each for each in found if each.kind == kind] for kind in sorted(kinds)}
    return [
        [name if kind == "all" else "", kind, f"{len(group):,}", *(f"{share:.3f}" for share in shares(group))]
        for kind, group in groups.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Look up the tokens of each source, and print the shares by kind, and what was missed."""
    reader = argparse.ArgumentParser(prog="scripts/bench studies.exact_terms", description=__doc__)
    reader.add_argument("sources", nargs="+", metavar="SOURCE")
    reader.add_argument("--embedder", default="minilm")
    reader.add_argument("--level", choices=("turn", "session"), help="what a note of a conversation is")
    reader.add_argument("--preset", default="default")
    reader.add_argument("--mode", default="auto")
    reader.add_argument("--sample", type=int, metavar="N", help="so many tokens of each collection; all by default")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--cache", type=Path, help="where vectors are kept")
    reader.add_argument("--first", type=float, default=0.99, help="the least share of tokens whose note is first")
    reader.add_argument("--ten", type=float, default=1.0, help="the least share of tokens whose note is in the top ten")
    reader.add_argument("--misses", type=int, default=10, metavar="N", help="how many misses of a source are listed")
    given = reader.parse_args(arguments)
    model = embedder_from(given.embedder)
    embedder = CachingEmbedder(model, given.cache or default_cache_folder(), cache_queries=True) if model else None
    rows, missed, passed = [], [], True
    for source in given.sources:
        found: list[Found] = []
        with _opened(source, embedder, given.level) as memories:
            for memory in memories:
                found += look_up(memory, given.sample, preset=given.preset, mode=given.mode, seed=given.seed)
        name = source if source == "sample" else Path(source).stem
        rows += _rows(name, found)
        first, ten = shares(found)
        passed = passed and first >= given.first and ten >= given.ten
        worst = sorted((each for each in found if each.rank != 1), key=lambda each: -(each.rank or TOP + 1))
        missed += [f"{name}: {each.token} ({each.kind}), {_place(each.rank)}" for each in worst[: given.misses]]
    print(table(["source", "kind", "tokens", "first", "in ten"], rows))
    print("\n".join(["", *missed]) if missed else "")
    return 0 if passed else 1


def _place(rank: int | None) -> str:
    return f"rank {rank}" if rank else "not among ten"


if __name__ == "__main__":
    raise SystemExit(main())
