from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from recollect import ArgumentError, KeyFileError
from recollect.server import Grant, KeyRing, Right, keys
from tests.ingest.permissions import locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_key_is_known_by_its_text_alone(path: Path) -> None:
    ring = KeyRing(path)
    key, text = ring.add("kettle", ["tea"], "write")
    caller = ring.caller(text)
    assert caller is not None
    assert (caller.name, caller.id, caller.grant) == ("kettle", key.id, Grant.of(["tea"], Right.WRITE))
    for wrong in (
        "",
        "rk",
        "rk_",
        f"rk_{key.id}_",
        text[:-1],
        text + "x",
        text.upper(),
        f"rk__{text}",
        "tea\ud800_a_b",
    ):
        assert ring.caller(wrong) is None
    other, _ = ring.add("kettle", None, Right.ADMIN)
    assert ring.caller(text.replace(key.id, other.id)) is None


def test_the_file_holds_hashes_and_nobody_else_may_read_it(path: Path) -> None:
    key, text = KeyRing(path).add("kettle", ["tea", "coffee"], "read")
    (kept,) = json.loads(path.read_text())
    assert kept == {
        "id": key.id,
        "name": "kettle",
        "hash": sha256(text.encode()).hexdigest(),
        "namespaces": ["coffee", "tea"],
        "right": "read",
        "created_at": key.created_at.isoformat().replace("+00:00", "Z"),
    }
    assert text.startswith(f"rk_{key.id}_")
    assert len(text.split("_", 2)[2]) == 43  # 32 bytes in base64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_a_change_by_another_is_seen_at_once(path: Path) -> None:
    ring, other = KeyRing(path), KeyRing(path)
    key, text = other.add("kettle", None, "read")
    assert ring.caller(text) is not None
    assert ring.keys() == [key]
    assert other.revoke(key.id)
    assert ring.caller(text) is None
    assert not other.revoke(key.id)
    assert ring.keys() == []


def test_threads_add_without_losing_any(path: Path) -> None:
    ring = KeyRing(path)
    threads = [Thread(target=ring.add, args=(f"kettle {number}", ["tea"], "read")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    added = ring.keys()
    assert sorted(key.name for key in added) == [f"kettle {number}" for number in range(8)]


def test_two_processes_do_not_change_it_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.keys.PATIENCE", 0.01)
    with (
        keys._changing(path),
        pytest.raises(KeyFileError, match="another process keeps .* itself"),
    ):
        KeyRing(path).add("kettle", ["tea"], "read")
    KeyRing(path).add("kettle", ["tea"], "read")


_ADDING = """
import sys
from recollect.server import KeyRing
for number in range(5):
    KeyRing(sys.argv[1]).add(f"{sys.argv[2]} {number}", ["tea"], "read")
"""


def test_processes_add_without_losing_any(path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _ADDING, str(path), name]) for name in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    added = KeyRing(path).keys()
    assert sorted(key.name for key in added) == [f"{name} {n}" for name in "abc" for n in range(5)]
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_what_cannot_take_its_place_leaves_nothing_behind(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyFileError):
        KeyRing(path).add("kettle", None, "read")
    empty = KeyRing(path.with_name("other.json"))
    empty.path.with_name("other.json.lock").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _no_room)
        with pytest.raises(KeyFileError, match="other.json cannot be written: No space left on device"):
            empty.add("kettle", None, "read")
    assert [each.name for each in path.parent.glob("other.json*")] == ["other.json.lock"]


def _no_room(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("namespaces", "right", "told"),
    [([], "read", "at least one"), (["tea"], "all", "right"), ([""], "read", "must not be empty")],
)
def test_a_key_that_means_nothing_is_not_made(path: Path, namespaces: list[str], right: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        KeyRing(path).add("kettle", namespaces, right)
    assert not path.exists()


def test_a_file_that_is_missing(path: Path) -> None:
    ring = KeyRing(path)
    for use in (ring.keys, lambda: ring.caller("rk_a_b"), lambda: ring.revoke("a")):
        with pytest.raises(
            KeyFileError, match=r"there is no file of keys at .*keys.json; recollect keys add makes one"
        ):
            use()
    with pytest.raises(KeyFileError, match="cannot be written: its folder is not there"):
        KeyRing(path / "nowhere" / "keys.json").add("kettle", None, "read")


def test_a_file_that_goes_away_lets_nobody_in(path: Path) -> None:
    ring = KeyRing(path)
    _, text = ring.add("kettle", None, "read")
    assert ring.caller(text)
    path.unlink()
    with pytest.raises(KeyFileError):
        ring.caller(text)


GOOD: dict[str, Any] = {
    "id": "a",
    "name": "kettle",
    "hash": "00",
    "namespaces": None,
    "right": "read",
    "created_at": "2026-01-01",
}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("tea", "does not hold JSON"),
        ("[" * 100_000, "does not hold JSON"),
        ("{}", "must hold a list"),
        ("[1]", "in key 1, key: must be an object, got int"),
        (json.dumps([GOOD, {**GOOD, "right": "all"}]), "in key 2, right: must be one of read, write, admin"),
        (json.dumps([{**GOOD, "hash": 3}]), "in key 1, hash: must be a string"),
        (json.dumps([{**GOOD, "created_at": "soon"}]), "in key 1, created_at"),
        (json.dumps([{**GOOD, "namespaces": "tea"}]), "in key 1, namespaces: must be a list"),
    ],
)
def test_a_file_that_is_none_of_ours(path: Path, written: str, told: str) -> None:
    path.write_text(written)
    with pytest.raises(KeyFileError, match=told):
        KeyRing(path).keys()


def test_a_key_without_namespaces_opens_nothing(path: Path) -> None:
    path.write_text(json.dumps([{name: value for name, value in GOOD.items() if name != "namespaces"}]))
    (key,) = KeyRing(path).keys()
    assert key.grant.namespaces == frozenset()


def test_a_folder_is_no_file(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyFileError, match="cannot be read: Is a directory"):
        KeyRing(path).keys()


def test_a_folder_that_may_not_be_looked_into(path: Path) -> None:
    with locked(path.parent), pytest.raises(KeyFileError, match="cannot be read: Permission denied"):
        KeyRing(path).keys()


def test_a_home_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.fspath(path.parent))
    KeyRing("~/keys.json").add("kettle", None, "read")
    assert path.exists()
