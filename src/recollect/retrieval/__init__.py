"""The walk through the rooms. So far: the drawing of what happened on it."""

from recollect.retrieval.explanation import explain

__all__ = ["explain"]
