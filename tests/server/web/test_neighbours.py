"""A note with its properties and neighbours."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.server.http.running import Running
from tests.server.web.conftest import OpenPage


def test_graph_and_list_show_neighbours(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/sencha")
    expect(page.locator(".graph .self text")).to_have_text("Leaves, not beans")
    neighbours = server.client.get("/v1/neighbours/sencha").json()["neighbours"]
    assert {item["note"]["id"] for item in neighbours} >= {"coffee", "guide"}
    names = {item["note"]["title"] or item["note"]["path"] for item in neighbours}
    titles = page.locator(".graph a title").all_text_contents()
    assert sorted(titles) == sorted(names)
    page.locator(".related summary").click()
    listing = page.locator(".neighbours li").all_inner_texts()
    assert listing == [
        f"← {item['kind']} {name}" if item["direction"] == "in" else f"{item['kind']} → {name}"
        for item in neighbours
        for name in [item["note"]["title"] or item["note"]["path"]]
    ]
    page.get_by_role("link", name="Brewing, ").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Brewing")
    expect(page).to_have_title("Brewing · Recollect")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Leaves, not beans")
    facts = page.locator(".properties").inner_text()
    for data in ("memory/preference-leaves.md", "2 Mar 2026", "supersedes → coffee", "sencha"):
        assert data in facts


def test_graph_labels_stay_in_their_boxes(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/sencha")
    expect(page.locator(".graph .self")).to_be_visible()
    for box in page.locator(".graph .self, .graph .other").all():
        outer, inner = box.locator("rect").bounding_box(), box.locator("text").bounding_box()
        assert outer
        assert inner
        assert outer["x"] <= inner["x"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]


def test_note_without_and_with_many_neighbours(visit: OpenPage, server: Running) -> None:
    add = server.client.post
    add("/v1/notes", json={"id": "alone", "content": "Xyzzy."}).raise_for_status()
    for number in range(14):
        add(
            "/v1/notes", json={"id": f"leaf{number}", "content": f"Leaf {number}.", "title": f"Leaf number {number}"}
        ).raise_for_status()
    links = [{"kind": "has", "target": f"leaf{number}"} for number in range(14)]
    add("/v1/notes", json={"id": "hub", "content": "Plugh.", "links": links}).raise_for_status()
    page = visit(server.url, "#/note/alone")
    expect(page.get_by_text("This note has no neighbours.")).to_be_visible()
    page.goto(f"{server.url}/#/note/hub")
    expect(page.locator(".graph a")).to_have_count(12)
    expect(page.locator(".graph figcaption")).to_have_text("and 2 more in the list")
    expect(page.locator(".neighbours li:visible")).to_have_count(14)
