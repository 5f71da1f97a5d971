"""PostgreSQL's errors become StoreErrors."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from recollect.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from recollect.stores.postgres.errors import is_disconnect, translate_error


@pytest.mark.parametrize(
    ("error", "expected_class", "advice"),
    [
        (errors.LockNotAvailable("x"), StoreBusyError, "try again"),
        (errors.DeadlockDetected("x"), StoreBusyError, "try again"),
        (errors.TooManyConnections("x"), StoreBusyError, "raise max_connections"),
        (errors.QueryCanceled("x"), StoreError, "raise statement_timeout"),
        (errors.DiskFull("x"), StoreFullError, "nothing was written"),
        (errors.ReadOnlySqlTransaction("x"), StoreReadOnlyError, "use it read-only"),
        (errors.InsufficientPrivilege("x"), StoreError, "ask its owner"),
        (errors.UndefinedTable("x"), StoreDamagedError, "restore a backup"),
        (errors.IndexCorrupted("x"), StoreDamagedError, "doctor --repair"),
        (errors.ProgramLimitExceeded("x"), StoreError, "a text, a vector or the name of a model is too long"),
        (errors.AdminShutdown("x"), StoreUnavailableError, "check that the server runs"),
        (errors.UniqueViolation("x"), StoreError, "postgresql://db/notes: x"),
    ],
)
def test_error_names_the_database_and_the_remedy(
    error: psycopg.Error, expected_class: type[StoreError], advice: str
) -> None:
    translated = translate_error("postgresql://db/notes", error)
    assert type(translated) is expected_class
    assert str(translated).startswith("postgresql://db/notes")
    assert advice in str(translated)


@pytest.mark.parametrize(
    ("detail", "expected_class", "advice"),
    [
        ('FATAL:  password authentication failed for user "ines"', StoreError, "check the user and the password"),
        ("fe_sendauth: no password supplied", StoreError, "check the user and the password"),
        ('FATAL:  database "tea" does not exist', StoreError, "check the names of the database and of the user"),
        ("FATAL:  sorry, too many clients already", StoreBusyError, "raise max_connections"),
        ("FATAL:  the database system is starting up", StoreUnavailableError, "check that the server runs"),
        ("Connection refused", StoreUnavailableError, "check that the server runs"),
    ],
)
def test_refused_login_says_why(detail: str, expected_class: type[StoreError], advice: str) -> None:
    translated = translate_error("postgresql://db/notes", psycopg.OperationalError(f"connection failed: {detail}"))
    assert type(translated) is expected_class
    assert advice in str(translated)


def test_message_is_one_line_without_the_password() -> None:
    translated = translate_error(
        "postgresql://db/notes", psycopg.OperationalError('no role "x"\n  hush, it is hush\n'), "hush"
    )
    assert str(translated).endswith('(no role "x" …, it is …)')


def test_error_without_message_has_its_class_name() -> None:
    assert str(translate_error("here", errors.UniqueViolation())) == "here: UniqueViolation"


@pytest.mark.parametrize(
    ("error", "broken"),
    [
        (errors.AdminShutdown(), True),
        (errors.IdleInTransactionSessionTimeout(), True),
        (errors.ConnectionFailure(), True),
        (psycopg.OperationalError("the connection is lost"), True),
        (errors.DiskFull(), False),
        (errors.UniqueViolation(), False),
    ],
)
def test_disconnect_differs_from_refusal(error: psycopg.Error, broken: bool) -> None:
    assert is_disconnect(error) is broken
