"""Facts about the machine for benchmark reports, and measurements of memory and disk space."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessMemory", "disk_bytes", "machine_info", "package_versions", "process_memory"]

_CPU_FILE, _MEMORY_FILE, _SYSTEM_FILE = Path("/proc/cpuinfo"), Path("/proc/meminfo"), Path("/etc/os-release")


def machine_info() -> dict[str, str | int | None]:
    """Return processor, cores, memory, system and Python version.

    >>> sorted(machine_info())
    ['cores', 'cpu', 'memory_bytes', 'python', 'system']
    """
    memory = _read_value(_MEMORY_FILE, "MemTotal", ":")
    return {
        "cpu": _read_value(_CPU_FILE, "model name", ":") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": 1024 * int(memory.split()[0]) if memory else None,
        "system": _read_value(_SYSTEM_FILE, "PRETTY_NAME", "=").strip('"') or platform.system(),
        "python": platform.python_version(),
    }


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the given packages that are installed.

    >>> list(package_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


class ProcessMemory(NamedTuple):
    """The memory of a process in bytes: resident now, resident at the peak, and resident now without mapped files."""

    now: int
    peak: int
    anonymous: int


def process_memory(process: Path = Path("/proc/self")) -> ProcessMemory | None:
    """Return the memory of a process, if the kernel reports it, as Linux does.

    The peak is VmHWM, because the peak of ``getrusage`` starts at the memory of the parent process.

    >>> process_memory(Path("/nowhere")) is None
    True
    """
    try:
        lines = (process / "status").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    fields = (line.partition(":") for line in lines)
    values = {name: 1024 * int(value.split()[0]) for name, _, value in fields if "kB" in value}
    return ProcessMemory(values["VmRSS"], values["VmHWM"], values["RssAnon"])


def disk_bytes(folder: Path) -> int:
    """Return the size of all files below a folder in bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _read_value(path: Path, name: str, separator: str) -> str:
    """Return the value of a name in a file of ``name separator value`` lines; empty if file or name is missing."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = (line.partition(separator) for line in lines)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")
