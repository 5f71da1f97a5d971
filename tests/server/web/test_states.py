"""Empty memory, no hits, no answer, problems, and a server that stops."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Route, expect

import recollect
from recollect import Memory
from tests.server.http.running import Running, running
from tests.server.web.browsing import search
from tests.server.web.conftest import OpenPage


def test_empty_memory(visit: OpenPage, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory, running(memory) as server:
        page = visit(server.url)
        expect(page.get_by_role("heading", name="This memory is empty")).to_be_visible()
        search(page, "anything")
        expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
        page.goto(f"{server.url}/#/notes")
        expect(page.get_by_role("heading", name="No notes here")).to_be_visible()
        page.goto(f"{server.url}/#/compare?q=anything")
        expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
        page.goto(f"{server.url}/#/search")
        page.get_by_role("link", name="Write a note").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("New note")
        page.close()


def test_memory_with_another_namespace_only(visit: OpenPage, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Oolong in the tent.", title="Oolong", namespace="trips")
        with running(memory) as server:
            page = visit(server.url)
            expect(page.get_by_role("heading", name="1 note to search")).to_be_visible()
            search(page, "oolong")
            expect(page.locator(".hit h2")).to_have_text("Oolong")
            page.close()


def test_response_of_another_server(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    page.route("**/v1/search*", lambda route: route.fulfill(body="<form>Login</form>", content_type="text/html"))
    page.locator("#query").fill("tea")
    expect(page.locator(".problem")).to_contain_text("The response is not from Recollect")


def test_no_hits_shows_advice(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search?mode=bm25")
    assert search(page, "<b>zzz")["hits"] == []
    expect(page.locator("div.empty")).to_contain_text("No note matches “<b>zzz”.")
    expect(page.locator(".hit")).to_have_count(0)
    expect(page.locator("#announcer")).to_have_text("nothing found")


def test_weak_candidates_are_shown_on_demand(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search?mode=bm25")
    weak = search(page, "monday lantern harbour violin")
    assert (weak["has_answer"], len(weak["hits"])) == (False, 2)
    expect(page.get_by_role("heading", name="No answer in this memory")).to_be_visible()
    expect(page.locator(".hit")).to_have_count(0)
    expect(page.locator("#announcer")).to_have_text("no answer")
    page.get_by_role("button", name="Show 2 weak candidates").click()
    expect(page.locator(".hit h2").first).to_have_text("The corner shop")
    expect(page.locator(".hit h2 a").first).to_be_focused()
    expect(page.locator(".hit .chip.weak")).to_have_text(["weak", "weak"])
    expect(page.locator(".notice.warning")).to_contain_text("These are weak candidates.")
    expect(page.locator("#announcer")).to_have_text("2 weak candidates found")
    search(page, "monday lantern harbour violin trumpet")  # another query hides them again
    expect(page.locator(".hit")).to_have_count(0)
    search(page, "tea")
    expect(page.locator(".hit .chip.weak")).to_have_count(0)
    page.goto(f"{server.url}/#/compare?q=monday+lantern+harbour+violin&mode=bm25&presets=default,trovella")
    expect(page.locator(".column", has_text="no answer").get_by_role("heading")).to_have_text("default")


def test_missing_note(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/no%2Fwhere", allow_failed_requests=True)
    expect(page.locator(".problem h1")).to_have_text("Not found")
    expect(page.locator(".problem")).to_contain_text("no/where")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_unknown_urls(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    for address in ("#/nowhere", "#/constructor", "#/%", "#/toString/a"):
        page.goto(f"{server.url}/{address}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
        page.get_by_role("link", name="Go to the search").click()
        expect(page.locator("#query")).to_be_focused()


def test_warnings_are_shown_above_the_hits(visit: OpenPage, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory, running(memory) as server:
        memory.add("Prefers green tea.")
        page = visit(server.url, "#/search?mode=semantic")
        warnings = search(page, "tea")["warnings"]
        assert warnings
        expect(page.locator(".notice.warning")).to_have_text(warnings)
        page.goto(f"{server.url}/#/compare?q=tea&mode=semantic&presets=default,trovella")
        expect(page.locator(".notice.warning").first).to_be_visible()
        page.close()


def test_server_that_stops_and_restarts(visit: OpenPage, memory: Memory) -> None:
    with running(memory) as server:
        page = visit(server.url, allow_failed_requests=True)
        search(page, "tea")
    page.locator("#query").fill("tea water")
    expect(page.locator(".problem h2")).to_have_text("No response from Recollect")
    expect(page.locator(".problem")).to_contain_text("Is `recollect serve` still running?")
    expect(page.locator(".hit")).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".problem")).to_be_visible()
    expect(page.locator("#query")).to_be_focused()
    with running(memory, port=int(server.url.rpartition(":")[2])):
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".hit").first).to_be_visible()
        expect(page.locator(".problem")).to_have_count(0)
        search(page, "bike")
        expect(page.locator(".hit h2").first).to_have_text("The bike")
        page.close()


def test_late_responses_of_a_left_view_are_dropped(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search")
    stored: list[Route] = []
    page.route("**/v1/notes/guide**", lambda route: stored.append(route))  # noqa: PLW0108 (playwright writes on what it is given)
    page.evaluate("location.hash = '#/note/guide'")
    expect(page).to_have_title("Note · Recollect")
    page.evaluate("location.hash = '#/note/bike'")
    expect(page.get_by_role("heading", level=1)).to_have_text("The bike")
    with page.expect_response("**/v1/notes/guide**"):
        stored[0].continue_()
    page.evaluate("new Promise(done => setTimeout(done))")
    expect(page).to_have_title("The bike · Recollect")
    expect(page.get_by_role("heading", level=1)).to_have_text("The bike")
