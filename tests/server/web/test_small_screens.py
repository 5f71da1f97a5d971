"""Views fit a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from recollect.evaluation.report import build_report, write_report
from recollect.server.http import Settings
from tests.evaluation.outcomes import realistic_outcomes
from tests.server.http.running import Running, running
from tests.server.web.conftest import OpenPage
from tests.server.web.notes import sample_memory

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3
PHONE: dict[str, Any] = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}

_TOO_WIDE = """() => [...document.querySelectorAll("main *, header *")]
  .filter(one => one.getBoundingClientRect().right > 391)
  .filter(one => !one.closest(".scroller, .wide, .unseen, .skip"))
  .map(one => `${one.localName}.${one.className}`).slice(0, 5)"""
_SMALL = """() => [...document.querySelectorAll("button, select, input, summary, nav a, .button, h2 a, .listing a")]
  .map(one => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.height < 24 || box.width < 24))
  .filter(([one]) => one.type !== "checkbox")
  .map(([one, box]) => `${one.outerHTML.slice(0, 60)} ${box.width}×${box.height}`)"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("long")
    (folder / "reports").mkdir()
    outcomes, data = realistic_outcomes(40)
    write_report(folder / "reports" / "study.html", build_report(outcomes, data))
    long = {
        "id": "long",
        "title": LONG,
        "content": f"tea {LONG} {LONG}",
        "path": f"deep/{LONG}/{LONG}.md",
        "tags": [LONG[:60]],
        "session": LONG[:80],
        "position": 1,
        "links": [(LONG[:40], "sencha")],
        "metadata": {LONG: LONG},
    }
    with sample_memory(folder / "memory.db", long) as memory:
        memory.add("Elsewhere.", namespace=LONG[:60])
        with running(memory, Settings(reports=folder / "reports")) as created:
            yield created


def assert_fits(page: Page) -> None:
    """Assert that the page fits the width of the phone; a page that is too wide would report a wider window."""
    assert page.evaluate(_TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth <= 390")
    assert page.evaluate(_SMALL) == []


def test_views_fit_small_screens(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, **PHONE)
    for view, selector in {
        "#/search": ".examples",
        "#/compare?q=tea": ".column button",
        "#/notes": ".listing li",
        "#/note/long": ".graph",
        "#/note/sencha": ".graph",
        "#/new": ".editor",
        "#/edit/long": ".editor",
        "#/reports": ".listing li",
        "#/reports/study.html": ".report svg",
        "#/nowhere": "h1",
    }.items():
        page.goto(f"{server.url}/{view}")
        expect(page.locator(selector).first).to_be_visible()
        assert_fits(page)


def test_hits_and_waterfalls_fit_small_screens(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/search?q=tea {LONG[:80]}", **PHONE)
    page.get_by_role("button", name="weak candidates").tap()
    expect(page.locator(".hit[data-note=long]")).to_be_visible()
    for why in page.locator(".explain").all():
        why.tap()
    expect(page.locator(".waterfall:visible")).to_have_count(page.locator(".hit").count())
    assert_fits(page)
    page.get_by_role("button", name="Details ↓").tap()
    expect(page.locator(".timeline")).to_be_in_viewport()


def test_comparison_fits_small_screens(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/compare?q=tea", **PHONE)
    page.locator(".column [data-note=long]").first.tap()
    expect(page.locator(".by-preset").first).to_be_visible()
    assert_fits(page)


def test_dialogs_fit_small_screens(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/long", **PHONE)
    page.get_by_role("button", name="Delete").tap()
    for _ in range(2):
        box = page.get_by_role("dialog").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["height"] <= 844
        assert_fits(page)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Keyboard shortcuts").tap()


def test_problem_fits_small_screens(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/note/{LONG}", allow_failed_requests=True, **PHONE)
    expect(page.locator(".problem")).to_be_visible()
    assert_fits(page)
