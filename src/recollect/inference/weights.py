"""Find, download, verify and remove the weights of the models in the catalogue.

Downloaded weights are in ``models/NAME/REVISION`` of the cache folder. The manifest ``models/NAME/recollect.json``
records the repository, the revision and the SHA-256 of each file. A file gets its name only after its hash was checked,
and the manifest is replaced in one step after all files are there, so that a failed download changes nothing. What was
received before a download was interrupted stays in files ``.part``, and the next download continues after it. Only ONNX
graphs, safetensors, tokenizers and JSON are downloaded: no file is code.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from recollect.errors import ModelError
from recollect.inference.catalogue import CatalogueEntry
from recollect.inference.hub import HubFile, current_revision, disk_problem, download_file, hub_problem, sha256_of
from recollect.inference.runtime import (
    ErrorType,
    cache_folder,
    install_command,
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
_COMMIT = re.compile("[0-9a-f]{40}")


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

    The weights in the cache were checked when they were downloaded. Weights that an older catalogue described are not
    returned. Those of a package are checked by :func:`checked_file` when they are loaded.
    """
    return _cached_weights(entry) or _package_weights(entry)


def _cached_weights(entry: CatalogueEntry) -> Weights | None:
    with suppress(ModelError, OSError):  # without a cache folder, or with one that cannot be read, nothing is cached
        target = models_folder() / entry.name
        manifest = _read_manifest(target)
        folder = target / manifest.revision
        if manifest.fits(entry) and all((folder / name).is_file() for name in entry.files):
            return Weights(folder, entry.file, CACHE)
    return None


def _package_weights(entry: CatalogueEntry) -> Weights | None:
    package = entry.package
    installed = package and package_folder(package.module)
    if not package or not installed:
        return None
    # importlib.metadata would import many modules to read the same version.
    version = f"{package.distribution.replace('-', '_')}-{package.version}.dist-info"
    if not (installed.parent / version).is_dir() or not (installed / package.folder / package.file).is_file():
        return None
    return Weights(installed / package.folder, package.file, f"{package.distribution} {package.version}")


class _Manifest(NamedTuple):
    """What a download recorded; all fields are empty if nothing was downloaded."""

    repository: str = ""
    revision: str = ""
    hashes: Mapping[str, str] = {}  # the SHA-256 of each file

    def fits(self, entry: CatalogueEntry) -> bool:
        """Return whether the recorded files are those that the catalogue describes."""
        if self.repository != entry.repository or not (entry.is_pinned or entry.revision in ("", self.revision)):
            return False
        return all(name in self.hashes and sha in ("", self.hashes[name]) for name, sha in entry.files.items())


def _read_manifest(target: Path) -> _Manifest:
    """Return the manifest of a model; an empty one if there is none or it is damaged."""
    try:
        data = json.loads((target / _MANIFEST).read_text(encoding="utf-8"))
        manifest = _Manifest(str(data["repository"]), str(data["revision"]), dict(data["sha256"]))
    except (OSError, ValueError, TypeError, KeyError):
        return _Manifest()
    return manifest if _COMMIT.fullmatch(manifest.revision) else _Manifest()


def unavailable_reason(entry: CatalogueEntry, *modules: str) -> str | None:
    """Return why a model cannot be used and what to do; ``None`` if ``modules`` and its weights are installed."""
    if missing := missing_modules(*modules):
        return f"{entry.name} needs {' and '.join(missing)}: {install_command(*missing)}"
    return None if find_weights(entry) else _missing_message(entry)


def require_weights(entry: CatalogueEntry, error_type: ErrorType, *modules: str) -> Weights:
    """Return the installed weights of a model; raise ``error_type`` if they, or one of ``modules``, are missing."""
    weights = find_weights(entry)
    if missing_modules(*modules) or weights is None:
        raise error_type(unavailable_reason(entry, *modules) or _missing_message(entry))
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


def download(entry: CatalogueEntry, *, progress: Progress | None = None) -> Weights:
    """Download a model from the Hugging Face hub into the cache, verify its files, and return them.

    Files that are there with the right hash are not downloaded again. ``HF_ENDPOINT``, ``HF_HUB_OFFLINE``, ``HF_TOKEN``
    and the proxy variables have their usual effect. ``progress`` is called with the number of received bytes of a file,
    its size, and its name. If anything fails, a ``ModelError`` says why, and the weights that were there before are
    unchanged.
    """
    for name in entry.files:
        if not name.endswith(_SUFFIXES):
            raise ModelError(f"{entry.name}: {name} is not a kind of file that Recollect downloads")
    target = models_folder() / entry.name
    try:
        with _locked(entry, target):
            manifest = _download_files(entry, target, progress)
            _write_manifest(target, manifest)
            _delete_other_files(target, manifest)
    except (OSError, NotImplementedError) as error:  # NotImplementedError: the file system has no locks
        raise ModelError(f"{entry.name} cannot be stored in {target.parent}: {disk_problem(error)}") from error
    return Weights(target / manifest.revision, entry.file, CACHE)


def _download_files(entry: CatalogueEntry, target: Path, progress: Progress | None) -> _Manifest:
    """Download the files that are missing or damaged; return what to record."""
    recorded = _read_manifest(target)
    if not recorded.fits(entry):
        recorded = _Manifest()
    hashes = {}
    try:
        # A model without a revision in the catalogue keeps the one of its first download.
        revision = entry.revision or recorded.revision or current_revision(entry.repository)
        for name, sha256 in entry.files.items():
            expected = sha256 or recorded.hashes.get(name, "")
            path = target / revision / name
            if expected and path.is_file() and sha256_of(path) == expected:
                hashes[name] = expected
            else:
                hashes[name] = download_file(HubFile(entry.repository, revision, name), path, expected, progress)
    except Exception as error:
        problem = hub_problem(entry.repository, error)
        if problem is None:
            raise
        copy = f"; or {entry.package.install_command}, a third-party copy" if entry.package else ""
        raise ModelError(f"{entry.name} cannot be downloaded: {problem}{copy}") from error
    return _Manifest(entry.repository, revision, hashes)


@contextmanager
def _locked(entry: CatalogueEntry, target: Path) -> Iterator[None]:
    """Let one process at a time change the files of a model; raise ``ModelError`` if another one does."""
    filelock = require_module("filelock", ModelError)
    target.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise ModelError(f"another process is downloading {entry.name}: wait until it has finished") from None
    try:
        yield
    finally:
        lock.release()


def _write_manifest(target: Path, manifest: _Manifest) -> None:
    data = {"repository": manifest.repository, "revision": manifest.revision, "sha256": manifest.hashes}
    unfinished = target / f"{_MANIFEST}.part"
    unfinished.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(target / _MANIFEST)


def _delete_other_files(target: Path, manifest: _Manifest) -> None:
    """Delete other revisions and unfinished files; those that another process uses may stay, as on Windows."""
    for path in target.iterdir():
        if path.is_dir() and path.name != manifest.revision:
            shutil.rmtree(path, ignore_errors=True)
    for path in target.rglob("*.part"):
        with suppress(OSError):
            path.unlink()


def verify(entry: CatalogueEntry) -> dict[str, str]:
    """Return the problem of each file of an installed model; empty if all hashes are right.

    Hashes are compared with the catalogue, or, where it has none, with those recorded at the download.
    """
    weights = require_weights(entry, ModelError)
    package = entry.package
    if weights.source != CACHE and package is not None:
        expected = {weights.file: package.sha256}
        recorded: Mapping[str, str] = {}
    else:
        expected = dict(entry.files)
        recorded = _read_manifest(models_folder() / entry.name).hashes
    problems = {}
    for name, sha256 in expected.items():
        if sha256_of(weights.folder / name) != (sha256 or recorded.get(name)):
            origin = "catalogue" if sha256 else "first download"
            problems[name] = f"its SHA-256 differs from that of the {origin}"
    return problems


def remove(entry: CatalogueEntry) -> int:
    """Delete the downloaded files of a model, finished or not; return how many bytes were freed.

    If the model's folder is a symbolic link, only the link is deleted.
    """
    target = models_folder() / entry.name
    if not target.exists() and not target.is_symlink():
        return 0
    try:
        if target.is_symlink():  # the files in the folder that it points to are not ours
            target.unlink()
            return 0
        with _locked(entry, target):
            freed = sum(path.lstat().st_size for path in target.rglob("*") if not path.is_dir())
            shutil.rmtree(target)
            return freed
    except (OSError, NotImplementedError) as error:
        raise ModelError(f"{target} cannot be deleted: {disk_problem(error)}") from error
