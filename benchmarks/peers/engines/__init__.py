"""The engines that are measured, one in each file, with the interface of :mod:`benchmarks.peers.engines.base`."""

from benchmarks.peers.engines.base import DEPTH, TOP_K, Engine, HybridMethod, Leg
from benchmarks.peers.engines.registry import ENGINES, engine_class, import_packages, unavailable_reason

__all__ = [
    "DEPTH",
    "ENGINES",
    "TOP_K",
    "Engine",
    "HybridMethod",
    "Leg",
    "engine_class",
    "import_packages",
    "unavailable_reason",
]
