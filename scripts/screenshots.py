"""Takes the pictures in ``docs/images``: the page over the sample memory, as a browser shows it.

The calendar of the page stands still, so that dates and scores are the same in each run; the milliseconds are those of
the run. Without Pillow the files are larger, and otherwise the same.
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
"""When the sample's year is over."""
_STILL = f"""
  const moment = Date.parse("{NOW}"), Real = Date;
  globalThis.Date = class extends Real {{
    constructor(...given) {{ super(...(values.length ? values : [moment])); }}
    static now() {{ return moment; }}
  }};
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown, in which window, and what is done there before it is taken."""

    view: str
    there: str
    """What is there when the view is drawn."""
    act: Callable[[Page], object] = lambda page: page
    clip: tuple[str, ...] = ()
    """The elements that are pictured; by default all that the window shows."""
    width: int = 1280
    height: int = 900
    options: dict[str, Any] = field(default_factory=dict)


def _asking(view: str, query: str, **more: str) -> str:
    return f"#/{view}?" + "&".join(f"{name}={quote(value)}" for name, value in {"q": query, **more}.items())


def _explain(number: int) -> Callable[[Page], object]:
    return lambda page: page.locator(".explain").nth(number).click()


def _choose(text: str) -> Callable[[Page], object]:
    return lambda page: page.locator(".column").last.locator("button", has_text=text).click()


_MORNING = "what does Maren drink in the morning?"
_CHECKSUM = "why did the checksum fail on B-17 and B-22?"
_MISSPELT = "Kanazwa"

PICTURES = {
    "search": Picture(_asking("search", _MORNING), ".hit", _explain(1), height=1000),
    "waterfall": Picture(_asking("search", _MORNING), ".hit", _explain(1), (".hit:nth-child(2)",)),
    "legs": Picture(_asking("search", _MORNING), ".hit", clip=(".legs",)),
    "ladder": Picture(_asking("search", _MISSPELT), ".ladder", clip=(".details > .wide", ".ladder"), height=1800),
    "compare": Picture(
        _asking("compare", _MORNING, presets="default,trovella,memini"),
        ".column",
        _choose("Green tea now"),
        height=1100,
    ),
    "note": Picture(
        "#/note/" + quote("memory/projects/lighthouse/err-4021-root-cause.md", safe=""),
        ".graph",
        clip=(".note", ".related"),
    ),
    "dark": Picture(_asking("search", _CHECKSUM), ".hit", _explain(1), height=860, options={"color_scheme": "dark"}),
    "phone": Picture(
        _asking("search", "Mum's phone number"),
        ".hit",
        _explain(0),
        width=390,
        height=844,
        options={"device_scale_factor": 1.5},
    ),
}
NAMES = tuple(PICTURES)


def take(browser: Browser, url: str, picture: Picture, path: Path) -> None:
    """Take one picture of the page at ``url``."""
    page = browser.new_page(viewport={"width": picture.width, "height": picture.height}, **picture.options)
    page.add_init_script(_STILL)
    for _ in range(2):  # the first visit pays for what is read once
        page.goto(f"{url}/")
        page.goto(f"{url}/{picture.view}")
        page.locator(picture.there).first.wait_for()
    picture.act(page)
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    taken: dict[str, Any] = {"path": path, "animations": "disabled"}
    if picture.clip:
        taken["clip"], taken["full_page"] = _around(page, picture.clip), True
    page.screenshot(**taken)
    page.context.close()
    _made_small(path)


def _around(page: Page, selectors: Sequence[str]) -> dict[str, float]:
    """Return the box around some elements, with a little air."""
    boxes = [box for item in selectors if (box := page.locator(item).first.bounding_box())]
    left, top = min(box["x"] for box in boxes) - 12, min(box["y"] for box in boxes) - 12
    right = max(box["x"] + box["width"] for box in boxes) + 12
    bottom = max(box["y"] + box["height"] for box in boxes) + 12
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def _made_small(path: Path) -> None:
    """Write a picture with 256 colours, which is all that the page has, where there is what can do it."""
    try:
        from PIL import Image  # noqa: PLC0415 (done without where it is missing)
    except ImportError:
        return
    with Image.open(path) as read:
        small = read.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures that are asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description="Take the pictures of the page anew.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; by default all")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="FOLDER", help="where to put them")
    parser.add_argument("--db", type=Path, metavar="PATH", help="keep the sample memory in this file")
    parser.add_argument("--embedder", default="auto", help="by default the best that is installed")
    requested = parser.parse_args(arguments)
    if unknown := set(requested.names) - set(NAMES):
        parser.error(f"there is no picture {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    requested.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        path = requested.db or Path(stack.enter_context(TemporaryDirectory()), "sample.db")
        embedder = None if requested.embedder == "none" else requested.embedder
        memory = stack.enter_context(recollect.open(path, embedder=embedder))
        if not memory.stats().store.notes:
            memory.add_many(list(sample_notes()))
        server = stack.enter_context(running(memory))
        browser = stack.enter_context(launched())
        for name in requested.names or NAMES:
            take(browser, server.url, PICTURES[name], requested.out / f"{name}.png")
            print(f"{name}.png", (requested.out / f"{name}.png").stat().st_size // 1024, "kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
