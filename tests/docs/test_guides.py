"""The commands of the guides have the output that the guides show."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.docs.session import DOCS, commands, on_a_free_port, run
from tests.requirements import require_embedder

GUIDES = ("vaults", "conversations", "choosing-an-embedder", "operating", "tuning")


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_commands(guide: str, tmp_path: Path) -> None:
    require_embedder()
    folder = tmp_path / "here"
    folder.mkdir()
    typed = commands((DOCS / f"{guide}.md").read_text(encoding="utf-8"))
    assert typed
    environment = {
        name: value for name, value in os.environ.items() if name == "RECOLLECT_CACHE" or "RECOLLECT" not in name
    }
    ours = Path(sys.executable).parent
    run(on_a_free_port(typed), folder, environment | {"PATH": f"{ours}{os.pathsep}{environment['PATH']}"}, seconds=120)
