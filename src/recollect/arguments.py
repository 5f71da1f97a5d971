"""Checks of arguments: each function returns the value, or raises an ``ArgumentError`` that names the argument."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.text import well_formed

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

T = TypeVar("T")

MAX_DEPTH = 64
"""The maximum depth of nested JSON: more than real data needs, and far less than Python's stack allows."""

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def now() -> datetime:
    """Return the current time in UTC. Expiry is checked against this function, so that tests can set the time."""
    return datetime.now(UTC)


def text(argument: str, value: Any) -> str:
    """Return ``value`` if it is a string."""
    if not isinstance(value, str):
        raise ArgumentTypeError(argument, f"must be a string, got {_describe(value)}")
    return value


def line(argument: str, value: Any) -> str:
    """Return ``value``, made well-formed, if it is a string of one line without control characters."""
    if type(value) is str and value.isprintable():
        return value
    if _CONTROL_CHARACTER.search(text(argument, value)):
        raise ArgumentError(argument, f"must be one line without control characters, got {_describe(value)}")
    return well_formed(value)


def name(argument: str, value: Any) -> str:
    """Return ``value`` as :func:`line` does, if it is not blank."""
    if not line(argument, value).strip():
        raise ArgumentError(argument, "must not be empty")
    return well_formed(value)


def names(argument: str, value: Any) -> tuple[str, ...]:
    """Return ``value``, a sequence of names, as a tuple without repetitions."""
    if value == ():
        return ()
    items = sequence(argument, value)
    return tuple(dict.fromkeys(name(f"{argument}[{index}]", item) for index, item in enumerate(items)))


def optional_count(argument: str, value: Any) -> int | None:
    """Return ``value`` if it is ``None`` or a whole number that is not negative."""
    return None if value is None else count(argument, value)


def count(argument: str, value: Any) -> int:
    """Return ``value`` as an ``int`` if it is a whole number that is not negative."""
    if isinstance(value, bool):
        raise ArgumentTypeError(argument, f"must be a whole number, got {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(argument, f"must be a whole number, got {_describe(value)}") from None
    if number < 0:
        raise ArgumentError(argument, f"must not be negative, got {_describe(number)}")
    return number


def at_least_one(argument: str, value: Any) -> int:
    """Return ``value`` as an ``int`` if it is a whole number of at least 1."""
    number = count(argument, value)
    if not number:
        raise ArgumentError(argument, "must be at least 1, got 0")
    return number


def flag(argument: str, value: Any) -> bool:
    """Return ``value`` if it is a ``bool``."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(argument, f"must be true or false, got {_describe(value)}")
    return value


def number(argument: str, value: Any, *, at_least: float | None = None, at_most: float | None = None) -> float:
    """Return ``value`` as a ``float`` if it is a finite number from ``at_least`` to ``at_most``."""
    if isinstance(value, (str, bytes, bool)):
        raise ArgumentTypeError(argument, f"must be a number, got {_describe(value)}")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(argument, f"must be a number, got {_describe(value)}") from None
    if not math.isfinite(result):
        raise ArgumentError(argument, f"must be a finite number, got {result}")
    if at_least is not None and result < at_least:
        raise ArgumentError(argument, f"must be at least {at_least:g}, got {result:g}")
    if at_most is not None and result > at_most:
        raise ArgumentError(argument, f"must be at most {at_most:g}, got {result:g}")
    return result


def sequence(argument: str, value: Any) -> Sequence[Any]:
    """Return ``value``, which may be any iterable except a string, a mapping or a set, as a sequence."""
    if isinstance(value, (list, tuple)):
        return value
    try:
        items = None if isinstance(value, (str, bytes, Mapping, Set)) else iter(value)
    except TypeError:
        items = None
    if items is None:
        raise ArgumentTypeError(argument, f"must be a list, got {_describe(value)}")
    return list(items)


def as_tuple(argument: str, value: Any) -> tuple[Any, ...]:
    """Return ``value``, which may be any iterable that :func:`sequence` accepts, as a tuple."""
    return tuple(sequence(argument, value))


def choice(argument: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(argument, f"must be one of {', '.join(choices)}, got {_describe(value)}")
    return value


def instant(argument: str, value: Any) -> datetime:
    """Return ``value``, a ``date``, ``datetime`` or ISO-8601 string, as a time in UTC; no offset means UTC."""
    moment = value
    if isinstance(value, date) and not isinstance(value, datetime):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ArgumentError(argument, f"must be an ISO-8601 date or time, got {_describe(value)}") from None
    if not isinstance(moment, datetime):
        raise ArgumentTypeError(argument, f"must be a date, a datetime or an ISO-8601 string, got {_describe(value)}")
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ArgumentError(argument, f"lies outside the years 1 to 9999 in UTC: {moment}") from None


def optional_instant(argument: str, value: Any) -> datetime | None:
    """Return ``None`` if ``value`` is ``None``, else the time in UTC that :func:`instant` returns."""
    if value is None or (type(value) is datetime and value.tzinfo is UTC):
        return value
    return instant(argument, value)


def json_object(argument: str, value: Any) -> Mapping[str, Any]:
    """Return the mapping ``value`` as it is after encoding to JSON and decoding: for example, tuples become lists."""
    if type(value) is dict and not value:
        return value
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(argument, f"must be a mapping, got {_describe(value)}")
    checked = check_depth(argument, dict(value))
    try:
        encoded = json.dumps(checked, ensure_ascii=False, allow_nan=False)
        decoded: dict[str, Any] = json.loads(well_formed(encoded))
    except (TypeError, ValueError) as error:
        raise ArgumentError(argument, f"must be JSON data: {error}") from None
    if not all(isinstance(key, str) for key in value):
        raise ArgumentError(argument, "must have strings as keys")
    return decoded


def check_depth(argument: str, value: T) -> T:
    """Return ``value`` if it is not nested deeper than :data:`MAX_DEPTH`."""
    if exceeds_max_depth(value):
        raise ArgumentError(argument, f"must not be nested deeper than {MAX_DEPTH} levels; make it flatter")
    return value


def exceeds_max_depth(value: Any) -> bool:
    """Return whether lists and mappings are nested more than :data:`MAX_DEPTH` deep.

    The traversal goes level by level, without recursion. If a value occurs several times on one level, it is visited
    once, so that the time is linear. A value that contains itself exceeds the depth.
    """
    level = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(MAX_DEPTH):
        children = (child for parent in level for child in (parent.values() if isinstance(parent, dict) else parent))
        level = list({id(child): child for child in children if isinstance(child, (dict, list, tuple))}.values())
        if not level:
            return False
    return True


def with_deep_stack(function: Callable[[], T]) -> T:
    """Call ``function``; if it exceeds the recursion limit, call it again in a new thread, whose stack is empty.

    This is for stored metadata, which may be nested deeper than :data:`MAX_DEPTH`: earlier versions had no limit.
    """
    try:
        return function()
    except RecursionError:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (rarely needed)

        with ThreadPoolExecutor(1) as executor:
            return executor.submit(function).result()


def vector(argument: str, value: Any) -> NDArray[float32]:
    """Return ``value``, a list of numbers, or a list of such lists (one for each chunk), as an array of float32."""
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise ArgumentTypeError(argument, f"must be a list of numbers, got {_describe(value)}") from None
    if array.ndim not in (1, 2) or not array.size:
        raise ArgumentError(
            argument, f"must be a list of numbers, or a list of such lists, got an array of shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ArgumentError(argument, "must contain finite numbers only")
    return array


def _describe(value: Any) -> str:
    """Return a description of ``value`` for an error message: the value itself, truncated, and its type."""
    try:
        description = ascii(value)
    except Exception:  # noqa: BLE001 (a value that cannot be shown must not hide the error)
        description = "something that cannot be shown"
    if len(description) > 60:
        description = description[:57] + "..."
    return f"{description} ({type(value).__name__})"
