"""A missing program or model skips a test, or fails it in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import executable
from tests.embedders.test_registry import without
from tests.requirements import require_embedder, require_program


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("RECOLLECT_SKIP_NOTHING", raising=False)


def test_missing_program_skips() -> None:
    with pytest.raises(pytest.skip.Exception, match="none of chromium, chromium-browser, google-chrome is on the PATH"):
        executable()
    with pytest.raises(pytest.skip.Exception, match="curl is not on the PATH; on Debian: apt-get install curl"):
        require_program("curl", package="curl")


@pytest.mark.parametrize("variable", ["CI", "RECOLLECT_SKIP_NOTHING"])
def test_missing_program_fails_in_ci(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        executable()


def test_installed_program_is_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "curl").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert require_program("wget", "curl", package="curl") == str(tmp_path / "curl")


def test_missing_model_skips_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "project_brain")
    with pytest.raises(pytest.skip.Exception, match="this test needs an embedder: arctic-embed-s is not installed: "):
        require_embedder()
    monkeypatch.setenv("RECOLLECT_SKIP_NOTHING", "1")
    with pytest.raises(pytest.fail.Exception, match="arctic-embed-s is not installed"):
        require_embedder()
