"""Scripts in notes do not run in any view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.server.http.running import Running, running
from tests.server.web.browsing import search
from tests.server.web.conftest import OpenPage
from tests.server.web.notes import sample_memory

ATTACKS = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 2'>",
    "</style></title></textarea><svg onload='window.ran = 3'>",
    '<a href="javascript:window.ran = 4">tea</a>',
    "javascript:window.ran=5",
    "\"'><iframe srcdoc='<script>parent.ran=6</script>'>",
    "{{constructor.constructor('window.ran=7')()}} ${window.ran=8} %3Cscript%3E",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    hostile = [
        {
            "id": f"bad{number}",
            "title": attack,
            "content": f"tea {attack}",
            "summary": attack,
            "path": f"bad/{number}/{attack}",
            "tags": [attack.replace(",", ";")],
            "session": attack,
            "position": number,
            "links": [(attack, "bad0"), ("related", "guide")],
            "metadata": {attack: attack},
        }
        for number, attack in enumerate(ATTACKS)
    ]
    named = {"id": "</script><img src=x onerror='window.ran = 9'>", "content": "tea in a name"}
    with (
        sample_memory(tmp_path_factory.mktemp("memory") / "memory.db", *hostile, named) as memory,
        running(memory) as created,
    ):
        yield created


def assert_nothing_ran(page: Page) -> None:
    page.evaluate("new Promise(done => setTimeout(done))")
    assert page.evaluate("window.ran") is None
    foreign = "main script, main style, main iframe, main img, main object, [onerror], [onload], a[href^='javascript']"
    expect(page.locator(foreign)).to_have_count(0)


def test_script_in_hits_does_not_run(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    hits = search(page, "tea")["hits"]
    assert sum(hit["id"].startswith("bad") for hit in hits) >= 5
    page.locator(".explain").evaluate_all("all => all.forEach(button => button.click())")
    texts = page.locator(".hit h2").all_text_contents()
    assert set(ATTACKS) & set(texts)
    assert_nothing_ran(page)
    for attack in ATTACKS:
        search(page, attack)
        assert_nothing_ran(page)


def test_script_in_the_comparison_does_not_run(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/compare?q=tea")
    page.locator(".column [data-note^=bad]").first.click()
    expect(page.locator(".reasons h2")).to_be_visible()
    assert_nothing_ran(page)


def test_script_in_the_list_does_not_run(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/notes")
    expect(page.locator(".listing li").first).to_be_visible()
    assert set(ATTACKS) <= set(page.locator(".listing a").all_text_contents())
    assert_nothing_ran(page)


def test_script_in_note_and_editor_does_not_run(visit: OpenPage, server: Running) -> None:
    page = visit(server.url)
    for number, attack in enumerate(ATTACKS):
        page.goto(f"{server.url}/#/note/bad{number}")
        expect(page.get_by_role("heading", level=1)).to_have_text(attack)
        expect(page.locator(".note .content")).to_have_text(f"tea {attack}")
        expect(page.locator(".note .summary")).to_have_text(attack)
        expect(page.locator(".properties")).to_contain_text(f"{attack} → bad0")
        assert page.locator(".graph a").count() > 1
        assert_nothing_ran(page)
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text(attack)
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Edit").click()
        # exact: before the form is drawn, names of notes in the graph contain "text", too
        expect(page.get_by_label("Text", exact=True)).to_have_value(f"tea {attack}")
        expect(page.get_by_label("Title")).to_have_value(attack)
        assert_nothing_ran(page)


def test_script_in_an_id_does_not_run(visit: OpenPage, server: Running) -> None:
    page = visit(server.url, "#/search")
    search(page, "name")
    page.locator(".hit", has_text="tea in a name").get_by_role("link").click()
    expect(page.locator(".note .content")).to_have_text("tea in a name")
    assert_nothing_ran(page)


@pytest.mark.parametrize(
    ("attempt", "directive"),
    [
        (
            "const made = document.createElement('script'); made.append('window.ran = 1'); document.body.append(made)",
            "require-trusted-types-for",
        ),
        ("document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()", "require-trusted-types-for"),
        (
            "const made = document.createElement('a'); made.href = 'javascript:window.ran = 1'; "
            "document.body.append(made); made.click()",
            "script-src-elem",
        ),
        ("document.body.innerHTML = '<img src=x onerror=\"window.ran = 1\">'", "require-trusted-types-for"),
        ("setTimeout('window.ran = 1')", "require-trusted-types-for"),
        ("window.trustedTypes.createPolicy('mine', { createHTML: text => text })", "trusted-types"),
        ("fetch('https://elsewhere.example/').then(() => (window.ran = 1), () => {})", "connect-src"),
    ],
    ids=["script", "handler", "link", "markup", "later", "policy", "request"],
)
def test_content_security_policy_blocks_scripts(visit: OpenPage, server: Running, attempt: str, directive: str) -> None:
    page = visit(server.url, allow_blocked=True)
    expect(page.locator("#query")).to_be_focused()
    stopped = page.evaluate(
        """() => new Promise(done => {
          document.addEventListener("securitypolicyviolation", event => done(event.effectiveDirective));
          setTimeout(() => done("nothing was stopped"), 10_000);
          try { ATTEMPT } catch { /* the event says what it was */ }
        })""".replace("ATTEMPT", attempt)
    )
    assert stopped == directive
    assert page.evaluate("window.ran") is None
