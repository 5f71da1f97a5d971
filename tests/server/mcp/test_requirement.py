"""The required versions of the SDK."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

_PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.mark.parametrize(("version", "fits"), [("2.0.0", False), ("2.2.9", False), ("2.3.0", True), ("2.4.1", True)])
def test_sdk_version_has_get_tool_input_schema(version: str, fits: bool) -> None:
    extras = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (required,) = (Requirement(item) for item in extras["server"] if Requirement(item).name == "mcp")
    assert required.specifier.contains(version) is fits
