"""Translate PostgreSQL's errors into ours: one line that names the database and says what to do."""

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

__all__ = ["is_disconnect", "translate_error"]

_ERRORS: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    (
        (errors.LockNotAvailable,),
        StoreBusyError,
        "is locked by other writers; nothing was written; try again",
    ),
    (
        (errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusyError,
        "has conflicting writers; nothing was written; try again",
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
    ((errors.DiskFull,), StoreFullError, "has no space left on its disk; nothing was written"),
    (
        (errors.ReadOnlySqlTransaction, errors.FeatureNotSupported),  # the second: "… during recovery"
        StoreReadOnlyError,
        "cannot be written to: it is a replica, or set to be read only; name a server that takes writes, "
        "or use read_only=True",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        "denies this to the role; ask its owner to grant it",
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

_DISCONNECTS = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_CONNECTION_EXCEPTION = "08"

# libpq reports a refused login without a code, only in words; in other languages the advice is a general one.
_REFUSALS = (
    (
        ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "authentication failed for"),
        StoreError,
        "refused the login; check the user and the password",
    ),
    (
        ("does not exist", "permission denied for database", "is not permitted to log in"),
        StoreError,
        "refused the login; check the names of the database and of the user",
    ),
    (
        ("too many clients", "too many connections", "remaining connection slots are reserved"),
        StoreBusyError,
        "has no connection left; raise max_connections of the server, or use smaller pools",
    ),
)


def is_disconnect(error: psycopg.Error) -> bool:
    """Return whether an error means that the connection is broken, not that a statement failed.

    >>> is_disconnect(psycopg.OperationalError("server closed the connection unexpectedly"))
    True
    >>> is_disconnect(errors.QueryCanceled("canceling statement due to statement timeout"))
    False
    """
    if isinstance(error, _DISCONNECTS):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_CONNECTION_EXCEPTION)


def translate_error(location: str, error: psycopg.Error, secret: str | None = None) -> StoreError:
    """Return the error to raise for one of PostgreSQL. ``secret`` is the password, which no message shows.

    >>> print(translate_error("postgresql://db/notes", errors.DiskFull("could not extend file")))
    postgresql://db/notes has no space left on its disk; nothing was written (could not extend file)
    """
    detail = " ".join(str(error).split()) or type(error).__name__
    if secret:
        detail = detail.replace(secret, "…")
    for kinds, ours, advice in _ERRORS:
        if isinstance(error, kinds):
            return ours(f"{location} {advice} ({detail})")
    if is_disconnect(error):
        for phrases, ours, advice in _REFUSALS:
            if any(phrase in detail for phrase in phrases):
                return ours(f"{location} {advice} ({detail})")
        return StoreUnavailableError(
            f"{location} cannot be reached; check that the server runs, and try again ({detail})"
        )
    return StoreError(f"{location}: {detail}")
