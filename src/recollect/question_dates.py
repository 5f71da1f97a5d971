"""The date of a question, checked where a caller passes it.

The recognisers of the query language are lenient: a text that is no date resolves nothing, and fields that overflow
roll over, so that 2026-13-40 is a day in February 2027. A caller who passes such a text gets an error instead.
"""

from __future__ import annotations

import re
from datetime import datetime

from recollect.errors import ArgumentError
from recollect.query.dates import QuestionDate, read_date
from recollect.text import collapse_whitespace

__all__ = ["check_question_date"]

_FIELDS = re.compile(r"(\d{4})[-/](\d{2})[-/](\d{2})(?:[^:]*?(\d{2}):(\d{2})(?::(\d{2}))?)?", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})\s+({'|'.join(_MONTHS)})\s+(\d{{4}})", re.IGNORECASE)


def check_question_date(value: QuestionDate) -> QuestionDate:
    """Return ``value`` if it is a date that the query language can read; an empty text counts as not given.

    Raise ``ArgumentError`` if it is none, or if a field of it is out of its range.

    >>> check_question_date("2026/04/18 (Sat) 09:30"), check_question_date(" ")
    ('2026/04/18 (Sat) 09:30', None)
    >>> check_question_date("2026-13-40")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: question_date: must be a date such as 2026-04-18, ..., got '2026-13-40'
    """
    if isinstance(value, str) and not value.strip():
        return None
    if value is None or (read_date("question_date", value) is not None and _is_in_calendar(value)):
        return value
    raise ArgumentError(
        "question_date",
        "must be a date such as 2026-04-18, 2026/04/18 (Sat) 09:30, or a time in ISO 8601 or RFC 2822, "
        f"got {str(value)[:60]!r}",
    )


def _is_in_calendar(value: QuestionDate) -> bool:
    """Return whether no field of a date that can be read rolls over."""
    if not isinstance(value, str):
        return True
    (fields,) = _FIELDS.findall(_DAY_FIRST.sub(_numeric, collapse_whitespace(value)))[:1]
    year, month, day, hour, minute, second = (int(part or 0) for part in fields)
    try:
        datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 (only the fields are checked)
    except ValueError:
        return False
    return True


def _numeric(found: re.Match[str]) -> str:
    """Return a day that is written as ``18 Apr 2026`` in figures."""
    return f"{found[3]}-{_MONTHS.index(found[2].lower()) + 1:02}-{int(found[1]):02}"
