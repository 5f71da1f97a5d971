"""A real browser for tests of pages: Chromium as it is installed, without a window and without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def executable() -> str:
    """Return the browser's path; where there is none the test is skipped, or fails where one is required."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        message = f"no browser: none of {', '.join(_NAMES)} is on the PATH; on Debian: apt-get install chromium"
        if os.environ.get("CI") or os.environ.get("RECOLLECT_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """Give a browser with an empty profile of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(_FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page as it is opened, with what it said on the console and what it asked of the network."""

    def __init__(self, browser: Browser, path: Path, *, width: int = 1200, **options: Any) -> None:
        """Open the file at ``path`` in a window of this width."""
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
