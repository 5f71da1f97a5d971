"""How fresh a search must be: a cluster answers sooner where it may leave out what was written last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from recollect.errors import ArgumentError

__all__ = ["LEVELS", "STRONG", "consistency", "current_level"]

STRONG = "Strong"
LEVELS = {"strong": STRONG, "session": "Session", "bounded": "Bounded", "eventually": "Eventually"}
"""What Milvus calls them: all that was written; all that this process wrote; all but the last seconds; anything."""

_chosen: ContextVar[str | None] = ContextVar("consistency", default=None)


@contextmanager
def consistency(level: str) -> Iterator[None]:
    """Let searches in this block, and in this thread or task, read with another consistency than the address says.

    The levels are ``strong``, ``session``, ``bounded`` and ``eventually``. What a write depends on is always read with
    ``strong``.

    >>> with consistency("bounded"):
    ...     current_level("Session")
    'Bounded'
    >>> with consistency("perhaps"):
    ...     pass
    Traceback (most recent call last):
    recollect.errors.ArgumentError: level: must be strong, session, bounded or eventually, got 'perhaps'
    """
    if level not in LEVELS:
        raise ArgumentError("level", f"must be strong, session, bounded or eventually, got {level!r}")
    token = _chosen.set(LEVELS[level])
    try:
        yield
    finally:
        _chosen.reset(token)


def current_level(otherwise: str) -> str:
    """Return the level that was chosen for this call, or ``otherwise``."""
    return _chosen.get() or otherwise
