"""Fusion of several ranked lists into one, one method a file. See ``docs/fusion.md``."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from recollect.fusion.base import DEFAULT_K, FusionRules
from recollect.fusion.convex import convex_combination, fuse_by_score
from recollect.fusion.deduplication import deduplicate
from recollect.fusion.rrf import fuse_by_rank, reciprocal_rank_fusion
from recollect.model import Candidate

__all__ = ["DEFAULT_K", "FUSION_METHODS", "FusionRules", "convex_combination", "deduplicate", "reciprocal_rank_fusion"]

FusionMethod: TypeAlias = Callable[
    [Mapping[str, Sequence[Candidate]], FusionRules, Mapping[str, float]], list[Candidate]
]
"""Fuses the lists of the legs, by name, with the rules of a preset and the scores that count as 1."""

FUSION_METHODS: dict[str, FusionMethod] = {"rrf": fuse_by_rank, "convex": fuse_by_score}
"""Every fusion method by its name in presets; a new method is a new file and an entry here."""
