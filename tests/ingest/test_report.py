from __future__ import annotations

from recollect.ingest import IngestReport, Problem
from recollect.ingest.report import describe_skipped


def test_problem_str_has_name_and_line() -> None:
    assert str(Problem("a.md", 3, "is bad", skipped=True)) == "a.md, line 3: is bad"
    assert str(Problem("a.md", None, "is bad", skipped=True)) == "a.md: is bad"


def test_report_to_dict() -> None:
    report = IngestReport(
        files_read=1,
        files_unchanged=2,
        files_removed=3,
        files_failed=9,
        notes_added=4,
        notes_updated=5,
        notes_unchanged=6,
        notes_removed=7,
        notes_failed=10,
        problems=(Problem("a.md", 3, "is bad", skipped=True),),
        skipped={".pdf": 8},
    )
    assert report.to_dict() == {
        "files": {"read": 1, "unchanged": 2, "removed": 3, "failed": 9},
        "notes": {"added": 4, "updated": 5, "unchanged": 6, "removed": 7, "failed": 10},
        "problems": [{"name": "a.md", "line": 3, "message": "is bad", "skipped": True}],
        "skipped": {".pdf": 8},
    }


def test_describe_skipped() -> None:
    counts = {f".{letter}": number for number, letter in enumerate("abcdefghij", 1)}
    assert describe_skipped(counts) == (
        "10 .j, 9 .i, 8 .h, 7 .g, 6 .f, 5 .e, 4 .d, 3 .c, 3 of other types; only Markdown, plain text, JSON and JSONL "
        "are read: convert the others to Markdown or text"
    )
    assert describe_skipped({}) == ""
