"""API keys, callers and their rights."""

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
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ForbiddenError, KeyFileError
from recollect.server import EVERYONE, Caller, Grant, KeyRing, Right, auth
from tests.ingest.permissions import without_read_permission


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_caller_is_found_by_the_text_of_the_key(path: Path) -> None:
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
    other_key, _ = ring.add("kettle", None, Right.ADMIN)
    assert ring.caller(text.replace(key.id, other_key.id)) is None


def test_key_file_has_hashes_and_is_private(path: Path) -> None:
    key, text = KeyRing(path).add("kettle", ["tea", "coffee"], "read")
    (saved,) = json.loads(path.read_text())
    assert saved == {
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
    assert sorted(item.name for item in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_changes_by_another_process_are_seen_at_once(path: Path) -> None:
    ring, other_ring = KeyRing(path), KeyRing(path)
    key, text = other_ring.add("kettle", None, "read")
    assert ring.caller(text) is not None
    assert ring.keys() == [key]
    assert other_ring.revoke(key.id)
    assert ring.caller(text) is None
    assert not other_ring.revoke(key.id)
    assert ring.keys() == []


def test_threads_add_keys_concurrently(path: Path) -> None:
    ring = KeyRing(path)
    threads = [Thread(target=ring.add, args=(f"kettle {number}", ["tea"], "read")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    added = ring.keys()
    assert sorted(key.name for key in added) == [f"kettle {number}" for number in range(8)]


def test_key_file_is_locked_while_it_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.auth.LOCK_TIMEOUT", 0.01)
    with (
        auth._write_lock(path),
        pytest.raises(KeyFileError, match="another process is changing"),
    ):
        KeyRing(path).add("kettle", ["tea"], "read")
    KeyRing(path).add("kettle", ["tea"], "read")


_ADDING = """
import sys
from recollect.server import KeyRing
for number in range(5):
    KeyRing(sys.argv[1]).add(f"{sys.argv[2]} {number}", ["tea"], "read")
"""


def test_processes_add_keys_concurrently(path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", _ADDING, str(path), name]) for name in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    added = KeyRing(path).keys()
    assert sorted(key.name for key in added) == [f"{name} {n}" for name in "abc" for n in range(5)]
    assert sorted(item.name for item in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


def test_failed_write_leaves_no_temporary_file(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyFileError):
        KeyRing(path).add("kettle", None, "read")
    empty = KeyRing(path.with_name("other.json"))
    empty.path.with_name("other.json.lock").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _raise_disk_full)
        with pytest.raises(KeyFileError, match="other.json cannot be written: No space left on device"):
            empty.add("kettle", None, "read")
    assert [item.name for item in path.parent.glob("other.json*")] == ["other.json.lock"]


def _raise_disk_full(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("namespaces", "right", "data"),
    [([], "read", "at least one"), (["tea"], "all", "right"), ([""], "read", "must not be empty")],
)
def test_invalid_key_is_rejected(path: Path, namespaces: list[str], right: str, data: str) -> None:
    with pytest.raises(ArgumentError, match=data):
        KeyRing(path).add("kettle", namespaces, right)
    assert not path.exists()


def test_missing_key_file(path: Path) -> None:
    ring = KeyRing(path)
    for use in (ring.keys, lambda: ring.caller("rk_a_b"), lambda: ring.revoke("a")):
        with pytest.raises(
            KeyFileError, match=r"the key file .*keys.json does not exist; create it with recollect keys add"
        ):
            use()
    with pytest.raises(KeyFileError, match="cannot be written: its folder does not exist"):
        KeyRing(path / "nowhere" / "keys.json").add("kettle", None, "read")


def test_deleted_key_file_admits_no_caller(path: Path) -> None:
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
    ("written", "data"),
    [
        ("tea", "does not contain JSON"),
        ("[" * 100_000, "does not contain JSON"),
        ("{}", "must contain a list"),
        ("[1]", "in key 1, key: must be an object, got int"),
        (json.dumps([GOOD, {**GOOD, "right": "all"}]), "in key 2, right: must be one of read, write, admin"),
        (json.dumps([{**GOOD, "hash": 3}]), "in key 1, hash: must be a string"),
        (json.dumps([{**GOOD, "created_at": "soon"}]), "in key 1, created_at"),
        (json.dumps([{**GOOD, "namespaces": "tea"}]), "in key 1, namespaces: must be a list"),
    ],
)
def test_invalid_key_file(path: Path, written: str, data: str) -> None:
    path.write_text(written)
    with pytest.raises(KeyFileError, match=data):
        KeyRing(path).keys()


def test_key_without_namespaces_grants_nothing(path: Path) -> None:
    path.write_text(json.dumps([{name: value for name, value in GOOD.items() if name != "namespaces"}]))
    (key,) = KeyRing(path).keys()
    assert key.grant.namespaces == frozenset()


def test_key_file_that_is_a_folder(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyFileError, match="cannot be read: Is a directory"):
        KeyRing(path).keys()


def test_key_file_in_a_forbidden_folder(path: Path) -> None:
    with without_read_permission(path.parent), pytest.raises(KeyFileError, match="cannot be read: Permission denied"):
        KeyRing(path).keys()


def test_path_of_key_file_expands_the_home_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.fspath(path.parent))
    KeyRing("~/keys.json").add("kettle", None, "read")
    assert path.exists()


NAMESPACES = st.sampled_from(["tea", "coffee", "default", "work"])
RIGHTS = st.sampled_from(list(Right))


@given(st.none() | st.frozensets(NAMESPACES, min_size=1), RIGHTS, NAMESPACES, RIGHTS)
def test_namespace_requires_a_grant(
    granted: frozenset[str] | None, right: Right, requested: str, required: Right
) -> None:
    caller = Caller("kettle", Grant.of(granted, right))
    if (granted is None or requested in granted) and required <= right:
        assert caller.namespace(requested, required) == requested
    else:
        with pytest.raises(ForbiddenError, match="kettle may not"):
            caller.namespace(requested, required)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(None, "default"), (["tea"], "tea"), (["tea", "default"], "default"), (["default"], "default")],
)
def test_default_namespace_of_a_caller(stored: list[str] | None, expected: str) -> None:
    assert Caller("kettle", Grant.of(stored, "read")).namespace(None, Right.READ) == expected


def test_caller_of_several_namespaces_must_name_one() -> None:
    with pytest.raises(ForbiddenError, match="'default'"):
        Caller("kettle", Grant.of(["tea", "coffee"], "read")).namespace(None, Right.READ)


def test_invalid_names_are_argument_errors() -> None:
    with pytest.raises(ArgumentError, match="namespace: must be one line"):
        EVERYONE.namespace("te\0a", Right.READ)
    with pytest.raises(ArgumentError, match="right: must be one of read, write, admin"):
        Grant.of(["tea"], "everything")
    with pytest.raises(ArgumentError, match="namespaces"):
        Grant.of("tea", "read")


def test_namespace_is_compared_after_normalisation() -> None:
    """Names are compared in the normal form of the store."""
    assert Caller("kettle", Grant.of(["tea\ud800"], "read")).namespace("tea\ufffd", Right.READ) == "tea\ufffd"


@pytest.mark.parametrize(
    ("stored", "right", "allowed"),
    [(None, "admin", True), (None, "write", False), (["tea"], "admin", False), (["tea"], "read", False)],
)
def test_require_all_namespaces(stored: list[str] | None, right: str, allowed: bool) -> None:
    caller = Caller("kettle", Grant.of(stored, right))
    if allowed:
        caller.require_all_namespaces(Right.ADMIN)
    else:
        with pytest.raises(ForbiddenError, match="does not have the right admin in all namespaces"):
            caller.require_all_namespaces(Right.ADMIN)
