"""The machine that figures are of."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["described_machine", "package_versions"]

_CPU, _MEMORY, _SYSTEM = Path("/proc/cpuinfo"), Path("/proc/meminfo"), Path("/etc/os-release")


def described_machine() -> dict[str, str | int | None]:
    """Return what a reader of figures should know of this machine; nothing tells whose it is.

    >>> sorted(described_machine())
    ['cores', 'cpu', 'memory_bytes', 'python', 'system']
    """
    memory = _value(_MEMORY, "MemTotal", ":")
    return {
        "cpu": _value(_CPU, "model name", ":") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": 1024 * int(memory.split()[0]) if memory else None,
        "system": _value(_SYSTEM, "PRETTY_NAME", "=").strip('"') or platform.system(),
        "python": platform.python_version(),
    }


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages that are installed.

    >>> list(package_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _value(path: Path, name: str, sign: str) -> str:
    """Return what a file says behind a name; nothing if there is no such file or name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next(
        (value.strip() for line in lines for key, _, value in [line.partition(sign)] if key.strip() == name), ""
    )
