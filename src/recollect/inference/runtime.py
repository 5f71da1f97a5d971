"""What embedders and rerankers share: model selection, optional packages, values per process, batches, a file cache."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from recollect.errors import ArgumentError, ArgumentTypeError, EmbedderError, RecollectError

T = TypeVar("T")

ErrorType = Callable[[str], RecollectError]
"""The error class that callers expect, such as ``EmbedderError``; it is called with the message."""

_EXTRAS = {
    "httpx": "http",
    "ir_measures": "eval",
    "jinja2": "eval",
    "markupsafe": "eval",
    "scipy": "eval",
    "onnx": "minilm",
}
"""For each optional package, the extra of Recollect that installs it; other packages are always required."""


def missing_modules(*modules: str) -> list[str]:
    """Return which of these modules are not installed; no module is imported."""
    return [module for module in modules if find_spec(module) is None]


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package, or ``None``; the package is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def require_module(module: str, error_type: ErrorType) -> Any:
    """Import and return ``module``; if that fails, raise an ``error_type`` that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise error_type(f"{module} cannot be imported ({error}): {install_command(module)}") from error


def install_command(*modules: str) -> str:
    """Return the command that installs Recollect with the packages of these modules.

    >>> install_command("httpx", "numpy")
    "pip install 'recollectdb[http]'"
    """
    extras = sorted({extra for module in modules if (extra := _EXTRAS.get(module.partition(".")[0]))})
    return f"pip install 'recollectdb[{','.join(extras)}]'" if extras else "pip install --force-reinstall recollectdb"


class PerProcess(Generic[T]):
    """A value that is created on first use, once in each process, by whichever thread comes first.

    A forked child creates its own value, because it lacks the threads and connections of its parent. The child never
    touches the inherited value, because even freeing a model would wait for threads that are gone.
    """

    def __init__(self, create: Callable[[], T]) -> None:
        self._create = create
        self._by_process: dict[int, tuple[Lock, list[T]]] = {}  # a list with the value, or empty before it is created

    def get(self) -> T:
        """Return the value, created now if needed; after an error the next call tries again."""
        # setdefault is atomic, so this line needs no lock, which a fork could copy while it is locked.
        lock, values = self._by_process.setdefault(os.getpid(), (Lock(), []))
        if not values:
            with lock:
                if not values:
                    values.append(self._create())
        return values[0]


def batches(texts: Sequence[str], *, size: int, characters: int | None = None) -> Iterator[list[int]]:
    """Yield the indexes of ``texts``, longest text first, in batches of at most ``size`` texts.

    Texts of similar length need the least padding. The longest come first, so that a lack of memory shows at once.
    ``characters`` is the maximum total length of a batch's texts; a text that is longer is a batch of its own.
    """
    batch: list[int] = []
    total_length = 0
    for index in sorted(range(len(texts)), key=lambda index: len(texts[index]), reverse=True):
        length = len(texts[index])
        if batch and (len(batch) >= size or (characters is not None and total_length + length > characters)):
            yield batch
            batch, total_length = [], 0
        batch.append(index)
        total_length += length
    if batch:
        yield batch


def cache_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder for files that can be built again: ``RECOLLECT_CACHE``, or one in the user's cache folder."""
    if environment.get("RECOLLECT_CACHE"):
        return Path(environment["RECOLLECT_CACHE"]).expanduser()
    if environment.get("XDG_CACHE_HOME"):
        return Path(environment["XDG_CACHE_HOME"]) / "recollect"
    if platform == "win32" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"]) / "recollect" / "cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "recollect"
    return Path.home() / ".cache" / "recollect"


def cached_file(stem: str, suffix: str, build: Callable[[Path], None]) -> Path:
    """Return the file ``{stem}.{hash of the content}{suffix}`` in the cache; build it if it is missing or damaged.

    The hash in the name detects damage. ``build`` writes to a path in a temporary folder; the file is then moved into
    the cache in one step. If two processes build at the same time, the later one replaces the file by an equal one.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415 (needed only to build a file)

    advice = "set RECOLLECT_CACHE to a folder that can be written to"
    try:
        folder = cache_folder()
    except RuntimeError as error:  # some users have no home folder, above all in containers
        raise EmbedderError(f"the built model cannot be cached ({error}): {advice}") from error
    for path in sorted(folder.glob(f"{stem}.*{suffix}")):
        with suppress(OSError):  # an unreadable file counts as missing
            if path.name == _cache_name(stem, path, suffix):
                return path
            path.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix="building-") as temporary:
            built = Path(temporary, "built")
            build(built)
            return built.replace(folder / _cache_name(stem, built, suffix))
    except OSError as error:
        raise EmbedderError(f"the built model cannot be cached in {folder} ({error}): {advice}") from error


def _cache_name(stem: str, path: Path, suffix: str) -> str:
    with path.open("rb") as file:
        return f"{stem}.{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}{suffix}"


def file_fingerprint(path: Path) -> str:
    """Return a short hash of a weights file, from its size and 16 samples of 64 KiB.

    Retraining changes numbers everywhere, so samples suffice; hashing the whole file would take longer than loading it.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for sample in range(16):
            file.seek(size * sample // 16)
            digest.update(file.read(1 << 16))
    return digest.hexdigest()[:12]


def is_folder(path: str | Path) -> bool:
    """Return whether ``path`` is an existing folder; false for a name that the system does not allow."""
    return os.path.isdir(path)  # noqa: PTH112 (Path.is_dir raises an error for a name that is too long)


class RegistryEntry(NamedTuple, Generic[T]):
    """How to construct the model that a spec ``name`` or ``name:argument`` selects."""

    create: Callable[[str], T]  # constructs the model; it is called with the text after the colon
    argument: str = ""  # the form of the text after the colon, for messages; empty if the spec is the name alone
    unavailable_reason: Callable[[], str | None] | None = None
    """Returns which package is missing, or ``None`` if none is. ``"auto"`` tries only entries with this function."""


class SpecReader(NamedTuple, Generic[T]):
    """Constructs the embedder or reranker that a spec selects: a name, a folder, a function or an object."""

    kind: str  # the name of the argument in messages, such as ``embedder``
    registry: Mapping[str, RegistryEntry[T]]
    other_names: Sequence[str]  # names that the caller handles, such as ``none``; for messages
    methods: Sequence[str]  # the methods that an object of this kind must have
    from_folder: Callable[[str | os.PathLike[str]], T]
    from_function: Callable[[Any], T]

    def read(self, spec: Any) -> tuple[T, str]:
        """Return (selected model, reason such as ``folder given``); raise ``ArgumentError`` if ``spec`` is invalid."""
        if isinstance(spec, str):
            return self._from_text(spec)
        if isinstance(spec, os.PathLike):
            return self.from_folder(spec), "folder given"
        if isinstance(spec, type):
            raise ArgumentTypeError(self.kind, f"must be {self._forms()}, got the class {spec.__name__}: construct it")
        if all(hasattr(spec, method) for method in self.methods):
            return spec, "object given"
        if callable(spec):
            return self.from_function(spec), "function given"
        raise ArgumentTypeError(self.kind, f"must be {self._forms()}, got {type(spec).__name__}")

    def _from_text(self, spec: str) -> tuple[T, str]:
        name, colon, argument = spec.partition(":")
        entry = self.registry.get(name)
        if entry is not None and bool(colon) == bool(entry.argument):  # a colon exactly if an argument is needed
            return entry.create(argument), "requested"
        if spec.startswith((".", "~")) or "/" in spec or "\\" in spec or is_folder(spec):
            return self.from_folder(spec), "folder given"
        raise ArgumentError(self.kind, f"must be {self._names()} or a folder with an ONNX model, got {spec[:60]!a}")

    def _forms(self) -> str:
        """Return the forms that a spec may have, for messages."""
        methods = " and ".join(self.methods)
        return f"{self._names()}, a folder with an ONNX model, a function or an object with {methods}"

    def _names(self) -> str:
        """Return the names that a spec may be, each in quotation marks, for messages."""
        names = [f"{name}:{entry.argument}" if entry.argument else name for name, entry in self.registry.items()]
        return ", ".join(f"'{name}'" for name in (*self.other_names, *names))
