"""Keys: the dialog, the tab, the rights, the namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, Route, expect

from recollect import Memory
from recollect.server import KeyRing
from tests.server.http.running import running
from tests.server.web.browsing import search
from tests.server.web.conftest import OpenPage


class KeyServer(NamedTuple):
    url: str
    everything: str
    reader: str
    several: str


@pytest.fixture(scope="module")
def key_server(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyServer]:
    memory.add("A kettle for the office tea.", id="kettle", title="Kettle", namespace="office")
    memory.add("A tent, and tea in a flask.", id="tent", title="Tent", namespace="trips")
    ring = KeyRing(tmp_path_factory.mktemp("keys") / "keys.json")
    keys = [
        ring.add("everything", None, "admin")[1],
        ring.add("reader", ["default"], "read")[1],
        ring.add("two", ["office", "trips"], "write")[1],
    ]
    with running(memory, ring=ring) as server:
        yield KeyServer(server.url, *keys)


def enter_key(page: Page, key: str) -> None:
    page.get_by_label("A key of this server").fill(key)
    page.get_by_role("button", name="Use key").click()


def test_key_is_requested_and_stored_in_the_tab(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    expect(page.get_by_role("dialog", name="Key required")).to_be_visible()
    expect(page.get_by_label("A key of this server")).to_be_focused()
    enter_key(page, key_server.everything)
    expect(page.get_by_role("dialog")).to_have_count(0)
    search(page, "bike")
    expect(page.locator(".hit h2").first).to_have_text("The bike")
    expect(page).to_have_url(f"{key_server.url}/#/search?q=bike")
    page.reload()
    expect(page.locator(".hit h2").first).to_have_text("The bike")
    assert key_server.everything not in page.evaluate("JSON.stringify(localStorage) + location.href + document.cookie")
    assert not [address for address in addresses if key_server.everything in address]
    other_page = page.context.new_page()
    other_page.goto(key_server.url)
    expect(other_page.get_by_role("dialog", name="Key required")).to_be_visible()


def test_wrong_key_is_rejected_in_the_dialog(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    expect(page.locator("dialog .rejected")).to_have_count(0)
    enter_key(page, "rk_0_wrong")
    expect(page.locator("dialog .rejected")).to_be_visible()
    assert "\n" not in page.locator("dialog .rejected").inner_text()
    enter_key(page, key_server.reader)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="7 notes to search")).to_be_visible()
    expect(page.locator(".problem")).to_have_count(0)


def test_late_401_of_an_old_key_is_ignored(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    expect(page.locator(".problem h2")).to_have_text("A key is required")  # no request is running
    requested: list[Route] = []

    def delay(route: Route) -> None:
        if "authorization" in route.request.headers:
            route.continue_()
        elif requested:
            requested.append(route)
        else:
            requested.append(route)
            route.continue_()

    page.route("**/v1/stats", delay)
    page.reload()
    enter_key(page, key_server.reader)
    expect(page.get_by_role("heading", name="7 notes to search")).to_be_visible()
    _, late = requested
    with page.expect_response(lambda response: response.status == 401):
        late.continue_()
    page.evaluate("fetch('/health').then(() => new Promise(requestAnimationFrame))")
    expect(page.get_by_role("dialog")).to_have_count(0)
    search(page, "tea")


def test_malformed_key_is_not_sent(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    enter_key(page, "ключ")
    field = page.locator("#key-field")
    assert field.evaluate("field => field.validationMessage").startswith("This is not a key")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_cancelled_key_dialog_can_be_reopened(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".problem h2")).to_have_text("A key is required")
    page.get_by_role("button", name="Key", exact=True).click()
    expect(page.get_by_role("dialog", name="Key required")).to_be_visible()


def test_read_key_sees_no_write_actions(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, "#/note/guide", allow_failed_requests=True)
    enter_key(page, key_server.reader)
    expect(page.get_by_role("heading", level=1)).to_have_text("Brewing")
    for name in ("Edit", "Delete"):
        expect(page.get_by_text(name, exact=True)).to_have_count(0)
    expect(page.get_by_label("Namespace")).to_be_hidden()
    page.keyboard.press("e")
    page.get_by_role("link", name="Notes", exact=True).click()
    expect(page.locator(".listing li")).to_have_count(7)
    expect(page.get_by_role("link", name="New note")).to_be_hidden()
    page.keyboard.press("n")
    page.evaluate("fetch('/health').then(() => new Promise(requestAnimationFrame))")
    expect(page).to_have_url(f"{key_server.url}/#/notes")
    page.keyboard.press("s")
    expect(page.locator("#query")).to_be_focused()
    for view in ("#/new", "#/edit/guide"):
        page.goto(f"{key_server.url}/{view}")
        expect(page.locator(".problem")).to_contain_text("This key may read notes, but not write them.")
    page.goto(f"{key_server.url}/#/reports")
    expect(page.locator(".problem h1")).to_have_text("Not allowed with this key")


def test_namespace_can_be_selected(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, allow_failed_requests=True)
    enter_key(page, key_server.several)
    chooser = page.get_by_label("Namespace")
    expect(chooser).to_be_visible()
    assert chooser.locator("option").all_text_contents() == ["office", "trips"]
    expect(page.get_by_role("heading", name="1 note to search")).to_be_visible()
    search(page, "tea")
    expect(page.locator(".hit h2")).to_have_text(["Kettle"])
    expect(page).to_have_url(f"{key_server.url}/#/search?q=tea")
    chooser.select_option("trips")
    expect(page.locator(".hit h2")).to_have_text(["Tent"])
    page.locator(".hit h2 a").click()
    expect(page.locator(".properties")).to_contain_text("trips")
    page.reload()
    expect(chooser).to_have_value("trips")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tent")
    page.goto(f"{key_server.url}/#/new")
    page.get_by_label("Text").fill("A stove.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".properties")).to_contain_text("trips")


def test_key_can_be_removed(visit: OpenPage, key_server: KeyServer) -> None:
    page = visit(key_server.url, "#/search?q=tea", allow_failed_requests=True)
    enter_key(page, key_server.everything)
    expect(page.locator(".hit").first).to_be_visible()
    page.get_by_role("button", name="Key", exact=True).click()
    page.get_by_role("button", name="Remove key").click()
    expect(page.get_by_role("dialog", name="Key required")).to_be_visible()
    expect(page.locator(".hit")).to_have_count(0)
    assert page.evaluate("sessionStorage.getItem('recollect.key')") is None
    expect(page.get_by_label("A key of this server")).to_have_value("")
    expect(page.get_by_role("button", name="Remove key")).to_have_count(0)


def test_server_without_keys_requests_none(visit: OpenPage, memory: Memory) -> None:
    with running(memory) as server:
        page = visit(server.url)
        expect(page.locator(".examples")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Key", exact=True)).to_be_hidden()
        page.close()
