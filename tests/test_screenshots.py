"""The screenshots of the web UI: the script takes them all, and the docs show them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.screenshots import NAMES, main

from tests.browser import executable

ROOT = Path(__file__).parent.parent


def test_script_takes_all_screenshots() -> None:
    assert sorted(path.name for path in (ROOT / "docs" / "images").iterdir()) == sorted(f"{name}.png" for name in NAMES)


def test_docs_show_all_screenshots_with_descriptions() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md"))
    shown = {name: alt for alt, name in re.findall(r"!\[([^]]*)\]\(images/(\w+)\.png\)", texts)}
    assert sorted(shown) == sorted(NAMES)
    assert all(len(alt) > 60 for alt in shown.values())


def test_screenshots_are_small() -> None:
    assert all(path.stat().st_size < 150_000 for path in (ROOT / "docs" / "images").iterdir())


def test_take_one_screenshot(tmp_path: Path) -> None:
    executable()
    command = [sys.executable, "-m", "scripts.screenshots", "--embedder", "none", "--out", str(tmp_path), "ladder"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.iterdir()
    assert path.name == "ladder.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_unknown_screenshot(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mona-lisa"])
    assert "there is no screenshot mona-lisa; there are search," in capsys.readouterr().err
