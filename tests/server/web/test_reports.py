"""Evaluation reports are shown with their style, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from recollect import Memory
from recollect.evaluation.report import build_report, write_report
from recollect.server.http import Settings
from tests.evaluation.outcomes import realistic_outcomes
from tests.server.http.running import Running, running
from tests.server.web.conftest import OpenPage

HOSTILE = (
    "<script>window.ran = 'script'</script>"
    "<img src=x onerror=\"window.ran = 'onerror'\">"
    "<svg onload=\"window.ran = 'onload'\"><script>window.ran = 'svg'</script></svg>"
    "<a id=hostile href=\"javascript:window.ran = 'link'\">a link</a>"
    '<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>'
    '<form action="/v1/notes" method="post"><button>send</button></form>'
    "<img src='https://elsewhere.example/pixel.gif' srcset='https://elsewhere.example/pixel.gif 2x'>"
)


@pytest.fixture(scope="module")
def report_server(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("reports")
    outcomes, data = realistic_outcomes(60)
    write_report(folder / "study.html", build_report(outcomes, data))
    text = (folder / "study.html").read_text(encoding="utf-8")
    assert "</body>" in text
    (folder / "hostile.html").write_text(text.replace("</body>", f"{HOSTILE}</body>"), encoding="utf-8")
    with running(memory, Settings(reports=folder)) as created:
        yield created


def test_report_is_listed_and_opened(visit: OpenPage, report_server: Running) -> None:
    page = visit(report_server.url, "#/reports")
    expect(page.locator(".listing li")).to_have_count(2)
    page.locator(".listing li", has_text="study.html").get_by_role("link").click()
    expect(page.locator(".report h1")).to_be_visible()
    plots = page.locator(".report svg:visible")
    assert plots.count() >= 3
    for plot in plots.all():
        box = plot.bounding_box()
        assert box
        assert box["width"] > 200
        assert box["height"] > 50
    styles = page.locator(".report").evaluate(
        """report => {
          const root = report.shadowRoot, style = name => getComputedStyle(root.querySelector(name));
          return [
            style("table").borderCollapse,
            style(".body").backgroundColor,
            style("h1").fontSize,
            style(".main").maxWidth,
          ];
        }"""
    )
    assert styles == ["collapse", "rgb(255, 255, 255)", "32px", "992px"]
    page.get_by_role("link", name="← All reports").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reports")


def test_scripts_in_a_report_do_not_run(visit: OpenPage, report_server: Running) -> None:
    page = visit(report_server.url, "#/reports/hostile.html", allow_blocked=True)
    expect(page.locator(".report h1")).to_be_visible()
    link = page.locator(".report").get_by_text("a link")
    link.click()
    assert page.evaluate("window.ran") is None
    left = page.locator(".report").evaluate(
        """report => [...report.shadowRoot.querySelectorAll("*")].flatMap(one => [
          ...(["script", "iframe", "form", "button"].includes(one.localName) ? [one.localName] : []),
          ...[...one.attributes].map(attribute => attribute.name).filter(name => name.startsWith("on")),
        ])"""
    )
    assert left == []


def test_report_styles_and_links_are_contained(visit: OpenPage, report_server: Running) -> None:
    page = visit(report_server.url, "#/reports/hostile.html", allow_blocked=True)
    expect(page.locator(".report h1")).to_be_visible()
    left = page.locator(".report").evaluate(
        """report => [...report.shadowRoot.querySelectorAll("*")].flatMap(one =>
          [...one.attributes].filter(({name, value}) =>
            name === "style" || name.endsWith("href") && value[0] !== "#"))"""
    )
    assert left == []
    assert page.locator(".report").evaluate("report => getComputedStyle(report).contain") == "layout paint"


def test_report_follows_the_chosen_colours(visit: OpenPage, report_server: Running) -> None:
    page = visit(report_server.url, "#/reports/study.html", color_scheme="dark")
    shade = """report => getComputedStyle(report.shadowRoot.querySelector(".body")).backgroundColor"""
    report = page.locator(".report")
    expect(report.locator("h1")).to_be_visible()
    assert report.evaluate(shade) == "rgb(20, 23, 27)"
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("☀")
    assert report.evaluate(shade) == "rgb(255, 255, 255)"
    page.locator("#theme").click()
    assert report.evaluate(shade) == "rgb(20, 23, 27)"


def test_missing_report(visit: OpenPage, report_server: Running) -> None:
    page = visit(report_server.url, "#/reports/nowhere.html", allow_failed_requests=True)
    expect(page.locator(".problem")).to_contain_text("there is no report 'nowhere.html'")


def test_empty_report_list_explains_how_to_create_one(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/reports")
    expect(page.get_by_role("heading", name="No reports yet")).to_be_visible()
    expect(page.get_by_text("recollect serve --reports reports/")).to_be_visible()
