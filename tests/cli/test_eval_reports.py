from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.browser import Visit, launched
from tests.cli.conftest import Run, error_of
from tests.evaluation.samples import KITCHEN

COMMAND = ("eval", str(KITCHEN), "--preset", "default", "--preset", "memini", "--mode", "bm25", "--cache", "cache")


def test_eval_writes_reports(run: Run) -> None:
    result = run(*COMMAND, "--report", "kitchen.html", "--report", "kitchen.md")
    assert result.exit_code == 0
    assert result.stderr.endswith("report: kitchen.html\nreport: kitchen.md\n")
    assert result.stdout.startswith("kitchen  6 questions")
    page, text = Path("kitchen.html").read_text(encoding="utf-8"), Path("kitchen.md").read_text(encoding="utf-8")
    today = datetime.now(tz=UTC).astimezone().date().isoformat()
    assert page.startswith("<!doctype html>")
    assert today in page
    assert text.startswith(f"# kitchen\n\n6 questions, 12 notes in 1 collection, embedder none, {today}.\n")
    for stratum in ("exact", "multi-hop", "paraphrase"):
        assert f"{stratum} (" in page
        assert f"### {stratum} (" in text


def test_eval_report_has_the_differences_of_the_terminal(run: Run) -> None:
    result = run(*COMMAND, "--report", "kitchen.md")
    shown = [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines() if " to " in line]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in Path("kitchen.md").read_text(encoding="utf-8").splitlines()
        if " to " in line and line.startswith("| ")
    ]
    assert len(shown) == len(rows) == 8
    for line, (measure, _, difference, interval, _, p, verdict) in zip(shown, rows, strict=True):
        assert line[-5:] == [measure, difference, interval, p, verdict.partition(" ")[2]]


def test_eval_report_opens_in_a_browser(run: Run, tmp_path: Path) -> None:
    assert run(*COMMAND, "--report", "kitchen.html", "-q").stderr == ""
    with launched() as browser:
        visit = Visit(browser, tmp_path / "kitchen.html")
        assert visit.messages == []
        assert visit.page.get_by_role("heading", level=1).inner_text() == "kitchen"
        assert visit.page.get_by_role("img").count() == 8 + 2  # measures and reliability


@pytest.mark.parametrize("name", ["kitchen.pdf", "kitchen"])
def test_eval_rejects_unknown_report_formats_first(run: Run, name: str) -> None:
    result = run(*COMMAND, "--report", name)
    assert error_of(result, 2) == f"report: must end in .html or .md, got '{name}'"
    assert not Path("cache").exists()


def test_eval_report_in_a_missing_folder(run: Run) -> None:
    result = run(*COMMAND, "--report", "nowhere/kitchen.md")
    assert error_of(result, 2) == "report: must be in an existing folder, got 'nowhere/kitchen.md'"
    assert not Path("cache").exists()
