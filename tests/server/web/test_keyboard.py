"""Keyboard shortcuts and focus."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.server.http.running import Running
from tests.server.web.browsing import focused, is_search, search
from tests.server.web.conftest import OpenPage

_RING = """() => {
  const style = getComputedStyle(document.activeElement);
  const drawn = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return drawn || style.boxShadow !== "none" || parseFloat(style.borderTopWidth) >= 2;
}"""


def assert_seen(page: Page) -> None:
    """Assert that an element has the focus, and that the focus is visible."""
    assert not focused(page).startswith(("body", "nothing"))
    assert page.evaluate(_RING), focused(page)


def test_keyboard_only_session(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    press, field = page.keyboard.press, page.locator("#query")
    expect(field).to_be_focused()
    assert_seen(page)
    with page.expect_response(is_search("bike")):
        page.keyboard.type("bike")
    expect(page.locator(".hit h2").first).to_have_text("The bike")
    page.locator(".more button").press("Enter")
    expect(page.locator(".hit.weak h2 a").first).to_be_focused()
    assert_seen(page)
    press("/")
    expect(field).to_be_focused()

    press("ArrowDown")
    expect(page.locator(".hit h2 a").first).to_be_focused()
    assert_seen(page)
    press("j")
    expect(page.locator(".hit h2 a").nth(1)).to_be_focused()
    press("k")
    press("w")
    expect(page.locator(".hit").first.locator(".waterfall")).to_be_visible()
    press("w")
    expect(page.locator(".waterfall:visible")).to_have_count(0)
    press("ArrowUp")
    expect(field).to_be_focused()
    press("ArrowDown")
    press("/")
    expect(field).to_be_focused()
    press("ArrowDown")
    press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("The bike")
    assert_seen(page)

    press("e")
    expect(page.get_by_label("Title")).to_be_focused()
    assert_seen(page)
    press("End")
    page.keyboard.type(" of hers")
    press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("The bike of hers")
    assert_seen(page)

    press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert_seen(page)
    press("n")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert_seen(page)

    press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("New note")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type("Barometer")
    press("Tab")
    page.keyboard.type("Rain is near.")
    press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Barometer")
    assert_seen(page)

    press("s")
    expect(field).to_be_focused()
    with page.expect_response(is_search("barometer")):
        page.keyboard.type("barometer")
    expect(page.locator(".hit h2").first).to_have_text("Barometer")
    press("Escape")
    expect(field).to_have_value("")
    with page.expect_response(is_search("rain")):
        page.keyboard.type("rain")
    expect(page.locator(".hit h2").first).to_have_text("Barometer")
    press("ArrowDown")
    expect(page.locator(".hit h2 a").first).to_be_focused()
    press("c")
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare presets")
    expect(field).to_have_value("rain")
    expect(page.locator(".column button").first).to_be_visible()
    press("ArrowDown")
    expect(page.locator(".column button").first).to_be_focused()
    assert_seen(page)
    press("Enter")
    expect(page.locator(".by-preset").first).to_be_visible()
    press("Escape")
    expect(field).to_be_focused()


def test_shortcuts_do_not_apply_in_fields(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/new")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type("/?njkwcse")
    expect(page.get_by_label("Title")).to_have_value("/?njkwcse")
    page.keyboard.press("Escape")
    assert focused(page) == "main main"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_focus_after_deleting(visit: OpenPage, server: Running) -> None:
    server.client.post("/v1/notes", json={"id": "gone", "content": "Soon gone."}).raise_for_status()
    page = visit(server.url, "#/note/gone")
    page.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Notes")
    assert_seen(page)


def test_focus_moves_to_the_chosen_view(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/bike")
    for view in ("Compare", "Notes", "Reports", "Search"):
        page.get_by_role("navigation").get_by_role("link", name=view).focus()
        page.keyboard.press("Enter")
        expect(page).to_have_title(f"{view} · Recollect")
        expect(page.locator(f"nav [data-view={view.lower()}]")).to_have_attribute("aria-current", "page")
        expect(page.locator("main h1")).to_have_count(1)
        assert_seen(page)


def test_skip_link(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/notes")
    expect(page.locator(".listing li").first).to_be_visible()
    page.get_by_role("link", name="Skip to the content").focus()
    page.keyboard.press("Enter")
    assert focused(page) == "main main"
    expect(page.get_by_role("heading", level=1)).to_have_text("Notes")


def test_hit_keeps_the_focus_when_rendered_again(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    search(page, "tea")
    page.locator(".hit[data-note=guide] h2 a").focus()
    with page.expect_response("**/v1/search*"):
        page.get_by_label("Mode").evaluate("mode => { mode.value = 'bm25'; mode.dispatchEvent(new Event('change')); }")
    expect(page.locator(".parsed-query")).to_contain_text("bm25")
    expect(page.locator(".hit[data-note=guide] h2 a")).to_be_focused()
    page.locator(".hit[data-note=guide] .explain").focus()
    page.locator("#query").evaluate("field => { field.value = 'bike'; field.dispatchEvent(new Event('input')); }")
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator("#query")).to_be_focused()
