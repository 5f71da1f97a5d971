"""docs/http.md is fresh and complete."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.api_reference import BEGIN, END, http_reference, http_schema, main, with_mcp_reference

from recollect import Memory
from recollect.server.http.app import create_app

PAGE = Path(__file__).parents[3] / "docs" / "http.md"


def test_http_page_is_fresh() -> None:
    stale = "docs/http.md is stale: run python -m scripts.api_reference"
    assert PAGE.read_text(encoding="utf-8") == http_reference(), stale


def test_reference_is_written_by_a_command(tmp_path: Path) -> None:
    (tmp_path / "mcp.md").write_text(f"# MCP\n{BEGIN}\nold\n{END}\nthe end\n")
    main(tmp_path)
    assert (tmp_path / "http.md").read_text(encoding="utf-8") == http_reference()
    mcp = (tmp_path / "mcp.md").read_text(encoding="utf-8")
    assert mcp == with_mcp_reference(mcp)
    assert "\nold\n" not in mcp
    assert mcp.endswith(f"{END}\nthe end\n")


def test_every_endpoint_is_documented(memory: Memory) -> None:
    app = create_app(memory)
    assert app.openapi() is app.openapi()
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            assert f"\n### {method.upper()} {path}\n" in http_reference()


def test_every_parameter_and_field_is_described() -> None:
    schema = http_schema()
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


def test_links_of_the_page_exist() -> None:
    headings = {
        "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")
        for title in re.findall(r"^#+ (.+)$", http_reference(), re.MULTILINE)
    }
    linked = set(re.findall(r"\]\(#([^)]+)\)", http_reference()))
    assert linked
    assert linked <= headings
