"""What a folder holds of reports: those that an evaluation wrote there, and nothing else that lies there."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import __version__
from recollect.evaluation.report import write_report
from recollect.server import reports
from recollect.server.reports import report_text, reports_in
from tests.evaluation.outcomes import dataset, outcome

OPENING = (
    "<!doctype html>\n"
    '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    f'<meta name="generator" content="Recollect {__version__}">\n'
)


def page(title: str = "tea: evaluation") -> str:
    return f"{OPENING}<title>{title}</title></head></html>\n"


def names(folder: Path) -> list[str]:
    return [report.name for report in reports_in(folder)]


def test_what_an_evaluation_wrote_is_known(tmp_path: Path) -> None:
    outcomes = [outcome("old", {"mrr": [0.5] * 4}), outcome("new", {"mrr": [1.0] * 4})]
    write_report(tmp_path / "study.html", outcomes, dataset(4, name="tiny"))
    write_report(tmp_path / "study.md", outcomes, dataset(4, name="tiny"))
    (report,) = reports_in(tmp_path)
    assert (report.name, report.title) == ("study.html", "tiny: evaluation")
    assert report.bytes == (tmp_path / "study.html").stat().st_size
    text = report_text(tmp_path, "study.html")
    assert text == (tmp_path / "study.html").read_bytes()
    assert f'<meta name="generator" content="Recollect {__version__}">'.encode() in text


def test_the_newest_is_the_first(tmp_path: Path) -> None:
    for second, name in enumerate(["b.html", "c.html", "a.html"]):
        (tmp_path / name).write_text(page())
        os.utime(tmp_path / name, (second, second))
    assert names(tmp_path) == ["a.html", "c.html", "b.html"]
    assert reports_in(tmp_path)[0].changed_at == datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)


def test_a_title_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(page("&lt;b&gt; &amp; 茶: evaluation"), encoding="utf-8")
    (tmp_path / "b.html").write_text(page("x" * 10_000))  # it ends too far down
    os.utime(tmp_path / "b.html", (0, 0))
    assert [report.title for report in reports_in(tmp_path)] == ["<b> & 茶: evaluation", "b.html"]


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
def test_what_is_no_report_or_half_of_one_is_not_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.html").write_text(text)
    assert names(tmp_path) == []
    assert report_text(tmp_path, "a.html") is None


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
        assert report_text(folder, name) is None
    for name in ("", ".", "..", str(tmp_path / "outside.html"), "outside.html", "x" * 5000 + ".html", "\0.html"):
        assert report_text(folder, name) is None


def test_a_link_that_comes_in_between_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real.html").write_text(page())
    (tmp_path / "link.html").symlink_to("real.html")
    monkeypatch.setattr(Path, "is_symlink", lambda _: False)  # it was none when it was looked at
    assert names(tmp_path) == ["real.html"]


def test_what_is_too_large_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.html").write_text(page())
    monkeypatch.setattr(reports, "LARGEST", len(page()))
    assert names(tmp_path) == ["a.html"]
    monkeypatch.setattr(reports, "LARGEST", len(page()) - 1)
    assert names(tmp_path) == []
    assert report_text(tmp_path, "a.html") is None


def test_odd_names(tmp_path: Path) -> None:
    for name in ("2026-04-18T07:30 50%.html", "茶.html", "a.HTML", "a.htm", "a.html~"):
        (tmp_path / name).write_text(page())
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.html")).write_text(page())  # no text of any kind
    assert sorted(names(tmp_path)) == ["2026-04-18T07:30 50%.html", "茶.html"]
    assert report_text(tmp_path, "茶.html") == page().encode()


def test_a_folder_that_is_gone_holds_none(tmp_path: Path) -> None:
    assert names(tmp_path / "nowhere") == []
    assert report_text(tmp_path / "nowhere", "a.html") is None
