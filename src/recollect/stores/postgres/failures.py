"""PostgreSQL's errors as ours: one line that names the database and says what to do."""

from __future__ import annotations

import psycopg
from psycopg import errors

from recollect.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)

__all__ = ["failure", "is_cut"]

_ERRORS: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    (
        (errors.LockNotAvailable,),
        StoreBusyError,
        "is kept busy by others; nothing was written; try again",
    ),
    (
        (errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusyError,
        "has others who stood in the way; nothing was written; try again",
    ),
    (
        (errors.TooManyConnections,),
        StoreBusyError,
        "has no connection left; raise max_connections of the server, or use smaller pools",
    ),
    (
        (errors.QueryCanceled,),
        StoreError,
        "took too long and was stopped; ask for less, or raise statement_timeout",
    ),
    ((errors.DiskFull,), StoreFullError, "has no room left on its disk; nothing was written"),
    (
        (errors.ReadOnlySqlTransaction, errors.FeatureNotSupported),  # the second: "… during recovery"
        StoreReadOnlyError,
        "cannot be written to: it is a replica, or set to be read only; name a server that takes writes, "
        "or use read_only=True",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        "does not let this role do that; ask its owner to grant it",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName),
        StoreDamagedError,
        "lacks a table of the store; restore a backup",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreDamagedError,
        "is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt; else restore a backup",
    ),
    (
        (errors.ProgramLimitExceeded,),
        StoreError,
        "cannot hold this: a text, or the name of a model, is too long",
    ),
)

_CUT = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)
_CONNECTION_EXCEPTION = "08"

# Who is not let in is told so in words alone, libpq hands on no code: in other languages the advice is a general one.
_REFUSALS = (
    (
        ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "authentication failed for"),
        StoreError,
        "does not let this role in; check the user and the password",
    ),
    (
        ("does not exist", "permission denied for database", "is not permitted to log in"),
        StoreError,
        "does not let this role in; check the names of the database and of the user",
    ),
    (
        ("too many clients", "too many connections", "remaining connection slots are reserved"),
        StoreBusyError,
        "has no connection left; raise max_connections of the server, or use smaller pools",
    ),
)


def is_cut(error: psycopg.Error) -> bool:
    """Return whether an error says that the connection is gone, and nothing of what was asked.

    >>> is_cut(psycopg.OperationalError("server closed the connection unexpectedly"))
    True
    >>> is_cut(errors.QueryCanceled("canceling statement due to statement timeout"))
    False
    """
    if isinstance(error, _CUT):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_CONNECTION_EXCEPTION)


def failure(location: str, error: psycopg.Error, secret: str | None = None) -> StoreError:
    """Return what to raise for an error of PostgreSQL. ``secret`` is the password, which no message shows.

    >>> print(failure("postgresql://db/notes", errors.DiskFull("could not extend file")))
    postgresql://db/notes has no room left on its disk; nothing was written (could not extend file)
    """
    said = " ".join(str(error).split()) or type(error).__name__
    if secret:
        said = said.replace(secret, "…")
    for kinds, ours, advice in _ERRORS:
        if isinstance(error, kinds):
            return ours(f"{location} {advice} ({said})")
    if is_cut(error):
        for words, ours, advice in _REFUSALS:
            if any(each in said for each in words):
                return ours(f"{location} {advice} ({said})")
        return StoreUnavailableError(
            f"{location} cannot be reached; check that the server runs, and try again ({said})"
        )
    return StoreError(f"{location}: {said}")
