"""Files that are built once and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from recollect.errors import EmbedderError

__all__ = ["cache_folder", "fingerprint", "kept_file"]


def cache_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return where built files are kept: ``RECOLLECT_CACHE``, or a folder in the platform's place for caches.

    >>> cache_folder({"RECOLLECT_CACHE": "models"}).as_posix()
    'models'
    >>> cache_folder({"XDG_CACHE_HOME": "/var/cache/me"}, "linux").as_posix()
    '/var/cache/me/recollect'
    """
    if environment.get("RECOLLECT_CACHE"):
        return Path(environment["RECOLLECT_CACHE"]).expanduser()
    if environment.get("XDG_CACHE_HOME"):
        return Path(environment["XDG_CACHE_HOME"]) / "recollect"
    if platform == "win32" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"]) / "recollect" / "cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "recollect"
    return Path.home() / ".cache" / "recollect"


def kept_file(stem: str, suffix: str, build: Callable[[Path], None]) -> Path:
    """Return the kept file of this name, built first if there is none or a damaged one.

    The name of a file ends in the digest of what is in it, so that damage shows. It is built beside its place and
    moved there in one step: of two processes that build at once, the later one replaces a file by its equal.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415 (only who builds pays for it)

    advice = "set RECOLLECT_CACHE to a folder that can be written to"
    try:
        folder = cache_folder()
    except RuntimeError as error:  # there are users without a home, above all in containers
        raise EmbedderError(f"the built model cannot be kept ({error}): {advice}") from error
    for path in sorted(folder.glob(f"{stem}.*{suffix}")):
        with suppress(OSError):  # a file that cannot be read is as good as none
            if path.name == _named(stem, path, suffix):
                return path
            path.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix="building-") as place:
            built = Path(place, "built")
            build(built)
            return built.replace(folder / _named(stem, built, suffix))
    except OSError as error:
        raise EmbedderError(f"the built model cannot be kept in {folder} ({error}): {advice}") from error


def fingerprint(path: Path) -> str:
    """Return a short text that changes with a file of weights: other training changes numbers everywhere in it.

    Only samples are read, because the whole file would take longer than loading the built model.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for sample in range(16):
            file.seek(size * sample // 16)
            digest.update(file.read(1 << 16))
    return digest.hexdigest()[:12]


def _named(stem: str, path: Path, suffix: str) -> str:
    """Return the name that a file with this content has."""
    with path.open("rb") as file:
        return f"{stem}.{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}{suffix}"
