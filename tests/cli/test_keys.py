from __future__ import annotations

import json
from pathlib import Path

from recollect.server import KeyRing, Right
from tests.cli.conftest import Run, error_of


def test_keys_add_list_revoke(run: Run) -> None:
    made = run("keys", "add", "kettle", "--namespace", "tea", "--namespace", "coffee", "--keys", "keys.json")
    assert made.exit_code == 0
    assert made.stderr == "kettle has the right read in coffee, tea; save the key now, it is not shown again\n"
    ring = KeyRing("keys.json")
    caller = ring.caller(made.stdout.strip())
    assert caller is not None
    assert caller.namespace("tea", Right.READ) == "tea"
    (key,) = ring.keys()
    listed = run("keys", "list", "--keys", "keys.json")
    assert listed.stdout == f"{key.id}  {key.created_at:%Y-%m-%d}  read   kettle  in coffee, tea\n"
    assert run("keys", "revoke", key.id, "--keys", "keys.json").stdout == f"revoked {key.id}\n"
    assert ring.keys() == []
    message = error_of(run("keys", "revoke", key.id, "--keys", "keys.json"), 1)
    assert message == f"there is no key {key.id!r} in keys.json; recollect keys list shows the ids"


def test_keys_json_has_no_hash(run: Run) -> None:
    made = json.loads(
        run("keys", "add", "boss", "--all-namespaces", "--right", "admin", "--keys", "k", "--json").stdout
    )
    assert (made["name"], made["namespaces"], made["right"]) == ("boss", None, "admin")
    assert KeyRing("k").caller(made.pop("key")) is not None
    listed = run("keys", "list", "--keys", "k", "--json")
    assert json.loads(listed.stdout) == [made]
    assert "hash" not in made
    assert run("keys", "list", "--keys", "k").stdout.endswith("admin  boss  in all namespaces\n")


def test_keys_file_from_environment(run: Run) -> None:
    assert run("keys", "add", "-q", "boss", "--all-namespaces", env={"RECOLLECT_KEYS": "k"}).stderr == ""
    assert Path("k").exists()


def test_keys_wrong_use(run: Run) -> None:
    for namespaces in ([], ["--namespace", "tea", "--all-namespaces"]):
        message = error_of(run("keys", "add", "kettle", "--keys", "k", *namespaces), 2)
        assert message.startswith("the key needs namespaces; pass either --namespace or --all-namespaces")
    assert "--keys" in error_of(run("keys", "list"), 2)
    assert error_of(run("keys", "list", "--keys", "k"), 1) == (
        "the key file k does not exist; create it with recollect keys add"
    )
    assert error_of(run("keys", "add", " ", "--all-namespaces", "--keys", "k"), 2) == "name: must not be empty"
