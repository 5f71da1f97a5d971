"""One browser for all tests; pages must log nothing and connect to their own server only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, Page

from recollect import Memory
from tests.browser import Visit, launched
from tests.server.http.running import Running, running
from tests.server.web.notes import sample_memory

_BY_THE_BROWSER = "Failed to load resource: "
"""The message of Chromium about a failed request; a page cannot suppress it."""

_BY_THE_POLICY = ("has been blocked", "will not be executed", "violates the document's Content Security Policy")
"""The messages of Chromium about what a policy blocked."""


class OpenPage(Protocol):
    def __call__(
        self, url: str, view: str = "", *, refusals: bool = False, policed: bool = False, **options: Any
    ) -> Page: ...


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as results:
        yield results


@pytest.fixture
def visit(browser: Browser) -> Iterator[OpenPage]:
    """Open the page of a server; with ``refusals``, the server may refuse something, with ``policed`` the browser."""
    visits: list[tuple[str, tuple[str, ...], Visit]] = []

    def opened(url: str, view: str = "", *, refusals: bool = False, policed: bool = False, **options: Any) -> Page:
        created = Visit(browser, f"{url}/{view}", **options)
        created.page.set_default_timeout(15_000)
        visits.append((url, (_BY_THE_BROWSER,) * refusals + _BY_THE_POLICY * policed, created))
        return created.page

    yield opened
    for url, expected, created in visits:
        created.page.context.close()
        message = [text for text in created.messages if not any(part in text for part in expected)]
        assert message == [], message
        elsewhere = [requested for requested in created.requested_urls if not requested.startswith(f"{url}/")]
        assert elsewhere == []


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with sample_memory(tmp_path_factory.mktemp("memory") / "memory.db") as created:
        yield created


@pytest.fixture(scope="module")
def server(memory: Memory) -> Iterator[Running]:
    with running(memory) as created:
        yield created
