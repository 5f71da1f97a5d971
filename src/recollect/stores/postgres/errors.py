"""Translate errors of psycopg into errors of Recollect, whose message names the database and says what to do."""

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

# Each message follows the location of the database, which is the subject of the sentence.
_CONFLICT = "has conflicting writers; nothing was written; try again"
_READ_ONLY = (
    "cannot be written to: it is a replica, or set to be read only; name a server that takes writes, "
    "or use it read-only"
)
_MISSING_TABLE = "lacks a table or a column of the store; restore a backup"
_DAMAGED = "is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt; else restore a backup"
_NO_CONNECTION = "has no connection left; raise max_connections of the server, or use smaller pools"
_PsycopgErrors = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_STATEMENT_ERRORS: tuple[tuple[_PsycopgErrors, type[StoreError], str], ...] = (
    (errors.LockNotAvailable, StoreBusyError, "is locked by other writers; nothing was written; try again"),
    ((errors.DeadlockDetected, errors.SerializationFailure), StoreBusyError, _CONFLICT),
    (errors.TooManyConnections, StoreBusyError, _NO_CONNECTION),
    (errors.QueryCanceled, StoreError, "took too long and was stopped; ask for less, or raise statement_timeout"),
    (errors.DiskFull, StoreFullError, "has no space left on its disk; nothing was written"),
    (errors.ReadOnlySqlTransaction, StoreReadOnlyError, _READ_ONLY),
    (errors.FeatureNotSupported, StoreReadOnlyError, _READ_ONLY),  # reported by a replica: "cannot … during recovery"
    (errors.InsufficientPrivilege, StoreError, "denies this to the role; ask its owner to grant it"),
    ((errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName), StoreDamagedError, _MISSING_TABLE),
    ((errors.DataCorrupted, errors.IndexCorrupted), StoreDamagedError, _DAMAGED),
    (errors.ProgramLimitExceeded, StoreError, "cannot store this: a text, a vector or the name of a model is too long"),
)
"""Each entry has the psycopg errors, the error to raise instead, and its message. The first entry that fits counts."""

_DISCONNECT_ERRORS = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_CONNECTION_EXCEPTION_CLASS = "08"  # the first two characters of the SQLSTATE of connection exceptions

_WRONG_PASSWORD = "refused the login; check the user and the password"  # noqa: S105 (a message)
_WRONG_NAMES = "refused the login; check the names of the database and of the user"
# libpq reports a refused login without an SQLSTATE, so these patterns match the server's English messages. If the
# server writes another language, the error says that the database cannot be reached.
_REFUSED_LOGINS: tuple[tuple[str, type[StoreError], str], ...] = (
    (r"authentication failed for|no password supplied|no pg_hba.conf entry", StoreError, _WRONG_PASSWORD),
    (r"does not exist|permission denied for database|is not permitted to log in", StoreError, _WRONG_NAMES),
    (r"too many (clients|connections)|connection slots are reserved", StoreBusyError, _NO_CONNECTION),
)


def is_disconnect(error: psycopg.Error) -> bool:
    """Return whether an error means that the connection is broken, not that a statement failed."""
    if isinstance(error, _DISCONNECT_ERRORS):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    # An OperationalError without an SQLSTATE comes from libpq, not from the server: the connection failed.
    return error.sqlstate is None or error.sqlstate.startswith(_CONNECTION_EXCEPTION_CLASS)


def translate_error(location: str, error: psycopg.Error, password: str | None = None) -> StoreError:
    """Return the error to raise for an error of psycopg; its message never contains ``password``."""
    detail = " ".join(str(error).split()) or type(error).__name__
    if password:
        detail = detail.replace(password, "…")
    for psycopg_classes, error_class, message in _STATEMENT_ERRORS:
        if isinstance(error, psycopg_classes):
            return error_class(f"{location} {message} ({detail})")
    if is_disconnect(error):
        for pattern, error_class, message in _REFUSED_LOGINS:
            if re.search(pattern, detail):
                return error_class(f"{location} {message} ({detail})")
        return StoreUnavailableError(
            f"{location} cannot be reached; check that the server runs, and try again ({detail})"
        )
    return StoreError(f"{location}: {detail}")
