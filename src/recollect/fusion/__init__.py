"""Fusion of several ranked lists into one; each method has its own file. See ``docs/fusion.md``."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from recollect.fusion.base import DEFAULT_K, FusionRules, FusionScale
from recollect.fusion.convex import convex_combination, fuse_by_score
from recollect.fusion.rrf import fuse_by_rank, reciprocal_rank_fusion
from recollect.model import Candidate
from recollect.ranking.duplicates import deduplicate

__all__ = [
    "DEFAULT_K",
    "FUSION_METHODS",
    "FusionScale",
    "convex_combination",
    "deduplicate",
    "reciprocal_rank_fusion",
]

FusionMethod: TypeAlias = Callable[[Mapping[str, Sequence[Candidate]], FusionRules, FusionScale], list[Candidate]]
"""A function that fuses lists. Its arguments are the list of each leg by the leg's name, the rules and the scale."""

FUSION_METHODS: dict[str, FusionMethod] = {"rrf": fuse_by_rank, "convex": fuse_by_score}
"""Every fusion method by its name in presets; a new method is a new file and an entry here."""
