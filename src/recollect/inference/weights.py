"""Find, download, verify and remove the weights of the models in the catalogue.

Downloaded weights are in the folder ``models/NAME`` of the cache, with a file ``recollect.json`` that records the
repository, its revision and the SHA-256 of each file. A download goes to ``models/NAME.partial`` first. It replaces the
old folder only when all files are there and their hashes are right, so that a failed download changes nothing, and a
repeated one continues. Only ONNX graphs, safetensors, tokenizers and JSON are downloaded: no file is code.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self

from recollect.errors import ModelError
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.runtime import (
    ErrorType,
    cache_folder,
    missing_modules,
    package_folder,
    require_module,
)
from recollect.progress import Progress

CACHE = "cache"
"""The source of weights that were downloaded from the hub."""
_MANIFEST = "recollect.json"
_SUFFIXES = (".onnx", ".onnx_data", ".safetensors", ".json", ".txt", ".model")
"""The files that may be downloaded. Pickled weights (.bin, .pt) can run code when they are loaded, so none is here."""


class Weights(NamedTuple):
    """The files of an installed model."""

    folder: Path
    file: str  # the file with the weights, relative to the folder
    source: str  # ``CACHE``, or the name and version of a package

    @property
    def path(self) -> Path:
        """The file with the weights."""
        return self.folder / self.file


def models_folder() -> Path:
    """Return the folder of the downloaded models."""
    try:
        return cache_folder() / "models"
    except RuntimeError as error:  # some users have no home folder, above all in containers
        advice = "set RECOLLECT_CACHE to a folder that can be written to"
        raise ModelError(f"there is no folder for models ({error}): {advice}") from error


def find_weights(entry: CatalogueEntry) -> Weights | None:
    """Return the installed weights of a model, from the cache or else from a package; ``None`` if there are none.

    The weights in the cache were checked when they were downloaded. Those of a package are checked by
    :func:`checked_file` when they are loaded.
    """
    folder = models_folder() / entry.name
    if (folder / _MANIFEST).is_file() and all((folder / name).is_file() for name in entry.files):
        return Weights(folder, entry.file, CACHE)
    package = entry.package
    if package is None or _version(package.distribution) != package.version:
        return None
    installed = package_folder(package.module)
    if installed is None or not (installed / package.folder / package.file).is_file():
        return None
    return Weights(installed / package.folder, package.file, f"{package.distribution} {package.version}")


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def unavailable_reason(entry: CatalogueEntry, *modules: str) -> str | None:
    """Return why a model cannot be used and what to do; ``None`` if ``modules`` and its weights are installed."""
    if missing := missing_modules(*modules):
        return f"{entry.name} needs {' and '.join(missing)}: pip install 'recollectdb[models]'"
    return None if find_weights(entry) else _missing_message(entry)


def require_weights(entry: CatalogueEntry, error_type: ErrorType, *modules: str) -> Weights:
    """Return the installed weights of a model; raise ``error_type`` if they, or one of ``modules``, are missing."""
    weights = find_weights(entry)
    reason = unavailable_reason(entry, *modules)
    if weights is None or reason:
        raise error_type(reason or _missing_message(entry))
    return weights


def _missing_message(entry: CatalogueEntry) -> str:
    """Return the message that a model's weights are not installed, and how to get them."""
    return f"{entry.name} is not installed: recollect models download {entry.name} ({entry.megabytes} MB)"


def checked_file(entry: CatalogueEntry, weights: Weights, error_type: ErrorType) -> Path:
    """Return the file with the weights; if it comes from a package, raise ``error_type`` unless its hash is right."""
    package = entry.package
    if package is not None and weights.source != CACHE and sha256_of(weights.path) != package.sha256:
        problem = "is not the file that the catalogue describes: its SHA-256 differs"
        raise error_type(f"{weights.path} {problem}; {package.install_command} --force-reinstall")
    return weights.path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error


def download(entry: CatalogueEntry, *, progress: Progress | None = None) -> Weights:
    """Download a model from the Hugging Face hub into the cache, verify its files, and return them.

    ``HF_ENDPOINT``, ``HF_HUB_OFFLINE``, ``HF_TOKEN`` and the proxy variables have their usual effect. ``progress`` is
    called with the number of downloaded bytes, the total, and the name of the file. If anything fails, a
    ``ModelError`` says why, and the weights that were there before are unchanged.
    """
    target = models_folder() / entry.name
    unfinished = target.with_name(f"{entry.name}.partial")
    try:
        unfinished.mkdir(parents=True, exist_ok=True)
        revision = _fetch(entry, unfinished, progress)
        hashes = _checked_hashes(entry, unfinished)
        manifest = {"repository": entry.repository, "revision": revision, "sha256": hashes}
        (unfinished / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(unfinished / ".cache", ignore_errors=True)  # the hub's bookkeeping of unfinished downloads
        _replace_folder(unfinished, target)
    except OSError as error:
        raise ModelError(f"{entry.name} cannot be stored in {target.parent}: {_disk_problem(error)}") from error
    return Weights(target, entry.file, CACHE)


def _fetch(entry: CatalogueEntry, folder: Path, progress: Progress | None) -> str:
    """Download the files of a model into a folder; return the commit of the repository that they come from."""
    hub = require_module("huggingface_hub", ModelError)
    try:
        commit = entry.revision or str(hub.HfApi().model_info(entry.repository).sha)
        for name in entry.files:
            if not name.endswith(_SUFFIXES):
                raise ModelError(f"{entry.name}: {name} is not a kind of file that Recollect downloads")
            bar = partial(_DownloadBar, progress, name)
            hub.hf_hub_download(entry.repository, name, revision=commit, local_dir=folder, tqdm_class=bar)
    except Exception as error:
        if isinstance(error, ModelError) or _is_local(error):
            raise
        raise ModelError(f"{entry.name} cannot be downloaded: {_hub_problem(entry, error)}") from error
    return commit


class _DownloadBar:
    """Passes the progress of one file on. It has the methods of a tqdm bar that ``huggingface_hub`` calls."""

    def __init__(
        self, progress: Progress | None, name: str, *, total: int | None = None, initial: int = 0, **_: object
    ) -> None:
        self._progress, self._name, self._total, self._done = progress, name, total, initial

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def update(self, count: float = 1) -> None:
        """Report ``count`` more bytes."""
        self._done += int(count)
        if self._progress is not None:
            self._progress(self._done, max(self._total or 0, self._done), self._name)


def _is_local(error: Exception) -> bool:
    """Return whether an error is about this machine's disk, not about the network."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def _hub_problem(entry: CatalogueEntry, error: Exception) -> str:
    """Return in one line why a download failed, and what to do."""
    errors = require_module("huggingface_hub.errors", ModelError)
    package = f"; or {entry.package.install_command}, a third-party copy" if entry.package else ""
    if isinstance(error, errors.OfflineModeIsEnabled):
        return f"HF_HUB_OFFLINE forbids it{package}"
    if isinstance(error, errors.GatedRepoError):
        return f"{entry.repository} requires that you accept its licence on the hub and set HF_TOKEN"
    missing_types = (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.RemoteEntryNotFoundError)
    if isinstance(error, missing_types):
        return f"the hub has no such file or revision of {entry.repository}"
    if isinstance(error, errors.HfHubHTTPError):
        status = getattr(getattr(error, "response", None), "status_code", "an error")
        return f"the hub answered {status}; try again later{package}"
    detail = " ".join(str(error).split())[:160]
    return f"the hub cannot be reached or broke off ({type(error).__name__}: {detail}); run the command again{package}"


def _checked_hashes(entry: CatalogueEntry, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each downloaded file; delete a file that differs from the catalogue, and raise an error."""
    hashes = {name: sha256_of(folder / name) for name in entry.files}
    wrong = [name for name, expected in entry.files.items() if expected and hashes[name] != expected]
    for name in wrong:
        (folder / name).unlink()
    if wrong:
        problem = f"the SHA-256 of {', '.join(wrong)} differs from the catalogue"
        raise ModelError(f"{entry.name} was not installed: {problem}; download it again")
    return hashes


def _replace_folder(new: Path, target: Path) -> None:
    """Move a folder to ``target``; the old folder is deleted only after the new one is in place."""
    old = target.with_name(f"{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _disk_problem(error: OSError) -> str:
    advice = "set RECOLLECT_CACHE to a folder with more space" if error.errno == errno.ENOSPC else ""
    return "; ".join(filter(None, (error.strerror or str(error), advice)))


def verify(entry: CatalogueEntry) -> dict[str, str]:
    """Return the problem of each file of an installed model; empty if all hashes are right.

    Hashes are compared with the catalogue, or, where it has none, with those recorded at the download.
    """
    weights = require_weights(entry, ModelError)
    if weights.source != CACHE:
        package = entry.package
        wrong = package is not None and sha256_of(weights.path) != package.sha256
        return {weights.file: "its SHA-256 differs from the catalogue"} if wrong else {}
    recorded = _manifest(weights.folder).get("sha256")
    recorded = recorded if isinstance(recorded, dict) else {}
    problems = {}
    for name, expected in entry.files.items():
        if sha256_of(weights.folder / name) != (expected or recorded.get(name)):
            source = "from the catalogue" if expected else "from the first download"
            problems[name] = f"its SHA-256 differs {source}"
    return problems


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / _MANIFEST} cannot be read: {error}; download the model again") from error
    return data if isinstance(data, dict) else {}


def remove(entry: CatalogueEntry) -> int:
    """Delete the downloaded files of a model, finished or not; return how many bytes were freed."""
    target = models_folder() / entry.name
    freed = 0
    for folder in (target, target.with_name(f"{entry.name}.partial"), target.with_name(f"{entry.name}.old")):
        freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        try:
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise ModelError(f"{folder} cannot be deleted: {error.strerror or error}") from error
    return freed
