"""The registry of engines; only the packages of an engine that is measured are imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.peers.engines.base import Engine
from recollect.errors import ArgumentError

__all__ = ["ENGINES", "EngineEntry", "engine_class", "import_packages", "unavailable_reason"]


class EngineEntry(NamedTuple):
    """The module and the class of an engine, and the packages that it needs."""

    module: str
    class_name: str
    packages: Mapping[str, str]
    """The name of each package by the name of the module that it provides."""


ENGINES: Mapping[str, EngineEntry] = MappingProxyType(
    {
        "recollect": EngineEntry("recollect_memory", "RecollectMemory", {}),
        "lancedb": EngineEntry("lancedb_table", "LanceExact", {"lancedb": "lancedb"}),
        "lancedb-hnsw": EngineEntry("lancedb_table", "LanceHnsw", {"lancedb": "lancedb"}),
        "sqlite-vec": EngineEntry("fts5_sqlite_vec", "Fts5SqliteVec", {"sqlite_vec": "sqlite-vec"}),
        "tantivy-usearch": EngineEntry(
            "tantivy_usearch", "TantivyUsearch", {"tantivy": "tantivy", "usearch": "usearch"}
        ),
        "bm25s-numpy": EngineEntry("bm25s_numpy", "Bm25sNumpy", {"bm25s": "bm25s"}),
        "chroma": EngineEntry("chroma", "Chroma", {"chromadb": "chromadb"}),
    }
)
"""Every engine by name, in the order of the tables."""


def unavailable_reason(name: str) -> str:
    """Return why an engine cannot be measured; empty if it can be measured.

    >>> unavailable_reason("recollect")
    ''
    """
    missing = [package for module, package in _entry(name).packages.items() if find_spec(module) is None]
    return f"{' and '.join(missing)} must be installed: pip install 'recollectdb[bench]'" if missing else ""


def engine_class(name: str) -> type[Engine]:
    """Import and return the class of an engine.

    >>> engine_class("recollect").hybrids
    ('rrf', 'default')
    """
    entry = _entry(name)
    result: type[Engine] = getattr(import_module(f"benchmarks.peers.engines.{entry.module}"), entry.class_name)
    return result


def import_packages(name: str) -> None:
    """Import the packages of an engine, so that a measurement does not include their import."""
    for module in _entry(name).packages:
        import_module(module)


def _entry(name: str) -> EngineEntry:
    if name not in ENGINES:
        raise ArgumentError("--engine", f"must be one of {', '.join(ENGINES)}, got {name!r}")
    return ENGINES[name]
