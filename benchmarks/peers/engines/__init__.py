"""The engines that are measured: one a file, all behind the Protocol in :mod:`benchmarks.peers.engines.base`."""

from benchmarks.peers.engines.base import DEPTH, TOP_K, Engine, Hybrid, Leg
from benchmarks.peers.engines.catalogue import ENGINES, engine_named, import_packages, why_missing

__all__ = [
    "DEPTH",
    "ENGINES",
    "TOP_K",
    "Engine",
    "Hybrid",
    "Leg",
    "engine_named",
    "import_packages",
    "why_missing",
]
