"""Small sample datasets, one per format."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
KITCHEN = SAMPLES / "kitchen"
"""A BEIR folder: twelve notes, six judged questions in three strata."""
TALKS = SAMPLES / "talks.json"
"""LoCoMo format: two conversations, with irregular evidence as in the original."""
TALKS_CORRECTIONS = SAMPLES / "talks_errors.json"
"""Corrections of ``TALKS``, in the format of dial481/locomo-audit."""
HAYSTACKS = SAMPLES / "haystacks.json"
"""LongMemEval format: four questions, two of them without an answer."""
