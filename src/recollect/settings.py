"""Tables of checked settings: the base class of stages, of fusion methods and of each section of a preset.

A setting has a default and a check: a function that gets the setting's name and a value, and returns the value or
raises an ``ArgumentError`` that names the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Self

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError

Check = Callable[[str, Any], Any]

MAX_SETTING = 1_000_000
"""The largest absolute value of a numeric setting that declares no range."""


def setting(default: Any, check: Check) -> Any:
    """Return a dataclass field with a default and a check."""
    return field(default=default, metadata={"check": check})


def number(at_least: float = -MAX_SETTING, at_most: float = MAX_SETTING) -> Check:
    """Return a check for numbers in a range."""
    return partial(arguments.number, at_least=at_least, at_most=at_most)


def count(at_least: int = 0, at_most: int = MAX_SETTING) -> Check:
    """Return a check for whole numbers in a range."""

    def check(argument: str, value: Any) -> int:
        whole_number = arguments.count(argument, value)
        if not at_least <= whole_number <= at_most:
            raise ArgumentError(argument, f"must lie between {at_least} and {at_most}, got {whole_number}")
        return whole_number

    return check


def one_of(*choices: str) -> Check:
    """Return a check for strings that are one of ``choices``."""
    return lambda argument, value: arguments.choice(argument, value, choices)


def flag(*, default: bool) -> Any:
    """Return a dataclass field for a setting that is true or false."""
    return setting(default, arguments.flag)


def weight_table(*names: str, at_least: float = 0, at_most: float = 1000) -> Any:
    """Return a dataclass field for a table of weights, empty by default; ``names``, if any, are the valid keys."""

    def check(argument: str, value: Any) -> Mapping[str, float]:
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(argument, f"must be a table of weights, got {type(value).__name__}")
        for name in value:
            arguments.name(f"a name in {argument}", name)
            if names and name not in names:
                raise ArgumentError(argument, f"has no {name!r}; there are {', '.join(names)}")
        check_weight = number(at_least, at_most)
        return MappingProxyType({name: check_weight(f"{argument}.{name}", weight) for name, weight in value.items()})

    return field(default_factory=dict, metadata={"check": check})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A frozen table of settings that checks all values when it is created."""

    table: ClassVar[str] = ""
    """The name of the table in error messages."""

    def __post_init__(self) -> None:
        prefix = f"{self.table}." if self.table else ""
        for entry in fields(self):
            value = entry.metadata["check"](f"{prefix}{entry.name}", getattr(self, entry.name))
            object.__setattr__(self, entry.name, value)

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the settings."""
        return [entry.name for entry in fields(cls)]

    def changed(self, changes: Any) -> Self:
        """Return a copy with the settings in the mapping ``changes``, or ``changes`` itself if it is of this class."""
        if isinstance(changes, type(self)):
            return changes
        if not isinstance(changes, Mapping):
            raise ArgumentTypeError(self.table, f"must be a table of settings, got {type(changes).__name__}")
        for name in changes:
            if name not in self.names():
                raise ArgumentError(self.table, f"has no setting {name!r}; there are {', '.join(self.names())}")
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-ready data."""
        values = {name: getattr(self, name) for name in self.names()}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
