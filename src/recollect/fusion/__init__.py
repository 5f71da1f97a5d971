"""Several ranked lists become one. See ``docs/fusion.md``."""

from recollect.fusion.convex import convex_combination
from recollect.fusion.deduplication import deduplicate
from recollect.fusion.rrf import DEFAULT_K, reciprocal_rank_fusion

__all__ = ["DEFAULT_K", "convex_combination", "deduplicate", "reciprocal_rank_fusion"]
