"""Light and dark: as the system has it, until one chooses, and then for good."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.server.http.running import Running
from tests.server.web.conftest import Opening

PAPER = {"light": "rgb(251, 250, 248)", "dark": "rgb(21, 23, 28)"}


def paper(page: Page) -> str:
    told: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return told


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_until_chosen(visit: Opening, server: Running, scheme: str) -> None:
    page = visit(server.url, color_scheme=scheme)
    button = page.locator("#theme")
    expect(button).to_have_accessible_name("Colours: as the system has them")
    assert paper(page) == PAPER[scheme]
    for chosen in ("light", "dark"):
        button.click()
        expect(button).to_have_accessible_name(f"Colours: {chosen}")
        assert paper(page) == PAPER[chosen]
        page.reload()
        expect(button).to_have_accessible_name(f"Colours: {chosen}")
        assert paper(page) == PAPER[chosen]
    button.click()
    assert paper(page) == PAPER[scheme]
    page.reload()
    expect(button).to_have_accessible_name("Colours: as the system has them")
    assert paper(page) == PAPER[scheme]
