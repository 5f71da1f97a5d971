"""A real browser for tests: the installed Chromium, headless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from tests.requirements import require_program

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)


def executable() -> str:
    """Return the path of the browser."""
    return require_program(*_NAMES, package="chromium")


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser with an empty profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(_FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page with its console messages and the URLs that it requested."""

    def __init__(
        self, browser: Browser, target: Path | str, *, width: int = 1200, height: int = 900, **options: Any
    ) -> None:
        """Open a file or a URL in a window of this size."""
        self.messages: list[str] = []
        self.requested_urls: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requested_urls.append(request.url))
        self.page.on("dialog", self._on_dialog)
        self.page.goto(target.as_uri() if isinstance(target, Path) else target)

    def _on_dialog(self, dialog: Dialog) -> None:
        """Record a dialog as a message; no page should open one."""
        self.messages.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()
