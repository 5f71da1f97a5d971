"""How a server behaves: where it listens, and what it lets nobody overdo."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from recollect import arguments
from recollect.errors import ArgumentError

__all__ = ["Settings", "is_loopback"]

MEGABYTE = 1_048_576


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _connections() -> int:
    """Return half as many as this process may open files, so that the memory and what comes and goes have theirs."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1024
    return max(1, min(1000, files // 2)) if files > 0 else 1000


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``, a name or an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a server; the defaults are for one's own machine.

    >>> Settings().open, Settings(keyed=True).rate
    (True, 100.0)
    """

    host: str = "127.0.0.1"
    port: int = 7700
    keyed: bool = False
    """Whether who asks must show a key."""
    body_bytes: int = 4 * MEGABYTE
    """How large a request may be."""
    rate: float | None = None
    """How many requests a second each key, or each address without one, may make; 0: as many as it likes. By default
    none are counted where no keys are asked for, and 100 a second otherwise."""
    burst: float | None = None
    """How many may come at once; by default twice the rate."""
    seconds: float = 30.0
    """How long a request may take."""
    searches: int = field(default_factory=lambda: max(2, _cores()))
    """How many searches and other reads run at once; more wait. Much of a search is Python, which runs one at a time:
    more threads than processors take turns more often and are no faster."""
    writes: int = 2
    """How many writes run at once: one embeds while another writes."""
    waiting: int = 256
    """How many requests may wait for their turn before more are sent away."""
    connections: int = field(default_factory=_connections)
    """How many connections may be open; more are refused. By default half as many as the process may open files, at
    most 1,000."""
    shutdown_seconds: float = 30.0
    """How long requests that are under way may go on when the server is stopped."""

    reports: Path | None = None
    """The folder whose evaluation reports are shown."""

    def __post_init__(self) -> None:
        """Check the numbers, and fill in what depends on others."""
        for name in ("body_bytes", "searches", "writes", "waiting", "connections"):
            arguments.at_least_one(name, getattr(self, name))
        for name in ("seconds", "shutdown_seconds"):
            if not arguments.number(name, getattr(self, name)) > 0:
                raise ArgumentError(name, f"must be more than 0, got {getattr(self, name):g}")
        if self.reports is not None and not self.reports.is_dir():
            raise ArgumentError("reports", f"must be a folder that is there, got {str(self.reports)!r}")
        rate = (100.0 if self.keyed else 0.0) if self.rate is None else self.rate
        object.__setattr__(self, "rate", arguments.number("rate", rate, at_least=0))
        burst = 2 * rate if self.burst is None else self.burst
        object.__setattr__(self, "burst", max(1.0, arguments.number("burst", burst, at_least=0)))

    @property
    def open(self) -> bool:
        """Whether anybody who can reach the server may do anything."""
        return not self.keyed
