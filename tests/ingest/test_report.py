from __future__ import annotations

from recollect.ingest import IngestReport, Problem


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
