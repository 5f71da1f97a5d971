"""Comparison of presets."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.server.http.running import Running
from tests.server.web.conftest import OpenPage

QUERY = "tea or coffee cups"
ORDERS = {
    "trovella": ["coffee", "sencha", "question", "guide"],
    "default": ["sencha", "coffee", "guide", "question", "reply", "shop"],
    "memini": ["coffee", "sencha", "question", "guide"],
}
LINE_KINDS = [
    {"coffee": "falls", "sencha": "rises", "question": "falls", "guide": "rises", "reply": "enters", "shop": "enters"},
    {"sencha": "falls", "coffee": "rises", "guide": "falls", "question": "rises", "reply": "leaves", "shop": "leaves"},
]


def test_comparison_shows_changes_of_rank(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/compare?q={QUERY}&mode=bm25&presets={','.join(ORDERS)}")
    expect(page.locator(".column h2")).to_have_text(list(ORDERS))
    columns = page.locator(".column").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('button')].map(element => element.dataset.note))"
    )
    assert columns == list(ORDERS.values())
    lines = page.locator(".changes").evaluate_all(
        "all => all.map(one => Object.fromEntries([...one.querySelectorAll('path')]"
        ".map(element => [element.dataset.note, element.getAttribute('class')])))"
    )
    assert lines == LINE_KINDS
    moves = page.locator(".changes").first.locator("text").all_text_contents()
    assert sorted(moves) == ["▲1", "▲1", "▼1", "▼1"]
    page.locator(".column").first.locator("[data-note=question]").hover()
    assert set(page.locator(".board .highlighted").evaluate_all("all => all.map(element => element.dataset.note)")) == {
        "question"
    }


def test_comparison_columns_share_the_width(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/compare?q={QUERY}&presets={','.join(ORDERS)}", width=1280)
    expect(page.locator(".column")).to_have_count(3)
    widths = page.locator(".column").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert max(widths) - min(widths) < 1
    assert page.locator(".scroller").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_comparison_lines_meet_their_notes(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/compare?q={QUERY}&mode=bm25&presets=trovella,default")
    expect(page.locator(".column")).to_have_count(2)
    for note in ("coffee", "question"):
        line = page.locator(f".changes path[data-note={note}]").bounding_box()
        boxes = [
            box for element in page.locator(f".column [data-note={note}]").all() if (box := element.bounding_box())
        ]
        assert line
        middles = sorted(box["y"] + box["height"] / 2 for box in boxes)
        # The bounding box of a line includes the mitre of a sharp corner: four pixels here.
        assert abs(line["y"] + 4 - middles[0]) < 1
        assert abs(line["y"] + line["height"] - 4 - middles[1]) < 1


def test_comparison_explains_the_chosen_note(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, f"#/compare?q={QUERY}&mode=bm25&presets=trovella,default")
    note = page.locator(".column").nth(1).locator("[data-note=reply]")
    note.click()
    expect(note).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".reasons h2")).to_have_text("Why “chat/april/2” has its rank")
    expect(page.locator(".by-preset h3")).to_have_text(["trovella", "default: rank 5"])
    expect(page.locator(".by-preset").first).to_contain_text("Not among the first 4.")
    expect(page.locator(".by-preset").nth(1).locator(".agrees")).to_have_text("✓ adds up")
    page.locator(".column").first.locator("[data-note=sencha]").click()
    expect(page.locator(".by-preset h3")).to_have_text(["trovella: rank 2", "default: rank 1"])
    expect(page.locator(".by-preset .agrees")).to_have_count(2)
    page.locator(".column").first.locator("[data-note=sencha]").click()
    expect(page.locator(".by-preset")).to_have_count(0)


def test_presets_of_the_comparison_can_be_chosen(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/compare")
    expect(page.get_by_text("Type a query to compare the results of the presets.")).to_be_visible()
    expect(page.locator(".presets input:checked")).to_have_count(3)
    page.locator("#query").fill("tea")
    expect(page.locator(".column h2")).to_have_text(["default", "jeffs-brain", "trovella"])
    page.get_by_label("jeffs-brain").uncheck()
    expect(page.locator(".column h2")).to_have_text(["default", "trovella"])
    page.get_by_label("memini").check()
    expect(page.locator(".column h2")).to_have_text(["default", "trovella", "memini"])
    for name in ("default", "trovella", "memini"):
        page.get_by_role("checkbox", name=name).uncheck()
    expect(page.get_by_text("Select at least one preset.")).to_be_visible()
    expect(page.locator(".column")).to_have_count(0)
