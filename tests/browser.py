"""A real browser for tests of pages: Chromium as it is installed, without a window and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.requirements import require_program

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
    """Return the browser's path, if there is one."""
    return require_program(*_NAMES, package="chromium")


@contextmanager
def launched() -> Iterator[Browser]:
    """Give a browser with an empty profile of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(_FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page as it is opened, with what it said on the console and what it asked of the network."""

    def __init__(
        self, browser: Browser, where: Path | str, *, width: int = 1200, height: int = 900, **options: Any
    ) -> None:
        """Open a file, or an address, in a window of this size."""
        self.said: list[str] = []
        self.asked: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", self._interrupted)
        self.page.goto(where.as_uri() if isinstance(where, Path) else where)

    def _interrupted(self, dialog: Dialog) -> None:
        """Note what pops up as something that the page said; no page here has a reason to."""
        self.said.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()
