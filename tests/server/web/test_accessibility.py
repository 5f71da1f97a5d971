"""axe finds no problem in any view, light and dark, on desktop and phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from recollect import Memory
from recollect.evaluation.report import build_report, write_report
from recollect.server.http import Settings
from tests.evaluation.outcomes import realistic_outcomes
from tests.server.http.running import Running, running
from tests.server.web.conftest import OpenPage

VIEWS = {
    "#/search": ".examples",
    "#/search?q=senhca": ".ladder",
    "#/search?q=tea or coffee": ".hit",
    "#/compare?q=tea or coffee&presets=default,trovella": ".column button",
    "#/notes": ".listing li",
    "#/note/sencha": ".graph",
    "#/edit/sencha": ".editor",
    "#/reports": ".listing li",
    "#/reports/study.html": ".report svg",
    "#/note/nowhere": ".problem",
}
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "width": 390, "height": 844},
}


@pytest.fixture(scope="module")
def server(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("reports")
    outcomes, data = realistic_outcomes(40)
    write_report(folder / "study.html", build_report(outcomes, data))
    with running(memory, Settings(reports=folder)) as created:
        yield created


def faults(page: Page) -> list[str]:
    """Return the violations with their elements."""
    results = Axe().run(page).response["violations"]
    return [f"{item['impact']} {item['id']}: {node['html'][:120]}" for item in results for node in item["nodes"]]


@pytest.mark.parametrize("screen", SCREENS)
def test_views_pass_axe(visit: OpenPage, server: Running, screen: str) -> None:
    page = visit(server.url, allow_failed_requests=True, **SCREENS[screen])
    wrong: dict[str, list[str]] = {}
    for view, selector in VIEWS.items():
        page.goto(f"{server.url}/{view}")
        expect(page.locator(selector).first).to_be_visible()
        if "q=tea" in view:
            page.locator(".explain, .column button").first.click()
            expect(page.locator(".waterfall").first).to_be_visible()
        if results := faults(page):
            wrong[view] = results
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    if results := faults(page):
        wrong["shortcuts"] = results
    assert wrong == {}, "\n".join(f"{view} {fault}" for view, item in wrong.items() for fault in item)


def test_axe_detects_faults(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    expect(page.locator(".examples")).to_be_visible()
    page.evaluate("document.getElementById('query').removeAttribute('aria-label')")
    page.evaluate("document.getElementById('query').removeAttribute('placeholder')")
    assert any(fault.startswith("critical label") for fault in faults(page))
