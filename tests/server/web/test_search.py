"""Search as you type: highlights, fallback ladder, legs, timeline, timing."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Route, expect

from tests.server.http.running import Running
from tests.server.web.browsing import is_search, request_body, search, show_weak
from tests.server.web.conftest import OpenPage


def test_search_as_you_type(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    expect(page.get_by_role("heading", name="7 notes to search")).to_be_visible()
    with page.expect_response(is_search("green tea")) as reply:
        page.locator("#query").press_sequentially("green tea")
    body = reply.value.json()
    strong = [hit for hit in body["hits"] if not hit["weak"]]
    expect(page.locator(".parsed-query")).to_contain_text("green OR tea")
    expect(page.locator(".hit")).to_have_count(len(strong))
    expect(page.locator(".hit h2").first).to_have_text("Leaves, not beans")
    expect(page.locator("#announcer")).to_have_text(f"{len(strong)} notes found")
    expect(page.locator(".hit.weak")).to_have_count(0)
    show_weak(page, body)
    hits = body["hits"]
    expect(page.locator(".hit.weak")).to_have_count(len(hits) - len(strong))
    expect(page.locator(".hit.weak h2 a").first).to_be_focused()
    expect(page.get_by_role("button", name="weak candidate")).to_have_count(0)
    assert [hit.get_attribute("data-note") for hit in page.locator(".hit").all()] == [hit["id"] for hit in hits]
    assert page.locator(".hit > .rank").all_inner_texts() == [str(hit["rank"]) for hit in hits]
    expect(page.get_by_role("heading", name="7 notes to search")).to_have_count(0)
    expect(page.locator("#announcer")).to_have_text("7 notes found")


@pytest.mark.parametrize(("query", "marks"), [("green tea", ["green", "tea"]), ("cups", ["cups"])])
def test_highlights_after_emoji(visit: OpenPage, server: Running, query: str, marks: list[str]) -> None:
    page = visit(server.url)
    search(page, query)
    snippet = page.locator(".hit[data-note=sencha] .snippet")
    expect(snippet).to_have_text("🍵👩‍👩‍👧 Prefers green tea to coffee: sencha, brewed cool, in small cups.")
    assert snippet.locator("mark").all_inner_texts() == marks


def test_hit_shows_tags(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    search(page, "green tea")
    assert page.locator(".hit[data-note=sencha] .chip.tag").all_inner_texts() == ["#drink", "#preference"]
    expect(page.locator(".hit[data-note=coffee] .chip.tag")).to_have_count(0)


def test_fallback_steps_are_shown(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    attempts = search(page, "senhca")["trace"]["attempts"]
    assert len(attempts) > 1
    steps = page.locator(".ladder li")
    expect(steps).to_have_count(len(attempts))
    assert steps.locator("code").all_inner_texts() == [attempt["query"] or "–" for attempt in attempts]
    expect(steps.first).to_have_class("empty")
    expect(steps.first).to_contain_text("the query")
    expect(steps.first).to_contain_text("no notes")
    expect(steps.last).to_have_class("success")
    expect(steps.last).to_contain_text("spelling corrected")
    expect(steps.last).to_contain_text("1 note")
    expect(page.locator(".notices .notice")).to_contain_text("sencha")


def test_excluded_terms_are_shown(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    assert search(page, "tea NOT coffee")["trace"]["excluded"] == ["coffee"]
    expect(page.locator(".notices .notice")).to_have_text("excluding notes with: coffee")


def test_legs_chart_shows_both_ranks(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    body = search(page, "which tea for the bike?")
    show_weak(page, body)
    hits = body["hits"]
    for leg in ("lexical", "vector"):
        ranks = [hit[f"{leg}_rank"] for hit in hits]
        chips = page.locator(f".hit .chip.{leg}").all_text_contents()
        assert chips == [f"{leg} #{rank}" if rank else f"{leg} –" for rank in ranks]
        assert page.locator(f".legs .hit-lines .{leg} text").all_text_contents() == [
            str(rank) for rank in ranks if rank
        ]
    assert page.locator(".legs text.rank").all_text_contents() == [str(hit["rank"]) for hit in hits]
    assert any(not hit["lexical_rank"] for hit in hits)
    page.locator(".hit[data-note=bike]").hover()
    expect(page.locator(".legs .highlighted")).to_have_attribute("data-note", "bike")


def test_server_time_is_shown(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    with page.expect_response(is_search("tea")) as reply:
        page.locator("#query").fill("tea")
    times = dict(re.findall(r"(\w+);dur=([\d.]+)", reply.value.headers["server-timing"]))
    body = re.compile(r"^[\d.,]+ ms from keystroke to screen · ([\d.]+) ms in the server, ([\d.]+) ms of it the search")
    expect(page.locator(".timing")).to_have_text(body)
    results = body.match(page.locator(".timing").inner_text())
    assert results
    assert float(results[1]) == pytest.approx(float(times["total"]), abs=0.51)
    assert float(results[2]) == pytest.approx(float(times["search"]), abs=0.51)


def test_timeline_has_every_part(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    body = search(page, "tea")
    parts = [part["name"] for part in body["explanation_data"]["timeline"]]
    stages = [run["stage"].replace("_", " ") for run in body["trace"]["stages"]]
    fusion = parts.index("fusion") + 1
    assert page.locator(".timeline tbody th").all_inner_texts() == [*parts[:fusion], *stages, *parts[fusion:]]


def test_timeline_counts_the_notes_that_the_first_stage_drops(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    outcome = page.evaluate("""async () => {
        const { timeline } = await import("/web/charts.js");
        const parts = [
            { name: "fusion", start: 0, elapsed: 5, message: "3 notes · duplicates" },
            { name: "total", start: 0, elapsed: 5, message: "2 shown" },
        ];
        const stages = [{ stage: "duplicates", candidates: 2, elapsed: 1 }];
        return timeline({ timeline: parts }, { stages }).querySelector("tr.stage .reason")?.textContent;
    }""")
    assert outcome == "− 1 note"


def test_options_are_sent_and_part_of_the_url(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    search(page, "tea")
    with page.expect_request("**/v1/search*") as requested:
        page.get_by_label("Mode").select_option("bm25")
    assert request_body(requested.value)["mode"] == "bm25"
    with page.expect_request("**/v1/search*") as requested:
        page.get_by_label("Preset").select_option("trovella")
    assert request_body(requested.value)["preset"] == "trovella"
    expect(page).to_have_url(re.compile("preset=trovella"))
    assert parse_qs(urlsplit(page.url).fragment.partition("?")[2]) == {
        "q": ["tea"],
        "preset": ["trovella"],
        "mode": ["bm25"],
    }
    page.reload()
    expect(page.locator("#query")).to_have_value("tea")
    expect(page.get_by_label("Preset")).to_have_value("trovella")
    expect(page.locator(".parsed-query")).to_contain_text("trovella")
    assert page.locator(".hit").count() == 3


def test_search_as_you_type_does_not_count_as_access(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    search(page, "tea")
    assert server.client.get("/v1/notes/sencha").json()["last_accessed_at"] is None


def test_missing_server_timing(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)

    def remove_server_timing(route: Route) -> None:
        reply = route.fetch()
        headers = {name: value for name, value in reply.headers.items() if name != "server-timing"}
        route.fulfill(response=reply, headers=headers)

    page.route("**/v1/search*", remove_server_timing)
    search(page, "tea")
    expect(page.locator(".timing")).to_contain_text("from keystroke to screen")
    expect(page.locator(".timing")).not_to_contain_text("server")


def test_back_button_restores_the_query(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search?q=bike")
    search(page, "tea")
    title = page.locator(".hit h2 a").first
    name = title.text_content() or ""
    title.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    expect(page.locator("#query")).to_have_value("tea")
