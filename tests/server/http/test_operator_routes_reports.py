"""Evaluation reports over HTTP, and which files of a folder are reports."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from recollect import ArgumentError, Memory, __version__
from recollect.evaluation.report import build_report, write_report
from recollect.server import KeyRing
from recollect.server.http import Settings, operator_routes
from recollect.server.http.operator_routes import list_report_files, read_report
from recollect.server.http.request_log import RequestRecord
from tests.evaluation.outcomes import dataset, outcome
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    reports = tmp_path / "reports"
    reports.mkdir()
    for second, name in enumerate(["old.html", "50% <new>?.html"]):
        (reports / name).write_text(page(name.removesuffix(".html").replace("<", "&lt;")))
        os.utime(reports / name, (second, second + 0.5))
    (reports / "foreign.html").write_text("<script>alert(1)</script>")
    (tmp_path / "outside.html").write_text(page())
    return reports


def test_list_and_get_reports(memory: Memory, folder: Path) -> None:
    records: list[RequestRecord] = []
    with running(memory, Settings(reports=folder), observers=[records.append]) as server:
        listing = server.client.get("/v1/reports").json()
        assert listing == {
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
            response = server.client.get("/v1/reports/50%25%20%3Cnew%3E%3F.html", headers={"Accept": accept})
            assert (response.status_code, response.text) == (200, page("50% &lt;new>?"))
        problem(server.client.get("/v1/reports/old.html", headers={"Accept": "image/png"}), 406, "not-acceptable")
    assert records[-1].route == "/v1/reports/{name}"


def test_report_headers(memory: Memory, folder: Path) -> None:
    with running(memory, Settings(reports=folder)) as server:
        body = server.client.get("/v1/reports/old.html").headers
    assert body["content-type"] == "text/html; charset=utf-8"
    assert body["content-security-policy"] == ("sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert body["x-content-type-options"] == "nosniff"
    assert body["cache-control"] == "no-store"
    assert body["cross-origin-resource-policy"] == "same-origin"
    assert body["referrer-policy"] == "no-referrer"


def test_other_files_are_not_served(memory: Memory, folder: Path) -> None:
    with running(memory, Settings(reports=folder)) as server:
        for name in ("foreign.html", "nowhere.html", "OLD.html", "..%5Coutside.html", "%00.html", "old.html%00"):
            problem(server.client.get(f"/v1/reports/{name}"), 404, "report-not-found")
        for name in ("..%2Foutside.html", "%2Fetc%2Fpasswd", "./old.html%2F", ""):
            problem(server.client.get(f"/v1/reports/{name}"), 404, "not-found")


def test_no_reports_without_a_folder(client: httpx.Client) -> None:
    assert client.get("/v1/reports").json() == {"reports": []}
    assert problem(client.get("/v1/reports/a.html"), 404, "report-not-found") == "there is no report 'a.html'"


@pytest.mark.parametrize(
    ("namespaces", "right", "status"),
    [(None, "read", 200), (None, "admin", 200), (["default"], "admin", 403), (["default", "tea"], "read", 403)],
)
def test_reports_require_all_namespaces(
    memory: Memory, ring: KeyRing, folder: Path, namespaces: list[str] | None, right: str, status: int
) -> None:
    _, key = ring.add("someone", namespaces, right)
    with running(memory, Settings(require_keys=True, reports=folder), ring=ring) as server:
        for path in ("/v1/reports", "/v1/reports/old.html", "/v1/reports?namespace=default"):
            assert server.client.get(path, headers=bearer(key)).status_code == status
        missing = server.client.get("/v1/reports/nowhere.html", headers=bearer(key))
        assert missing.status_code == (404 if status == 200 else 403)


def test_reports_setting_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(ArgumentError, match=r"reports: must be an existing folder, got '.*(file|nowhere)'"):
            Settings(reports=path)


OPENING = (
    "<!doctype html>\n"
    '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    f'<meta name="generator" content="Recollect {__version__}">\n'
)


def page(title: str = "tea: evaluation") -> str:
    return f"{OPENING}<title>{title}</title></head></html>\n"


def names(folder: Path) -> list[str]:
    return [report.name for report in list_report_files(folder)]


def test_evaluation_report_is_listed(tmp_path: Path) -> None:
    outcomes = [outcome("old", {"mrr": [0.5] * 4}), outcome("new", {"mrr": [1.0] * 4})]
    numbers = build_report(outcomes, dataset(4, name="tiny"))
    write_report(tmp_path / "study.html", numbers)
    write_report(tmp_path / "study.md", numbers)
    (report,) = list_report_files(tmp_path)
    assert (report.name, report.title) == ("study.html", "tiny: evaluation")
    assert report.bytes == (tmp_path / "study.html").stat().st_size
    text = read_report(tmp_path, "study.html")
    assert text == (tmp_path / "study.html").read_bytes()
    assert f'<meta name="generator" content="Recollect {__version__}">'.encode() in text


def test_reports_are_sorted_by_time(tmp_path: Path) -> None:
    for second, name in enumerate(["b.html", "c.html", "a.html"]):
        (tmp_path / name).write_text(page())
        os.utime(tmp_path / name, (second, second))
    assert names(tmp_path) == ["a.html", "c.html", "b.html"]
    assert list_report_files(tmp_path)[0].changed_at == "1970-01-01T00:00:02.000Z"


def test_report_title(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(page("&lt;b&gt; &amp; 茶: evaluation"), encoding="utf-8")
    (tmp_path / "b.html").write_text(page("x" * 10_000))  # the title ends beyond the limit
    os.utime(tmp_path / "b.html", (0, 0))
    assert [report.title for report in list_report_files(tmp_path)] == ["<b> & 茶: evaluation", "b.html"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!doctype html><title>Somebody else's</title></html>\n",
        f"<!-- {page()}",
        page().replace("Recollect", "Other"),
        page()[:-1],
        page()[:-8],
        page() + page()[:40],
        OPENING[:-1],
        "</html>\n",
    ],
)
def test_incomplete_report_is_not_listed(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.html").write_text(text)
    assert names(tmp_path) == []
    assert read_report(tmp_path, "a.html") is None


def test_links_pipes_and_folders_are_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    (folder / "sub.html").mkdir(parents=True)
    (tmp_path / "outside.html").write_text(page())
    (folder / "sub.html" / "inside.html").write_text(page())
    (folder / "link.html").symlink_to(tmp_path / "outside.html")
    (folder / "broken.html").symlink_to(tmp_path / "nowhere.html")
    os.mkfifo(folder / "pipe.html")
    assert names(folder) == []
    for name in ("link.html", "broken.html", "pipe.html", "sub.html", "sub.html/inside.html", "../outside.html"):
        assert read_report(folder, name) is None
    for name in ("", ".", "..", str(tmp_path / "outside.html"), "outside.html", "x" * 5000 + ".html", "\0.html"):
        assert read_report(folder, name) is None


def test_link_made_meanwhile_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real.html").write_text(page())
    (tmp_path / "link.html").symlink_to("real.html")
    monkeypatch.setattr(Path, "is_symlink", lambda _: False)  # it was a file when it was checked
    assert names(tmp_path) == ["real.html"]


def test_large_report_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.html").write_text(page())
    monkeypatch.setattr(operator_routes, "MAX_REPORT_BYTES", len(page()))
    assert names(tmp_path) == ["a.html"]
    monkeypatch.setattr(operator_routes, "MAX_REPORT_BYTES", len(page()) - 1)
    assert names(tmp_path) == []
    assert read_report(tmp_path, "a.html") is None


def test_report_names(tmp_path: Path) -> None:
    for name in ("2026-04-18T07:30 50%.html", "茶.html", "a.HTML", "a.htm", "a.html~"):
        (tmp_path / name).write_text(page())
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.html")).write_text(page())  # not text
    assert sorted(names(tmp_path)) == ["2026-04-18T07:30 50%.html", "茶.html"]
    assert read_report(tmp_path, "茶.html") == page().encode()


def test_deleted_folder_has_no_reports(tmp_path: Path) -> None:
    assert names(tmp_path / "nowhere") == []
    assert read_report(tmp_path / "nowhere", "a.html") is None
