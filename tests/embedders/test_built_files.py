from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from recollect.embedders.built_files import cache_folder, fingerprint, kept_file
from recollect.errors import EmbedderError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Build:
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
def test_where_files_are_kept(environment: dict[str, str], platform: str, folder: Path) -> None:
    assert cache_folder(environment, platform) == folder


def test_a_file_is_built_once(cache: Path) -> None:
    build = Build()
    first = kept_file("model-int8", ".onnx", build)
    assert first.parent == cache
    assert first.read_bytes() == b"graph"
    assert kept_file("model-int8", ".onnx", build) == first
    assert build.times == 1
    assert list(cache.iterdir()) == [first]


@pytest.mark.parametrize("damage", [b"grap", b"grapH", b""])
def test_a_damaged_file_is_built_again(cache: Path, damage: bytes) -> None:
    build = Build()
    path = kept_file("model", ".onnx", build)
    path.write_bytes(damage)
    assert kept_file("model", ".onnx", build).read_bytes() == b"graph"
    assert build.times == 2
    assert list(cache.iterdir()) == [path]


def test_what_cannot_be_read_is_built_again(cache: Path) -> None:
    (cache / "model.0123.onnx").mkdir(parents=True)
    assert kept_file("model", ".onnx", Build()).read_bytes() == b"graph"


def test_those_who_build_at_once_do_not_harm_each_other(cache: Path) -> None:
    together = Barrier(4)

    class Slow(Build):
        def __call__(self, destination: Path) -> None:
            together.wait()
            super().__call__(destination)

    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: kept_file("model", ".onnx", Slow()), range(4)))
    assert len(paths) == 1
    assert list(cache.iterdir()) == list(paths)


def test_nothing_is_left_of_a_build_that_failed(cache: Path) -> None:
    def broken(destination: Path) -> None:
        destination.write_bytes(b"half")
        raise EmbedderError("no weights")

    with pytest.raises(EmbedderError, match="no weights"):
        kept_file("model", ".onnx", broken)
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(
        EmbedderError, match="cannot be kept in .*: set RECOLLECT_CACHE to a folder that can be written"
    ):
        kept_file("model", ".onnx", Build())


def test_without_a_home_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", "~no-such-user/cache")
    with pytest.raises(
        EmbedderError, match="cannot be kept .*: set RECOLLECT_CACHE to a folder that can be written to"
    ):
        kept_file("model", ".onnx", Build())


def test_a_fingerprint_changes_with_the_size_and_with_what_is_sampled(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    seen = set()
    content = os.urandom(300_000)
    for each in (content, content + b"\0", b"\1" + content[1:], content[:-1], b""):
        path.write_bytes(each)
        seen.add(fingerprint(path))
        assert fingerprint(path) in seen
    assert len(seen) == 5
