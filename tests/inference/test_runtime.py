from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import EmbedderError
from recollect.inference.runtime import (
    PerProcess,
    batches,
    cache_folder,
    cached_file,
    file_fingerprint,
    missing_modules,
    package_folder,
    require_module,
)


def test_missing_modules_imports_nothing() -> None:
    assert missing_modules("json", "no_such_module", "email") == ["no_such_module"]


def test_package_folder_of_single_file_module_is_none() -> None:
    assert package_folder("this") is None
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("no_such_module", "--force-reinstall recollectdb"), ("httpx.no_such_module", r"'recollectdb\[http\]'")],
)
def test_require_module_says_what_to_install(module: str, arguments: str) -> None:
    with pytest.raises(EmbedderError, match=rf"{module} cannot be imported .*: pip install {arguments}"):
        require_module(module, EmbedderError)


def test_choosing_imports_no_heavy_module() -> None:
    code = """
        import sys
        from recollect.embedders import choose_embedder
        assert choose_embedder("auto").embedder.name
        heavy = "numpy onnx onnxruntime tokenizers safetensors httpx http socket email asyncio torch wordllama".split()
        print([name for name in heavy if name in sys.modules])
    """
    code = "\n".join(line.strip() for line in code.splitlines())
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert process.stdout.strip() == "[]"


def test_per_process_creates_once() -> None:
    created: list[object] = []
    barrier = Barrier(8)

    def create() -> object:
        created.append(object())
        return created[-1]

    per_process = PerProcess(create)

    def get_value(_: int) -> object:
        barrier.wait()
        return per_process.get()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(get_value, range(8))) == set(created)
    assert len(created) == 1


def test_failed_creation_is_retried() -> None:
    outcomes = [ValueError("not yet"), None]

    def create() -> str:
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome
        return "made"

    per_process = PerProcess(create)
    with pytest.raises(ValueError, match="not yet"):
        per_process.get()
    assert per_process.get() == "made"


def test_per_process_values_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    per_process = PerProcess(object)
    first_value = per_process.get()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert per_process.get() is not first_value
    assert per_process.get() is first_value


def test_no_texts_make_no_batch() -> None:
    assert list(batches([], size=3)) == []


def test_long_text_is_its_own_batch() -> None:
    assert list(batches(["aaaa", "bbbbbbbbbb", "c"], size=9, characters=5)) == [[1], [0, 2]]


@given(st.lists(st.text(max_size=12)), st.integers(1, 5), st.none() | st.integers(0, 20))
def test_batches_partition_the_texts(texts: list[str], size: int, characters: int | None) -> None:
    results = list(batches(texts, size=size, characters=characters))
    indexes = [index for batch in results for index in batch]
    assert sorted(indexes) == list(range(len(texts)))
    lengths = [len(texts[index]) for index in indexes]
    assert lengths == sorted(lengths, reverse=True)
    for batch in results:
        assert 1 <= len(batch) <= size
        if characters is not None and len(batch) > 1:
            assert sum(len(texts[index]) for index in batch) <= characters


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class CountingBuild:
    """Writes the same bytes each time, and counts how often."""

    def __init__(self, content: bytes = b"graph") -> None:
        self.content = content
        self.times = 0

    def __call__(self, destination: Path) -> None:
        self.times += 1
        destination.write_bytes(self.content)


@pytest.mark.parametrize(
    ("environment", "platform", "folder"),
    [
        ({"RECOLLECT_CACHE": "/models", "XDG_CACHE_HOME": "/xdg"}, "linux", Path("/models")),
        ({"RECOLLECT_CACHE": "~/models"}, "linux", Path.home() / "models"),
        ({"RECOLLECT_CACHE": "", "XDG_CACHE_HOME": "/xdg"}, "linux", Path("/xdg/recollect")),
        ({}, "linux", Path.home() / ".cache" / "recollect"),
        ({}, "darwin", Path.home() / "Library" / "Caches" / "recollect"),
        ({"LOCALAPPDATA": "/local"}, "win32", Path("/local/recollect/cache")),
        ({}, "win32", Path.home() / ".cache" / "recollect"),
    ],
)
def test_cache_folder_by_platform(environment: dict[str, str], platform: str, folder: Path) -> None:
    assert cache_folder(environment, platform) == folder


def test_cached_file_is_built_once(cache: Path) -> None:
    build = CountingBuild()
    first = cached_file("model-int8", ".onnx", build)
    assert first.parent == cache
    assert first.read_bytes() == b"graph"
    assert cached_file("model-int8", ".onnx", build) == first
    assert build.times == 1
    assert list(cache.iterdir()) == [first]


@pytest.mark.parametrize("damage", [b"grap", b"grapH", b""])
def test_damaged_cached_file_is_rebuilt(cache: Path, damage: bytes) -> None:
    build = CountingBuild()
    path = cached_file("model", ".onnx", build)
    path.write_bytes(damage)
    assert cached_file("model", ".onnx", build).read_bytes() == b"graph"
    assert build.times == 2
    assert list(cache.iterdir()) == [path]


def test_unreadable_cached_file_is_rebuilt(cache: Path) -> None:
    (cache / "model.0123.onnx").mkdir(parents=True)
    assert cached_file("model", ".onnx", CountingBuild()).read_bytes() == b"graph"


def test_concurrent_builds_are_safe(cache: Path) -> None:
    barrier = Barrier(4)

    class SimultaneousBuild(CountingBuild):
        def __call__(self, destination: Path) -> None:
            barrier.wait()
            super().__call__(destination)

    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: cached_file("model", ".onnx", SimultaneousBuild()), range(4)))
    assert len(paths) == 1
    assert list(cache.iterdir()) == list(paths)


def test_failed_build_leaves_no_file(cache: Path) -> None:
    def broken(destination: Path) -> None:
        destination.write_bytes(b"half")
        raise EmbedderError("no weights")

    with pytest.raises(EmbedderError, match="no weights"):
        cached_file("model", ".onnx", broken)
    assert list(cache.iterdir()) == []


def test_unwritable_cache_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(
        EmbedderError, match="cannot be cached in .*: set RECOLLECT_CACHE to a folder that can be written"
    ):
        cached_file("model", ".onnx", CountingBuild())


def test_cache_without_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", "~no-such-user/cache")
    with pytest.raises(
        EmbedderError, match="cannot be cached .*: set RECOLLECT_CACHE to a folder that can be written to"
    ):
        cached_file("model", ".onnx", CountingBuild())


def test_file_fingerprint_depends_on_size_and_samples(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    fingerprints = set()
    content = os.urandom(300_000)
    for item in (content, content + b"\0", b"\1" + content[1:], content[:-1], b""):
        path.write_bytes(item)
        fingerprints.add(file_fingerprint(path))
        assert file_fingerprint(path) in fingerprints
    assert len(fingerprints) == 5
