"""Download single files from the Hugging Face hub through ``huggingface_hub``, and continue interrupted downloads.

``hf_hub_download`` deletes what it received when it is interrupted. Here an unfinished file stays beside its
destination, as ``NAME.HASH.part`` with a hash of the ETag, so that the next call requests only the rest.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import ModelError
from recollect.inference.runtime import require_module
from recollect.progress import Progress

_SHA256 = re.compile("[0-9a-f]{64}")
_MEGABYTE = 10**6


class HubFile(NamedTuple):
    """A file in a repository of the hub."""

    repository: str
    revision: str  # the commit, 40 hexadecimal digits
    name: str  # the path in the repository


def _hub(module: str = "") -> Any:
    """Return the package ``huggingface_hub``, or one of its modules, which it does not import by itself."""
    return require_module(f"huggingface_hub{module}", ModelError)


def _endpoint() -> str | None:
    """Return the address in ``HF_ENDPOINT``, or ``None``; ``huggingface_hub`` reads the variable only at its import."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def is_offline() -> bool:
    """Return whether ``HF_HUB_OFFLINE`` forbids downloads; ``huggingface_hub`` accepts these values."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def current_revision(repository: str) -> str:
    """Return the commit that the main branch of a repository has now."""
    return str(_hub().HfApi(endpoint=_endpoint()).model_info(repository).sha)


def download_file(file: HubFile, path: Path, expected: str, progress: Progress | None) -> str:
    """Download a file to ``path`` and return its SHA-256; ``path`` is created or replaced after the hash was checked.

    ``expected`` is the SHA-256 that the file must have. If it is empty, a SHA-256 that the hub declares is checked. A
    copy in the cache of ``huggingface_hub`` with the expected hash is used instead of the network.
    """
    hub = _hub()
    path.parent.mkdir(parents=True, exist_ok=True)
    cached = hub.try_to_load_from_cache(file.repository, file.name, revision=file.revision)
    if expected and isinstance(cached, str) and sha256_of(Path(cached)) == expected:
        part = path.with_name(f"{path.name}.part")
        shutil.copyfile(cached, part)
        part.replace(path)
        return expected
    url = hub.hf_hub_url(file.repository, file.name, revision=file.revision, endpoint=_endpoint())
    metadata = hub.get_hf_file_metadata(url)
    if not expected and metadata.commit_hash != file.revision:
        raise ModelError(f"{url} is not of the revision {file.revision}; check HF_ENDPOINT and the proxy")
    declared = metadata.etag if metadata.etag and _SHA256.fullmatch(metadata.etag) else ""
    if expected and declared not in ("", expected):
        raise ModelError(_mismatch(file))
    part = path.with_name(f"{path.name}.{hashlib.sha256(str(metadata.etag).encode()).hexdigest()[:8]}.part")
    if metadata.size is None or metadata.etag is None:  # nothing says that the received part belongs to the file
        part.unlink(missing_ok=True)
    else:
        _require_space(part, metadata.size - _size(part))
    _receive(url, part, metadata.size, lambda done: progress and progress(done, metadata.size or done, file.name))
    digest = sha256_of(part)
    if digest != (expected or declared or digest):
        part.unlink()
        raise ModelError(_mismatch(file))
    part.replace(path)
    return digest


def _mismatch(file: HubFile) -> str:
    problem = f"the SHA-256 of {file.name} from {file.repository} is not the expected one, so nothing was installed"
    return f"{problem}; download it again, or check HF_ENDPOINT and the proxy"


def _require_space(path: Path, needed: int) -> None:
    """Raise the error of a full disk now if fewer than ``needed`` bytes are free, not after a long download."""
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        problem = f"{needed / _MEGABYTE:.0f} MB are needed and {free / _MEGABYTE:.0f} MB are free"
        raise OSError(errno.ENOSPC, problem)


def _receive(url: str, part: Path, size: int | None, report: Callable[[int], object]) -> None:
    """Request the missing rest of a file until all ``size`` bytes are there; give up if a request brings no bytes."""
    while True:
        before = _size(part)
        if size is not None and before >= size:
            return
        failure: Exception | None = None
        try:
            _append(url, part, report)
        except Exception as error:
            if _is_disk_error(error) or isinstance(error, _hub(".errors").HfHubHTTPError):
                raise
            failure = error
        received = _size(part)
        if failure is None and size in (None, received):
            return
        if received <= before or size is None:
            raise failure or ConnectionError(f"{received} of {size} bytes were received")


def _append(url: str, part: Path, report: Callable[[int], object]) -> None:
    """Request the file from the end of ``part`` on, and append what the server sends."""
    hub = _hub()
    start = _size(part)
    # Compressed bytes could not be continued by their position in the file.
    headers = _hub(".utils").build_hf_headers() | {"Accept-Encoding": "identity", "Range": f"bytes={start}-"}
    timeout = _hub(".constants").HF_HUB_DOWNLOAD_TIMEOUT
    with hub.get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
        hub.hf_raise_for_status(response)
        with part.open("ab") as file:
            if response.status_code != 206:  # the server sends the whole file
                file.truncate(0)
            for chunk in response.iter_bytes():
                file.write(chunk)
                report(file.tell())
            file.flush()
            os.fsync(file.fileno())  # the manifest must not reach the disk before the file does


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error


def _is_disk_error(error: Exception) -> bool:
    """Return whether an error is about this machine's disk; errors of the network have no ``errno``."""
    return isinstance(error, OSError) and error.errno is not None


def disk_problem(error: Exception) -> str:
    """Return in one line why a file cannot be written, and what to do."""
    problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return f"{problem}; set RECOLLECT_CACHE to a writable folder with enough free space"


def hub_problem(repository: str, error: Exception) -> str | None:
    """Return in one line why a download failed, and what to do; ``None`` if it is not a problem of the hub.

    A ``ModelError`` has its message already, and an error of the disk is described by :func:`disk_problem`.
    """
    if isinstance(error, ModelError) or _is_disk_error(error):
        return None
    errors = _hub(".errors")
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set; unset it to download"
    if isinstance(error, errors.GatedRepoError):
        return f"{repository} requires that you accept its terms on the hub and set HF_TOKEN"
    if isinstance(error, errors.RevisionNotFoundError | errors.RemoteEntryNotFoundError):
        return f"the hub has no such file or revision of {repository}; a newer version of Recollect may know another"
    if isinstance(error, errors.HfHubHTTPError):
        return _status_problem(repository, error.response.status_code)
    detail = " ".join(str(error).split())[:160] or type(error).__name__
    return (
        f"the hub cannot be reached, or the connection was lost ({detail}); check the network and run the command again"
    )


def _status_problem(repository: str, status: int) -> str:
    if status in (401, 403, 404):  # the hub answers 401 for repositories that do not exist, too
        return f"the hub answered {status} for {repository}; if it is not public, set HF_TOKEN to a token with access"
    if status == 429:
        return "the hub answered 429, too many requests; wait some minutes, or set HF_TOKEN"
    return f"the hub answered {status}; try again later"
