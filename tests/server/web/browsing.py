"""Helpers of the web UI tests: search, wait for the response, show weak candidates."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, Request, Response, expect


def request_body(request: Request) -> dict[str, Any]:
    """Return the body of a request."""
    data: dict[str, Any] = request.post_data_json or {}
    return data


def is_search(query: str) -> Any:
    """Return a predicate for the response to a search for this query."""

    def matches(response: Response) -> bool:
        return "/v1/search" in response.url and request_body(response.request)["query"] == query

    return matches


def search(page: Page, query: str) -> dict[str, Any]:
    """Type a query, and return the response of the server once the page shows it."""
    page.locator(".timing").evaluate("timing => timing.replaceChildren()")
    with page.expect_response(is_search(query)) as reply:
        page.locator("#query").fill(query)
    data: dict[str, Any] = reply.value.json()
    expect(page.locator(".timing strong").first).to_be_visible()
    return data


def show_weak(page: Page, data: dict[str, Any]) -> None:
    """Show the weak candidates, too, and wait until the page shows all hits."""
    if any(hit["weak"] for hit in data["hits"]):
        page.get_by_role("button", name="weak candidate").click()
    expect(page.locator(".hit")).to_have_count(len(data["hits"]))


def format_number(value: float) -> str:
    """Write a number as the page does."""
    return f"{value:.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:#.3g}"


def focused(page: Page) -> str:
    """Return the name of the focused element, and its id or the beginning of its text."""
    data: str = page.evaluate(
        """() => {
          const at = document.activeElement;
          return at ? `${at.localName} ${at.id || at.textContent.trim().slice(0, 40)}`.trim() : "nothing";
        }"""
    )
    return data
