"""Settings of the HTTP server: address, limits and threads. Defaults are computed and values are checked here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from recollect import arguments
from recollect.errors import ArgumentError

MEGABYTE = 1_048_576


def _default_read_threads() -> int:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, processors)


def _default_max_connections() -> int:
    max_files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1024  # negative if there is no limit
    return max(1, min(1000, max_files // 2)) if max_files > 0 else 1000


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``, a name or an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a server; the defaults are for a server that only this machine can reach.

    >>> Settings().rate, Settings(require_keys=True).rate
    (0.0, 100.0)
    """

    host: str = "127.0.0.1"
    port: int = 7700
    require_keys: bool = False
    max_body_bytes: int = 4 * MEGABYTE
    rate: float | None = None
    """How many requests a second each key (without keys: each client address) may send. Twice as many may arrive at
    once. 0 means no limit. The default is 100 if keys are required, else 0."""
    timeout: float = 30.0
    """How many seconds a request may take."""
    read_threads: int = field(default_factory=_default_read_threads)
    """How many searches and other reads run at once. SQLite, numpy and models run in parallel, Python code does not:
    more threads than processors are no faster."""
    write_threads: int = 2
    """How many writes run at once: with two, one note is embedded while another is written."""
    max_queued: int = 256
    """How many requests may wait for a thread before more are rejected."""
    max_connections: int = field(default_factory=_default_max_connections)
    """How many connections may be open; by default 1,000, or half the number of files that the process may open if that
    is less, because the memory also opens files."""
    shutdown_timeout: float = 30.0
    """How many seconds running requests may go on when the server stops."""
    reports: Path | None = None
    """The folder with evaluation reports to serve."""

    def __post_init__(self) -> None:
        for name in ("max_body_bytes", "read_threads", "write_threads", "max_queued", "max_connections"):
            arguments.at_least_one(name, getattr(self, name))
        for name in ("timeout", "shutdown_timeout"):
            if not arguments.number(name, getattr(self, name)) > 0:
                raise ArgumentError(name, f"must be more than 0, got {getattr(self, name):g}")
        if self.reports is not None and not self.reports.is_dir():
            raise ArgumentError("reports", f"must be an existing folder, got {str(self.reports)!r}")
        default_rate = 100.0 if self.require_keys else 0.0
        rate = default_rate if self.rate is None else self.rate
        object.__setattr__(self, "rate", arguments.number("rate", rate, at_least=0))
