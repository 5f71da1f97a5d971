"""Small sample datasets, one per format."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
KITCHEN = SAMPLES / "kitchen"
"""A BEIR folder: twelve notes, six judged questions in three strata."""
TALKS = SAMPLES / "talks.json"
"""As LoCoMo: two conversations, with evidence as oddly written as there."""
HAYSTACKS = SAMPLES / "haystacks.json"
"""As LongMemEval: four questions, two of them without an answer."""
