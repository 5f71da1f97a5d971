"""How deep data may be nested: one limit for what comes in, and a way to read what came before there was one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["DEEPEST", "is_deep", "with_room"]

DEEPEST = 64
"""How deep JSON may be nested: far more than anybody means, and far less than the stack holds."""

T = TypeVar("T")


def is_deep(value: Any) -> bool:
    """Return whether lists and mappings lie in each other more than :data:`DEEPEST` deep.

    Level by level and without recursion; what is held twice is looked at once, and what holds itself is deep.

    >>> is_deep({"cups": [1, 2]})
    False
    """
    level = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(DEEPEST):
        inner = (each for held in level for each in (held.values() if isinstance(held, dict) else held))
        level = list({id(each): each for each in inner if isinstance(each, (dict, list, tuple))}.values())
        if not level:
            return False
    return True


def with_room(work: Callable[[], T]) -> T:
    """Return what ``work`` returns; where the stack is too full for it, a thread of its own does it on an empty one.

    >>> with_room(lambda: 3)
    3
    """
    try:
        return work()
    except RecursionError:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(work).result()
