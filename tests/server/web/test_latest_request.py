"""An old response never replaces a newer one, and fast typing makes no queue."""

from __future__ import annotations

from contextlib import suppress

from playwright.sync_api import Error, Page, Route, expect

from tests.server.http.running import Running
from tests.server.web.browsing import is_search, request_body
from tests.server.web.conftest import OpenPage


def delay_responses(page: Page, query: str, requested: str = "search") -> list[Route]:
    """Delay the responses to a query until they are released."""
    delayed: list[Route] = []

    def decide(route: Route) -> None:
        if request_body(route.request)["query"] == query:
            delayed.append(route)
        else:
            route.continue_()

    page.route(f"**/v1/{requested}*", decide)
    return delayed


def deliver(page: Page, delayed: list[Route]) -> None:
    """Deliver the delayed responses, and wait until the page has drawn them."""
    for route in delayed:
        reply = route.fetch()
        with suppress(Error):  # the page has aborted it
            route.fulfill(response=reply)
    page.evaluate("fetch('/health').then(() => new Promise(requestAnimationFrame))")


def test_older_response_does_not_replace_a_newer_one(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    delayed = delay_responses(page, "tea")
    with page.expect_request("**/v1/search*"):
        page.locator("#query").fill("tea")
    page.locator("#query").fill("bike")
    expect(page.locator(".hit h2").first).to_have_text("The bike")
    assert len(delayed) == 1
    deliver(page, delayed)
    with page.expect_response(is_search("bike frame")):
        page.locator("#query").fill("bike frame")
    expect(page.locator(".parsed-query")).to_contain_text("frame")
    expect(page.locator(".hit h2").first).to_have_text("The bike")


def test_fast_typing_sends_few_requests(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    requested: list[str] = []
    page.on(
        "request",
        lambda request: requested.extend([request_body(request)["query"]] if "/v1/search" in request.url else []),
    )
    delayed = delay_responses(page, "t")
    page.locator("#query").evaluate(
        """field => {
          for (const letter of "tea or bike") {
            field.value += letter;
            field.dispatchEvent(new Event("input"));
          }
        }"""
    )
    expect(page.locator(".parsed-query")).to_contain_text("tea OR bike")
    assert requested == ["t", "tea or bike"]
    deliver(page, delayed)
    expect(page.locator(".parsed-query")).to_contain_text("tea OR bike")


def test_late_response_does_not_fill_an_empty_search(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    delayed = delay_responses(page, "tea")
    with page.expect_request("**/v1/search*"):
        page.locator("#query").fill("tea")
    page.locator("#query").fill("")
    expect(page.locator(".examples")).to_be_visible()
    deliver(page, delayed)
    expect(page.locator(".hit")).to_have_count(0)
    expect(page.locator(".examples")).to_be_visible()


def test_response_that_cannot_be_aborted_is_dropped(visit: OpenPage, server: Running) -> None:
    """Requests that cannot be aborted may be answered in any order."""
    page = visit(server.url)
    data = page.evaluate(
        """async () => {
          const { LatestRequest } = await import("/web/api.js");
          const sent = {}, shown = [], failed = [];
          const send = params => new Promise((resolve, reject) => (sent[params] = { resolve, reject }));
          const latest = new LatestRequest(send, response => shown.push(response), error => failed.push(error.message));
          const settled = () => new Promise(done => setTimeout(done));
          latest.submit("a");
          latest.cancel();
          latest.submit("b");
          sent.a.resolve("a");
          await settled();
          sent.b.resolve("b");
          await settled();
          latest.submit("c");
          latest.submit("d");
          latest.submit("e");
          sent.c.reject(new Error("c"));
          await settled();
          sent.e.resolve("e");
          await settled();
          latest.submit("f");
          sent.f.reject(new Error("f"));
          await settled();
          return { sent: Object.keys(sent), shown, failed };
        }"""
    )
    assert data == {"sent": ["a", "b", "c", "e", "f"], "shown": ["b", "e"], "failed": ["f"]}


def test_comparison_drops_older_responses(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/compare?presets=default,trovella")
    delayed = delay_responses(page, "tea", "compare")
    expect(page.locator(".presets input").first).to_be_visible()
    with page.expect_request("**/v1/compare*"):
        page.locator("#query").fill("tea")
    page.locator("#query").fill("bike")
    expect(page.locator(".column button").first).to_contain_text("The bike")
    deliver(page, delayed)
    expect(page.locator(".column button").first).to_contain_text("The bike")


def test_outdated_hits_are_dimmed(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search?q=bike")
    expect(page.locator(".hit h2").first).to_have_text("The bike")
    delayed = delay_responses(page, "tea")
    page.locator("#query").fill("tea")
    expect(page.locator(".timing")).to_have_text("searching…")
    expect(page.locator(".columns")).to_have_attribute("aria-busy", "true")
    deliver(page, delayed)
    expect(page.locator(".parsed-query")).to_contain_text("tea")
    expect(page.locator(".columns")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".timing strong").first).to_be_visible()
