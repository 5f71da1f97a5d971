"""How a failure is told: those who run models have errors of their own, and pass the one that callers wait for."""

from __future__ import annotations

from collections.abc import Callable

from recollect.errors import RecollectError

__all__ = ["Failure"]

Failure = Callable[[str], RecollectError]
"""An error's class, such as ``EmbedderError``; it is called with the message."""
