"""Which engines there are, what each needs, and how one is had without loading the others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.peers.engines.base import Engine
from recollect.errors import ArgumentError

__all__ = ["ENGINES", "Entry", "engine_named", "import_packages", "why_missing"]


class Entry(NamedTuple):
    """Where the class of an engine is, and what must be installed for it."""

    module: str
    name: str
    needs: Mapping[str, str]
    """The modules that it imports, and the packages that bring them."""


ENGINES: Mapping[str, Entry] = MappingProxyType(
    {
        "recollect": Entry("recollect_memory", "RecollectMemory", {}),
        "lancedb": Entry("lancedb_table", "LanceExact", {"lancedb": "lancedb"}),
        "lancedb-hnsw": Entry("lancedb_table", "LanceHnsw", {"lancedb": "lancedb"}),
        "sqlite-vec": Entry("fts5_sqlite_vec", "Fts5SqliteVec", {"sqlite_vec": "sqlite-vec"}),
        "tantivy-usearch": Entry("tantivy_usearch", "TantivyUsearch", {"tantivy": "tantivy", "usearch": "usearch"}),
        "bm25s-numpy": Entry("bm25s_numpy", "Bm25sNumpy", {"bm25s": "bm25s"}),
        "chroma": Entry("chroma", "Chroma", {"chromadb": "chromadb"}),
    }
)
"""Every engine by its name, in the order in which they are measured and shown."""


def why_missing(name: str) -> str:
    """Return in one line why an engine cannot be measured here; nothing if it can.

    >>> why_missing("recollect")
    ''
    """
    lacking = [package for module, package in _entry(name).needs.items() if find_spec(module) is None]
    if not lacking:
        return ""
    return f"{' and '.join(lacking)} must be installed: pip install 'recollectdb[bench]'"


def engine_named(name: str) -> type[Engine]:
    """Return the class of an engine; only now are its packages needed.

    >>> engine_named("recollect").hybrids
    ('rrf', 'default')
    """
    entry = _entry(name)
    found: type[Engine] = getattr(import_module(f"benchmarks.peers.engines.{entry.module}"), entry.name)
    return found


def import_packages(name: str) -> None:
    """Import what an engine needs, for who wants to measure its work alone."""
    for module in _entry(name).needs:
        import_module(module)


def _entry(name: str) -> Entry:
    if name not in ENGINES:
        raise ArgumentError("--engine", f"must be one of {', '.join(ENGINES)}, got {name!r}")
    return ENGINES[name]
