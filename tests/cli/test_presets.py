from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from recollect.retrieval import preset_from, presets
from tests.cli.conftest import Run, error_of


def test_presets_list(run: Run) -> None:
    result = run("presets")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{name:<14}  {preset.about}" for name, preset in presets().items()]
    assert not list(Path().iterdir())


@pytest.mark.parametrize("columns", [80, 120])
def test_presets_fit_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in ([], ["memini"]):
        output = run("presets", *arguments).stdout.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
        assert max(map(len, output.splitlines())) <= columns
        assert "…" not in output


def test_preset_shows_differences(run: Run) -> None:
    output = run("presets", "memini").stdout
    assert output.startswith("memini\nsteep reciprocal rank fusion")
    settings = {line.split("  ")[0]: line.split("  ", 1)[1].split() for line in output.splitlines()[3:] if "  " in line}
    assert settings["fusion.k"] == ["5", "default:", "60"]
    assert settings["fusion.method"] == ["rrf", "default:", "convex"]
    assert settings["fusion.weights"][:2] == ["–", "default:"]
    assert settings["ladder.on"] == ["off", "default:", "on"]
    assert "default:" not in run("presets", "default").stdout


def test_preset_from_a_file(run: Run) -> None:
    changes = "min_confidence = 0.25\nstages = []\n[rerank]\nagree_min = 0\n[ladder]\nvocabulary = false\n"
    Path("mine.toml").write_text(f"{changes}[fusion.weights]\ngraph = 0.5\n")
    output = run("presets", "mine.toml").stdout
    assert output.startswith("mine\n\ncandidate_k")
    for part in ("0.25", "graph 0.5", "none"):
        assert f"  {part}  " in output


def test_preset_toml(run: Run) -> None:
    for name, preset in presets().items():
        printed = run("presets", name, "--toml").stdout
        assert "name" not in tomllib.loads(printed)
        Path(f"{name}.toml").write_text(printed)
        assert preset_from(f"{name}.toml") == preset


def test_presets_json(run: Run) -> None:
    data = json.loads(run("presets", "--json").stdout)
    assert data == [preset.to_dict() for preset in presets().values()]
    assert json.loads(run("presets", "trovella", "--json").stdout) == data[2]


def test_presets_wrong_use(run: Run) -> None:
    assert error_of(run("presets", "--toml"), 2).startswith("--toml needs the NAME of a preset")
    assert error_of(run("presets", "best"), 2).startswith("preset: must be one of default, ")
