"""Conditions that restrict a search to some notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError

__all__ = ["Filters"]


def _tags(argument: str, value: Any) -> tuple[str, ...]:
    return arguments.names(argument, [value] if isinstance(value, str) else value)


def _session(argument: str, value: Any) -> str | None:
    return None if value is None else arguments.line(argument, value)


_DATE = {"check": arguments.optional_instant}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a note must meet, all of them; the store applies them before ranking.

    A note matches if its path starts with ``path_prefix``, it has all of ``tags``, it belongs to ``session``, its dates
    lie in the intervals (``…_after`` is inclusive, ``…_before`` exclusive), and its metadata has every key of
    ``metadata`` with the same value.

    >>> Filters.of({"tags": ["tea"], "created_after": "2026-01-01"}).tags
    ('tea',)
    """

    path_prefix: str = field(default="", metadata={"check": arguments.line})
    tags: tuple[str, ...] = field(default=(), metadata={"check": _tags})
    session: str | None = field(default=None, metadata={"check": _session})
    created_after: datetime | None = field(default=None, metadata=_DATE)
    created_before: datetime | None = field(default=None, metadata=_DATE)
    updated_after: datetime | None = field(default=None, metadata=_DATE)
    updated_before: datetime | None = field(default=None, metadata=_DATE)
    metadata: Mapping[str, Any] = field(default_factory=dict, metadata={"check": arguments.json_object})

    def __post_init__(self) -> None:
        """Check each condition."""
        for name, check in _CHECKS.items():
            object.__setattr__(self, name, check(f"filters.{name}", getattr(self, name)))

    def __bool__(self) -> bool:
        """Return whether there is any condition."""
        return self != _NO_FILTERS

    @classmethod
    def of(cls, value: Filters | Mapping[str, Any] | None) -> Filters:
        """Return filters, a mapping with the names of conditions as keys, or ``None``, as filters."""
        if value is None:
            return _NO_FILTERS
        if isinstance(value, Filters):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentTypeError("filters", f"must be Filters or a mapping, got {type(value).__name__}")
        unknown = [name for name in value if name not in _CHECKS]
        if unknown:
            raise ArgumentError("filters", f"has no condition {unknown[0]!r}; there are {', '.join(_CHECKS)}")
        return cls(**{name: item for name, item in value.items() if item is not None})


_CHECKS = {declared.name: declared.metadata["check"] for declared in fields(Filters)}
_NO_FILTERS = Filters()
