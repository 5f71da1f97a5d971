"""Descriptions of fields that several interfaces show. It imports nothing, so that help pages load quickly."""

from __future__ import annotations

__all__ = ["IMPORTANCE_USE"]

IMPORTANCE_USE = "Used by the presets memini and weighted-graph; the default preset does not use it."
"""What ``importance`` does in searches; every interface that has the field shows this text."""
