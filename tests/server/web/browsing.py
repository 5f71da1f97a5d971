"""What tests of the page do again and again: ask, wait until the answer is drawn, and read what stands there."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, Request, Response, expect


def sent(request: Request) -> dict[str, Any]:
    """Return what a request asks for."""
    told: dict[str, Any] = request.post_data_json or {}
    return told


def is_search(query: str) -> Any:
    """Return what knows the answer to a search for this query."""

    def answers(response: Response) -> bool:
        return "/v1/search" in response.url and sent(response.request)["query"] == query

    return answers


def search(page: Page, query: str) -> dict[str, Any]:
    """Type a query at once, and return what the server answered when that is drawn."""
    page.locator(".timing").evaluate("shown => shown.replaceChildren()")
    with page.expect_response(is_search(query)) as answer:
        page.locator("#query").fill(query)
    told: dict[str, Any] = answer.value.json()
    expect(page.locator(".timing strong").first).to_be_visible()
    return told


def show_weak(page: Page, told: dict[str, Any]) -> None:
    """Show the weak candidates among the hits of an answer, too, and wait until all are drawn."""
    if any(hit["weak"] for hit in told["hits"]):
        page.get_by_role("button", name="weak candidate").click()
    expect(page.locator(".hit")).to_have_count(len(told["hits"]))


def figure(value: float) -> str:
    """Write a number as the page does."""
    return f"{value:.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:#.3g}"


def focused(page: Page) -> str:
    """Return what has the focus, as the name of its element and how it begins."""
    told: str = page.evaluate(
        """() => {
          const at = document.activeElement;
          return at ? `${at.localName} ${at.id || at.textContent.trim().slice(0, 40)}`.trim() : "nothing";
        }"""
    )
    return told
