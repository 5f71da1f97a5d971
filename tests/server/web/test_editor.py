"""Notes are added, edited and deleted; a rejected note keeps the form."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

import recollect
from tests.server.http.running import Running, running
from tests.server.web.browsing import search
from tests.server.web.conftest import OpenPage


def test_note_is_added(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/notes")
    page.get_by_role("link", name="New note").click()
    page.get_by_label("Title").fill("Spare key")
    page.get_by_label("Text").fill("It hangs\nbehind the barometer.")
    page.get_by_label("Tags").fill("house, #keys")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Spare key")
    expect(page.locator(".note .content")).to_have_text("It hangs\nbehind the barometer.", use_inner_text=True)
    expect(page.locator(".note .chip")).to_have_text(["#house", "#keys"])
    page.get_by_role("link", name="Search", exact=True).click()
    search(page, "barometer")
    expect(page.locator(".hit h2").first).to_have_text("Spare key")


def test_editor_sends_changed_fields_only(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/note/guide")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Title")).to_have_value("Brewing")
    page.get_by_label("Text").fill("Tips for tea: water at 80 degrees.")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("button", name="Save").click()
    assert (sent.value.method, sent.value.post_data_json) == (
        "PATCH",
        {"content": "Tips for tea: water at 80 degrees."},
    )
    expect(page.locator(".note .content")).to_have_text("Tips for tea: water at 80 degrees.")
    stored = server.client.get("/v1/notes/guide").json()
    assert (stored["path"], stored["title"], stored["created_at"][:10]) == ("wiki/brewing.md", "Brewing", "2025-12-01")


def test_untouched_fields_are_not_sent(visit: OpenPage, server: Running) -> None:
    odd = {"id": "odd", "content": "One.", "title": "Odd", "tags": ["tea, green", "#hash"], "path": " a path .md"}
    server.client.post("/v1/notes", json=odd)
    page = visit(server.url, "#/edit/odd")
    page.get_by_label("Title").fill("Even")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("button", name="Save").click()
    assert sent.value.post_data_json == {"title": "Even"}
    expect(page.get_by_role("heading", level=1)).to_have_text("Even")
    stored = server.client.get("/v1/notes/odd").json()
    assert (stored["tags"], stored["path"]) == (["tea, green", "#hash"], " a path .md")


def test_concurrent_change_is_reported(visit: OpenPage, server: Running) -> None:
    server.client.post("/v1/notes", json={"id": "shared", "content": "One.", "title": "Shared"})
    page = visit(server.url, "#/edit/shared")
    page.get_by_label("Text").fill("Mine.")
    server.client.patch("/v1/notes/shared", json={"title": "Theirs"})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("changed elsewhere meanwhile")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Theirs")
    expect(page.locator(".note .content")).to_have_text("Mine.")


def test_unsaved_draft_is_restored(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/edit/guide")
    page.get_by_label("Title").fill("Brewing, half written")
    page.get_by_label("Text").fill("Tips that are")
    page.get_by_role("link", name="Search", exact=True).click()
    expect(page.locator("#query")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Title")).to_have_value("Brewing, half written")
    expect(page.get_by_label("Text")).to_have_value("Tips that are")
    expect(page.locator(".notice")).to_contain_text("not saved")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Title")).to_have_value("Brewing")
    expect(page.locator(".notice")).to_have_count(0)


def test_note_is_deleted_after_confirmation(visit: OpenPage, server: Running) -> None:
    server.client.post("/v1/notes", json={"id": "gone", "content": "Soon gone.", "title": "Gone"})
    page = visit(server.url, "#/note/gone")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete “Gone”?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert server.client.get("/v1/notes/gone").status_code == 200
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Notes")
    expect(page.locator(".listing")).not_to_contain_text("Soon gone.")
    assert server.client.get("/v1/notes/gone").status_code == 404


def test_rejected_note_keeps_the_form(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/new", allow_failed_requests=True)
    page.get_by_label("Title").fill("A shop")
    page.get_by_label("Text").fill("Another corner.")
    page.get_by_label("Tags").fill("one, two")
    page.locator("summary").click()
    page.get_by_label("Importance").fill("0.25")
    page.get_by_label("Expires").fill("some day")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".problem")).to_have_count(1)
    expect(page.locator(".problem p")).to_contain_text("expires_at")
    page.get_by_label("Expires").fill("")
    page.get_by_label("Path").fill("wiki/shop.md")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".problem p")).to_contain_text("There is already a note at wiki/shop.md.")
    assert server.client.get("/v1/notes/shop").json()["title"] == "The corner shop"
    message = page.locator(".problem p").inner_text()
    assert message.strip()
    assert "\n" not in message
    for label, value in {
        "Title": "A shop",
        "Text": "Another corner.",
        "Tags": "one, two",
        "Importance": "0.25",
        "Path": "wiki/shop.md",
    }.items():
        expect(page.get_by_label(label, exact=True)).to_have_value(value)
    page.get_by_label("Path").fill("wiki/other-shop.md")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A shop")
    assert server.client.get("/v1/notes", params={"path_prefix": "wiki/other"}).json()["notes"][0]["importance"] == 0.25


def test_note_without_text_is_not_sent(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/new")
    page.get_by_label("Title").fill("Empty")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text")).to_be_focused()
    expect(page).to_have_url(re.compile("#/new$"))


def test_secret_is_rejected(visit: OpenPage, tmp_path: Path) -> None:
    secret = "AKIA" + "Z3QF7LMN2RTW5XYC"
    with recollect.open(tmp_path / "memory.db", embedder=None, secrets="refuse") as memory, running(memory) as server:
        page = visit(server.url, "#/new", allow_failed_requests=True)
        page.get_by_label("Text").fill(f"The key is {secret}, keep it.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".problem p")).to_contain_text("secret")
        assert secret not in page.locator(".problem").inner_text()
        expect(page.get_by_label("Text")).to_have_value(f"The key is {secret}, keep it.")
        assert server.client.get("/v1/notes").json()["notes"] == []
        page.close()
