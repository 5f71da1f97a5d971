"""Translate PostgreSQL's errors into ours: one line that names the database and says what to do."""

from __future__ import annotations

import re

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

_READ_ONLY = (
    "cannot be written to: it is a replica, or set to be read only; name a server that takes writes, "
    "or use read_only=True"
)
_DAMAGED = "is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt; else restore a backup"
_NO_CONNECTION = "has no connection left; raise max_connections of the server, or use smaller pools"
_ERRORS: tuple[tuple[type[psycopg.Error], type[StoreError], str], ...] = (
    (errors.LockNotAvailable, StoreBusyError, "is locked by other writers; nothing was written; try again"),
    (errors.DeadlockDetected, StoreBusyError, "has conflicting writers; nothing was written; try again"),
    (errors.SerializationFailure, StoreBusyError, "has conflicting writers; nothing was written; try again"),
    (errors.TooManyConnections, StoreBusyError, _NO_CONNECTION),
    (errors.QueryCanceled, StoreError, "took too long and was stopped; ask for less, or raise statement_timeout"),
    (errors.DiskFull, StoreFullError, "has no space left on its disk; nothing was written"),
    (errors.ReadOnlySqlTransaction, StoreReadOnlyError, _READ_ONLY),
    (errors.FeatureNotSupported, StoreReadOnlyError, _READ_ONLY),  # of a replica: "… during recovery"
    (errors.InsufficientPrivilege, StoreError, "denies this to the role; ask its owner to grant it"),
    (errors.UndefinedTable, StoreDamagedError, "lacks a table of the store; restore a backup"),
    (errors.UndefinedColumn, StoreDamagedError, "lacks a table of the store; restore a backup"),
    (errors.InvalidSchemaName, StoreDamagedError, "lacks a table of the store; restore a backup"),
    (errors.DataCorrupted, StoreDamagedError, _DAMAGED),
    (errors.IndexCorrupted, StoreDamagedError, _DAMAGED),
    (errors.ProgramLimitExceeded, StoreError, "cannot store this: a text, a vector or the name of a model is too long"),
)

_DISCONNECTS = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_CONNECTION_EXCEPTION = "08"

# libpq reports a refused login without a code, only as English text; in other languages the advice is general.
_PASSWORD = "refused the login; check the user and the password"  # noqa: S105 (a message)
_NAMES = "refused the login; check the names of the database and of the user"
_REFUSALS: tuple[tuple[str, type[StoreError], str], ...] = (
    (r"authentication failed for|no password supplied|no pg_hba.conf entry", StoreError, _PASSWORD),
    (r"does not exist|permission denied for database|is not permitted to log in", StoreError, _NAMES),
    (r"too many (clients|connections)|connection slots are reserved", StoreBusyError, _NO_CONNECTION),
)


def is_disconnect(error: psycopg.Error) -> bool:
    """Return whether an error means that the connection is broken, not that a statement failed."""
    if isinstance(error, _DISCONNECTS):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(_CONNECTION_EXCEPTION)


def translate_error(location: str, error: psycopg.Error, secret: str | None = None) -> StoreError:
    """Return the error to raise for an error of PostgreSQL. ``secret`` is the password, which no message shows."""
    detail = " ".join(str(error).split()) or type(error).__name__
    if secret:
        detail = detail.replace(secret, "…")
    for kind, error_class, advice in _ERRORS:
        if isinstance(error, kind):
            return error_class(f"{location} {advice} ({detail})")
    if is_disconnect(error):
        for phrase, error_class, advice in _REFUSALS:
            if re.search(phrase, detail):
                return error_class(f"{location} {advice} ({detail})")
        return StoreUnavailableError(
            f"{location} cannot be reached; check that the server runs, and try again ({detail})"
        )
    return StoreError(f"{location}: {detail}")
