"""Light and dark theme."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.http.running import Running
from tests.server.web.conftest import OpenPage

BACKGROUNDS = {"light": "rgb(251, 250, 248)", "dark": "rgb(21, 23, 28)"}


def background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_until_chosen(visit: OpenPage, server: Running, scheme: str) -> None:
    page = visit(server.url, color_scheme=scheme)
    button = page.locator("#theme")
    expect(button).to_have_accessible_name("Theme: system")
    assert background(page) == BACKGROUNDS[scheme]
    for selected in ("light", "dark"):
        button.click()
        expect(button).to_have_accessible_name(f"Theme: {selected}")
        assert background(page) == BACKGROUNDS[selected]
        page.reload()
        expect(button).to_have_accessible_name(f"Theme: {selected}")
        assert background(page) == BACKGROUNDS[selected]
    button.click()
    assert background(page) == BACKGROUNDS[scheme]
    page.reload()
    expect(button).to_have_accessible_name("Theme: system")
    assert background(page) == BACKGROUNDS[scheme]
