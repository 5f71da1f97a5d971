"""Evaluation reports over HTTP, for those who may read everything."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from recollect import ArgumentError, Memory
from recollect.server import KeyRing
from recollect.server.http import Settings
from recollect.server.http.finished import Finished
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running
from tests.server.test_reports import page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "reports"
    made.mkdir()
    for second, name in enumerate(["old.html", "50% <new>?.html"]):
        (made / name).write_text(page(name.removesuffix(".html").replace("<", "&lt;")))
        os.utime(made / name, (second, second + 0.5))
    (made / "foreign.html").write_text("<script>alert(1)</script>")
    (tmp_path / "outside.html").write_text(page())
    return made


def test_reports_are_listed_and_given(memory: Memory, folder: Path) -> None:
    seen: list[Finished] = []
    with running(memory, Settings(reports=folder), observers=[seen.append]) as server:
        listed = server.client.get("/v1/reports").json()
        assert listed == {
            "reports": [
                {
                    "name": "50% <new>?.html",
                    "title": "50% <new>?",
                    "changed_at": "1970-01-01T00:00:01.500Z",
                    "bytes": len(page("50% &lt;new>?")),
                },
                {
                    "name": "old.html",
                    "title": "old",
                    "changed_at": "1970-01-01T00:00:00.500Z",
                    "bytes": len(page("old")),
                },
            ]
        }
        for accept in ("*/*", "text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "text/*", "application/json"):
            answer = server.client.get("/v1/reports/50%25%20%3Cnew%3E%3F.html", headers={"Accept": accept})
            assert (answer.status_code, answer.text) == (200, page("50% &lt;new>?"))
        problem(server.client.get("/v1/reports/old.html", headers={"Accept": "image/png"}), 406, "not-acceptable")
    assert seen[-1].route == "/v1/reports/{name}"


def test_a_report_can_do_nothing_in_a_browser(memory: Memory, folder: Path) -> None:
    with running(memory, Settings(reports=folder)) as server:
        told = server.client.get("/v1/reports/old.html").headers
    assert told["content-type"] == "text/html; charset=utf-8"
    assert told["content-security-policy"] == ("sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert told["x-content-type-options"] == "nosniff"
    assert told["cache-control"] == "no-store"
    assert told["cross-origin-resource-policy"] == "same-origin"
    assert told["referrer-policy"] == "no-referrer"


def test_nothing_else_is_given(memory: Memory, folder: Path) -> None:
    with running(memory, Settings(reports=folder)) as server:
        for name in ("foreign.html", "nowhere.html", "OLD.html", "..%5Coutside.html", "%00.html", "old.html%00"):
            problem(server.client.get(f"/v1/reports/{name}"), 404, "report-not-found")
        for name in ("..%2Foutside.html", "%2Fetc%2Fpasswd", "./old.html%2F", ""):
            problem(server.client.get(f"/v1/reports/{name}"), 404, "not-found")


def test_without_a_folder_there_are_none(client: httpx.Client) -> None:
    assert client.get("/v1/reports").json() == {"reports": []}
    assert problem(client.get("/v1/reports/a.html"), 404, "report-not-found") == "there is no report 'a.html'"


@pytest.mark.parametrize(
    ("namespaces", "right", "status"),
    [(None, "read", 200), (None, "admin", 200), (["default"], "admin", 403), (["default", "tea"], "read", 403)],
)
def test_they_are_for_who_may_read_everything(
    memory: Memory, ring: KeyRing, folder: Path, namespaces: list[str] | None, right: str, status: int
) -> None:
    _, key = ring.add("someone", namespaces, right)
    with running(memory, Settings(keyed=True, reports=folder), ring=ring) as server:
        for path in ("/v1/reports", "/v1/reports/old.html", "/v1/reports?namespace=default"):
            assert server.client.get(path, headers=bearer(key)).status_code == status
        missing = server.client.get("/v1/reports/nowhere.html", headers=bearer(key))
        assert missing.status_code == (404 if status == 200 else 403)


def test_a_folder_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(ArgumentError, match=r"reports: must be a folder that is there, got '.*(file|nowhere)'"):
            Settings(reports=path)
