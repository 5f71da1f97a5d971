"""Without a browser the tests of pages are skipped, but never where one is required."""

from __future__ import annotations

import pytest

from tests.browser import executable


def test_a_missing_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RECOLLECT_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no browser: none of chromium, chromium-browser, google-chrome"):
        executable()
    monkeypatch.setenv("RECOLLECT_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        executable()
    monkeypatch.delenv("RECOLLECT_REQUIRE_BROWSER")
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        executable()
