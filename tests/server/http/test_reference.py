"""Every endpoint, parameter and field is in docs/http.md, which is as the code writes it."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from recollect import Memory
from recollect.server.http.app import create_app
from recollect.server.http.reference import described, reference

PAGE = Path(__file__).parents[3] / "docs" / "http.md"


def test_the_page_is_as_the_code_writes_it() -> None:
    stale = "docs/http.md is stale: python -m recollect.server.http.reference > docs/http.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), stale


def test_it_can_be_written_by_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recollect.server.http.reference")
    runpy.run_module("recollect.server.http.reference", run_name="__main__")
    assert capsys.readouterr().out == reference()


def test_every_endpoint_is_on_the_page(memory: Memory) -> None:
    for path, methods in create_app(memory).openapi()["paths"].items():
        for method in methods:
            assert f"\n### {method.upper()} {path}\n" in reference()


def test_everything_says_what_it_is() -> None:
    schema = described()
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert operation["description"].strip(), path
            assert operation["x-right"], path
            for parameter in operation.get("parameters", []):
                assert parameter["description"], f"{path} {parameter['name']}"
    for name, shape in schema["components"]["schemas"].items():
        assert shape["description"], name
        for field, about in shape["properties"].items():
            assert about["description"], f"{name}.{field}"


def test_links_lead_somewhere() -> None:
    headings = {
        "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")
        for title in re.findall(r"^#+ (.+)$", reference(), re.MULTILINE)
    }
    linked = set(re.findall(r"\]\(#([^)]+)\)", reference()))
    assert linked
    assert linked <= headings
