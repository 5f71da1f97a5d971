"""Take the screenshots in ``docs/images``: the web UI with the sample memory, in a real browser.

The browser's clock is fixed, so that dates and scores are the same in each run. Without Pillow, the files are larger.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page
from tests.browser import launched
from tests.server.http.running import running

import recollect
from recollect.sample import sample_notes

__all__ = ["NAMES", "main"]

IMAGES = Path(__file__).parent.parent / "docs" / "images"
NOW = "2026-10-31T12:00:00Z"
"""The time of the browser's clock: the end of the year of the sample notes."""
_FIXED_CLOCK = f"""
  const moment = Date.parse("{NOW}"), Real = Date;
  globalThis.Date = class extends Real {{
    constructor(...values) {{ super(...(values.length ? values : [moment])); }}
    static now() {{ return moment; }}
  }};
"""


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A view of the web UI, the size of the window, and an action before the screenshot is taken."""

    view: str
    ready: str
    """The selector of an element that is present when the view is rendered."""
    action: Callable[[Page], object] = lambda page: page
    clip: tuple[str, ...] = ()
    """Selectors of the elements to show; by default the whole window."""
    width: int = 1280
    height: int = 900
    options: dict[str, Any] = field(default_factory=dict)
    """Further options of ``Browser.new_page``."""


def _url(view: str, query: str, **more: str) -> str:
    return f"#/{view}?" + "&".join(f"{name}={quote(value)}" for name, value in {"q": query, **more}.items())


def _explain(number: int) -> Callable[[Page], object]:
    return lambda page: page.locator(".explain").nth(number).click()


def _select(text: str) -> Callable[[Page], object]:
    return lambda page: page.locator(".column").last.locator("button", has_text=text).click()


_MORNING = "what does Maren drink in the morning?"
_CHECKSUM = "why did the checksum fail on B-17 and B-22?"
_MISSPELT = "Kanazwa"

SCREENSHOTS = {
    "search": Screenshot(_url("search", _MORNING), ".hit", _explain(1), height=1000),
    "waterfall": Screenshot(_url("search", _MORNING), ".hit", _explain(1), (".hit:nth-child(2)",)),
    "legs": Screenshot(_url("search", _MORNING), ".hit", clip=(".legs",)),
    "ladder": Screenshot(_url("search", _MISSPELT), ".ladder", clip=(".details > .wide", ".ladder"), height=1800),
    "compare": Screenshot(
        _url("compare", _MORNING, presets="default,trovella,memini"),
        ".column",
        _select("Green tea now"),
        height=1100,
    ),
    "note": Screenshot(
        "#/note/" + quote("memory/projects/lighthouse/err-4021-root-cause.md", safe=""),
        ".graph",
        clip=(".note", ".related"),
    ),
    "dark": Screenshot(_url("search", _CHECKSUM), ".hit", _explain(1), height=860, options={"color_scheme": "dark"}),
    "phone": Screenshot(
        _url("search", "Mum's phone number"),
        ".hit",
        _explain(0),
        width=390,
        height=844,
        options={"device_scale_factor": 1.5},
    ),
}
NAMES = tuple(SCREENSHOTS)


def take(browser: Browser, url: str, screenshot: Screenshot, path: Path) -> None:
    """Take one screenshot of the web UI at ``url``."""
    page = browser.new_page(viewport={"width": screenshot.width, "height": screenshot.height}, **screenshot.options)
    page.add_init_script(_FIXED_CLOCK)
    for _ in range(2):  # the first visit fills caches
        page.goto(f"{url}/")
        page.goto(f"{url}/{screenshot.view}")
        page.locator(screenshot.ready).first.wait_for()
    screenshot.action(page)
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    options: dict[str, Any] = {"path": path, "animations": "disabled"}
    if screenshot.clip:
        options["clip"], options["full_page"] = _bounding_box(page, screenshot.clip), True
    page.screenshot(**options)
    page.context.close()
    _compress(path)


def _bounding_box(page: Page, selectors: Sequence[str]) -> dict[str, float]:
    """Return the box around some elements, with a margin of 12 pixels."""
    boxes = [box for selector in selectors if (box := page.locator(selector).first.bounding_box())]
    left, top = min(box["x"] for box in boxes) - 12, min(box["y"] for box in boxes) - 12
    right = max(box["x"] + box["width"] for box in boxes) + 12
    bottom = max(box["y"] + box["height"] for box in boxes) + 12
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _compress(path: Path) -> None:
    """Reduce an image file to 256 colours, if Pillow is installed."""
    try:
        from PIL import Image  # noqa: PLC0415 (optional)
    except ImportError:
        return
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the screenshots that the arguments name, by default all; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description="Take the screenshots of the web UI.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; by default all")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="FOLDER", help="the output folder")
    parser.add_argument("--db", type=Path, metavar="PATH", help="the file of the sample memory, which is kept")
    parser.add_argument("--embedder", default="auto", help="default: the best that is installed")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no screenshot {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        path = options.db or Path(stack.enter_context(TemporaryDirectory()), "sample.db")
        embedder = None if options.embedder == "none" else options.embedder
        memory = stack.enter_context(recollect.open(path, embedder=embedder))
        if not memory.stats().store.notes:
            memory.add_many(list(sample_notes()))
        server = stack.enter_context(running(memory))
        browser = stack.enter_context(launched())
        for name in options.names or NAMES:
            take(browser, server.url, SCREENSHOTS[name], options.out / f"{name}.png")
            print(f"{name}.png", (options.out / f"{name}.png").stat().st_size // 1024, "kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
