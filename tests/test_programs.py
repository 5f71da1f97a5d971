"""Without a program that they need tests are skipped, but never where nothing may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import executable
from tests.programs import minilm, program


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RECOLLECT_SKIP_NOTHING", raising=False)


def test_a_missing_program_skips_the_test() -> None:
    with pytest.raises(pytest.skip.Exception, match="none of chromium, chromium-browser, google-chrome is on the PATH"):
        executable()
    with pytest.raises(pytest.skip.Exception, match="curl is not on the PATH; on Debian: apt-get install curl"):
        program("curl", package="curl")


@pytest.mark.parametrize("variable", ["CI", "RECOLLECT_SKIP_NOTHING"])
def test_it_fails_where_nothing_may_be_skipped(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        executable()


def test_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "curl").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("wget", "curl", package="curl") == str(tmp_path / "curl")


def test_a_missing_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.programs.minilm_unavailable_reason", lambda: "its weights are not installed")
    with pytest.raises(pytest.skip.Exception, match="this is about MiniLM: its weights are not installed"):
        minilm()
    monkeypatch.setenv("RECOLLECT_SKIP_NOTHING", "1")
    with pytest.raises(pytest.fail.Exception, match="its weights"):
        minilm()
