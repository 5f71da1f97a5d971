"""The waterfall shows the numbers of the trace, and they add up."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from recollect.retrieval import presets
from tests.server.http.running import Running
from tests.server.web.browsing import format_number, search, show_weak
from tests.server.web.conftest import OpenPage


def row(body: dict[str, Any]) -> list[str]:
    """Return what a row of the waterfall should say."""
    name = body["name"].replace("_", " ")
    if body["kind"] == "leg":
        return [name, f"+ {format_number(body['end'] - body['start'])}", "", body["reason"]]
    return [name, body["change"], format_number(body["end"]), body["reason"]]


_CARDS = """cards => Object.fromEntries(cards.map(card => {
  card.querySelector(".explain").click();
  const text = one => one.textContent.trim();
  const all = selector => [...card.querySelectorAll(selector)];
  return [card.dataset.note, {
    rows: all(".waterfall tbody tr").map(row => [...row.querySelectorAll("th, td:not(.lane)")].map(text)),
    formula: all(".formula code").map(text),
    verdict: all(".formula span").map(text),
    score: all(".explain .number").map(text),
    pointers: all(".pointer").map(text),
    sentence: all(".sentence").map(text),
    unchanged: all(".waterfall .muted").map(text),
  }];
}))"""
"""Open every explanation, and read it."""


@pytest.mark.parametrize("preset", list(presets()))
def test_waterfall_shows_the_numbers_of_the_trace(visit: OpenPage, server: Running, preset: str) -> None:
    page = visit(server.url, f"#/search?preset={preset}")
    body = search(page, "which tea did you suggest with the coffee cups?")
    assert body["trace"]["preset"] == preset
    assert body["hits"]
    show_weak(page, body)
    cards = page.locator(".hit").evaluate_all(_CARDS)
    assert list(cards) == [hit["id"] for hit in body["hits"]]
    for hit, waterfall in zip(body["hits"], body["explanation_data"]["waterfalls"], strict=True):
        card = cards[hit["id"]]
        assert card["sentence"] == [waterfall["sentence"]]
        assert card["rows"] == [row(item) for item in waterfall["rows"]]
        assert card["verdict"] == ["✓ adds up"]
        assert not any(
            f" {name}," in line or f" {name}." in line for line in card["unchanged"] for name, *_ in card["rows"]
        )
        assert card["formula"][0].endswith(f" = {format_number(hit['score'])}")
        assert card["score"] == [format_number(hit["score"])]
        assert card["pointers"] == [f"↳ {line}" for line in waterfall["pointers"]]


def test_waterfall_marks_a_wrong_score(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)

    def change_score(route: Any) -> None:
        reply = route.fetch()
        body = reply.json()
        body["hits"][0]["score"] += 0.25
        route.fulfill(response=reply, json=body)

    page.route("**/v1/search*", change_score)
    search(page, "tea")
    page.locator(".explain").first.click()
    expect(page.locator(".hit .differs")).to_contain_text("✗ the steps add up to")


def test_score_bar_is_to_scale(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    body = search(page, "which tea did you suggest?")
    show_weak(page, body)
    scale = body["explanation_data"]["max_score"]
    for hit, waterfall in zip(body["hits"], body["explanation_data"]["waterfalls"], strict=True):
        strip = page.locator(f".hit[data-note={hit['id']}] .score-bar")
        whole = strip.bounding_box()
        bars = [box for bar in strip.locator(".bar:not(.loss)").all() if (box := bar.bounding_box())]
        assert whole
        assert strip.locator(".bar.leg").count() == sum(item["kind"] == "leg" for item in waterfall["rows"])
        end = max(box["x"] + box["width"] for box in bars) - whole["x"]
        assert end / whole["width"] == pytest.approx(hit["score"] / scale, abs=0.02)


def test_open_waterfall_stays_open_while_typing(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    search(page, "tea")
    why = page.locator(".hit[data-note=guide] .explain")
    why.click()
    expect(why).to_have_attribute("aria-expanded", "true")
    search(page, "tea water")
    expect(page.locator(".hit[data-note=guide] .explain")).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".waterfall")).to_have_count(1)
    expect(page.locator(".hit[data-note=guide] .agrees")).to_be_visible()
    page.locator(".hit[data-note=guide] .explain").click()
    expect(page.locator(".waterfall:visible")).to_have_count(0)
    search(page, "tea")
    expect(page.locator(".waterfall:visible")).to_have_count(0)
