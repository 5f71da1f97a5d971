"""HTML reports in Chromium: in light and dark mode, on a desktop and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from recollect.evaluation.report import build_report, write_report
from tests.browser import Visit, launched
from tests.evaluation.outcomes import realistic_outcomes

_CONTRAST = """() => {
  const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const paper = parts(getComputedStyle(document.body).backgroundColor);
  const over = rect => {
    const style = getComputedStyle(rect), share = Number(style.fillOpacity);
    return style.fill === 'none' ? paper : parts(style.fill).map((c, i) => c * share + paper[i] * (1 - share));
  };
  const least = [];
  for (const element of document.querySelectorAll('p, li, td, th, dt, dd, h1, h2, h3, summary, span, code')) {
    let box = element;
    while (getComputedStyle(box).backgroundColor === 'rgba(0, 0, 0, 0)') box = box.parentElement;
    least.push(ratio(parts(getComputedStyle(element).color), parts(getComputedStyle(box).backgroundColor)));
  }
  for (const element of document.querySelectorAll('svg text')) {
    const cell = element.parentNode.querySelector(':scope > rect:not(.bar)');
    least.push(ratio(parts(getComputedStyle(element).fill), cell ? over(cell) : paper));
  }
  return Math.min(...least);
}"""
"""Minimum contrast of text by WCAG."""

_BOXES = """() => [...document.querySelectorAll('svg')].map(svg => {
  const frame = svg.getBoundingClientRect();
  const outside = [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
  });
  return [frame.width, frame.height, outside.map(text => text.textContent)];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as result:
        yield result


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcomes, data = realistic_outcomes(150)
    written = tmp_path_factory.mktemp("report") / "report.html"
    write_report(written, build_report(outcomes, data, date="1 March 2026"))
    return written


@pytest.mark.parametrize(
    ("width", "options"),
    [
        (1200, {"color_scheme": "light"}),
        (1200, {"color_scheme": "dark"}),
        (360, {"is_mobile": True, "has_touch": True}),
    ],
    ids=["light", "dark", "phone"],
)
def test_page_renders(browser: Browser, path: Path, width: int, options: dict[str, Any]) -> None:
    visit = Visit(browser, path, width=width, **options)
    page = visit.page
    assert visit.messages == []
    assert visit.requested_urls == [path.as_uri()]
    assert page.title() == "locomo-like, turns: evaluation"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate(_BOXES)
    assert len(boxes) == 8
    assert all(wide > 200 and high > 100 for wide, high, _ in boxes)
    assert [outside for *_, outside in boxes if outside] == []
    assert page.evaluate(_CONTRAST) >= 4.5
    page.close()


def test_dark_mode(browser: Browser, path: Path) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        page = Visit(browser, path, color_scheme=scheme).page
        ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        seen[scheme] = [sum(map(int, re.findall(r"\d+", colour))) for colour in (paper, ink)]
        page.close()
    assert seen["light"][0] > 700 > 200 > seen["light"][1]
    assert seen["dark"][0] < 200 < 600 < seen["dark"][1]


def test_questions_unfold(browser: Browser, path: Path) -> None:
    page = Visit(browser, path).page
    folded = page.locator("details").filter(has_text="won").first
    table = folded.locator("table")
    assert not table.is_visible()
    folded.locator("summary").click()
    assert table.is_visible()
    assert table.locator("tbody tr").count() > 5
    page.close()


def test_accessible_names(browser: Browser, path: Path) -> None:
    page = Visit(browser, path).page
    pictures = page.get_by_role("img")
    assert pictures.count() == 8
    assert all(pictures.nth(index).get_attribute("aria-label") for index in range(8))
    assert page.get_by_role("heading", level=1).inner_text() == "locomo-like, turns"
    assert page.get_by_role("region", name="Measures", exact=True).count() == 1
    assert page.get_by_role("rowheader", name="ndcg@10").count() == 1
    page.close()


def test_print_layout(browser: Browser, path: Path) -> None:
    page = Visit(browser, path, width=794, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    page.close()
