from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.code_metrics import count_lines, main

SOURCE = '''"""Docstring
of two lines."""

# a comment
TEXT = """not a docstring"""


def f() -> None:
    """Docstring."""
'''


def test_count_lines_separates_docstrings_blanks_comments_and_code(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    assert count_lines(path) == {"files": 1, "lines": 9, "docstrings": 3, "blanks": 3, "comments": 1, "code": 2}


def test_code_metrics_counts_the_files_of_a_search_and_an_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["total"]["files"] == sum(counts["files"] for counts in result["folders"].values())
    assert "memory.py" in result["files_of_add"]
    assert "memory.py" in result["files_of_search"]
