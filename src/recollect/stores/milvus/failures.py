"""Errors of Milvus as ours: one line that names the store and says what to do."""

from __future__ import annotations

from typing import Any

from recollect.errors import StoreDamagedError, StoreError, StoreUnavailableError

__all__ = ["failure"]

_AWAY = (2, "UNAVAILABLE")
"""What the client gives where it cannot connect, and a server where it cannot serve yet; and what gRPC calls that."""
_REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")
_UNEXPECTED = 1
"""What Lite gives for errors that it has no number for; of a wrong question it has."""
_BROKEN = ("Parquet", "thrift", "Corrupt")
"""What is said where a file cannot be read that is opened while the store is in use."""


def failure(location: str, error: Exception, *, lite: bool = False, loading: bool = False) -> StoreError:
    """Return our error for one of Milvus. ``loading`` is whether it came while collections were listed or loaded.

    >>> from pymilvus.exceptions import MilvusException
    >>> print(failure("milvus://db:19530/notes", MilvusException(2, "Fail connecting")))
    milvus://db:19530/notes cannot be reached; check that the server runs, and its host and port (Fail connecting)
    """
    said, codes = _message(error), (_code(error), _code(error.__cause__))
    if any(code in _REFUSED for code in codes):
        return StoreError(
            f"{location} does not let this user in; check the user and the password, or the token ({said})"
        )
    if "DEADLINE_EXCEEDED" in codes:
        return StoreUnavailableError(f"{location} did not answer in time; try again ({said})")
    if not lite:
        if any(code in _AWAY for code in codes):
            advice = "check that the server runs, and its host and port"
            return StoreUnavailableError(f"{location} cannot be reached; {advice} ({said})")
    # To list and load collections, Lite reads nothing but its own files. What the system refuses says so with a number.
    elif (loading and codes[0] == _UNEXPECTED and "errno" not in said.lower()) or any(each in said for each in _BROKEN):
        return StoreDamagedError(f"{location} is damaged and cannot be read; restore a backup ({said})")
    return StoreError(f"{location}: {said}")


def _code(error: Any) -> Any:
    """Return the number of an error, or the name that gRPC has for it."""
    code = getattr(error, "code", None)
    code = code() if callable(code) else code
    return getattr(code, "name", code)


def _message(error: Any) -> str:
    """Return what an error says, in one line."""
    details = getattr(error, "details", None)  # an error of gRPC is a long text with this in it
    said = details() if callable(details) else getattr(error, "message", "")
    return " ".join(str(said or error).split())
