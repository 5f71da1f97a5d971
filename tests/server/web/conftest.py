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

_FAILED_REQUEST = "Failed to load resource: "
"""The message of Chromium about a failed request; a page cannot suppress it."""

_BLOCKED = ("has been blocked", "will not be executed", "violates the document's Content Security Policy")
"""The messages of Chromium about what a policy blocked."""


class OpenPage(Protocol):
    def __call__(
        self,
        url: str,
        view: str = "",
        *,
        allow_failed_requests: bool = False,
        allow_blocked: bool = False,
        **options: Any,
    ) -> Page: ...


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser) -> Iterator[OpenPage]:
    """Return a function that opens a page of a server.

    Messages of the browser fail the test, unless the options allow failed requests or what a policy blocks.
    """
    visits: list[tuple[str, tuple[str, ...], Visit]] = []

    def open_page(
        url: str, view: str = "", *, allow_failed_requests: bool = False, allow_blocked: bool = False, **options: Any
    ) -> Page:
        created = Visit(browser, f"{url}/{view}", **options)
        created.page.set_default_timeout(15_000)
        visits.append((url, (_FAILED_REQUEST,) * allow_failed_requests + _BLOCKED * allow_blocked, created))
        return created.page

    yield open_page
    for url, expected, created in visits:
        created.page.context.close()
        unexpected = [text for text in created.messages if not any(part in text for part in expected)]
        assert unexpected == []
        other_servers = [requested for requested in created.requested_urls if not requested.startswith(f"{url}/")]
        assert other_servers == []


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with sample_memory(tmp_path_factory.mktemp("memory") / "memory.db") as created:
        yield created


@pytest.fixture(scope="module")
def server(memory: Memory) -> Iterator[Running]:
    with running(memory) as created:
        yield created
