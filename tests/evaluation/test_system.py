from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import System
from recollect.retrieval import presets


def test_a_preset_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[fusion]\nk = 7\n")
    system = System(path, "bm25")
    path.unlink()
    assert (system.name, system.rules.fusion.k) == ("mine bm25", 7)


def test_the_digest_changes_with_the_settings_and_not_with_the_name() -> None:
    default = presets()["default"]
    assert System(default).digest() == System(replace(default, name="other", about="the same"), name="x").digest()
    others = [System("memini"), System("default", "bm25"), System(replace(default, min_confidence=0.1))]
    assert len({system.digest() for system in [System(default), *others]}) == 4


def test_what_is_no_system() -> None:
    with pytest.raises(ArgumentError, match="mode: must be one of auto, hybrid, bm25, semantic"):
        System("default", "fast")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="preset: must be one of default"):
        System("best")
    with pytest.raises(ArgumentError, match="name: must be one line"):
        System("default", name="two\nlines")
