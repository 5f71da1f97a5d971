from __future__ import annotations

import pickle

from recollect.ingest import IngestReport, Problem
from recollect.ingest.problems import UnreadableError


def test_problems_name_the_place() -> None:
    assert str(Problem("a.md", 3, "is bad", skipped=True)) == "a.md, line 3: is bad"
    assert str(Problem("a.md", None, "is bad", skipped=True)) == "a.md: is bad"


def test_an_error_can_be_pickled_and_reported() -> None:
    error = pickle.loads(pickle.dumps(UnreadableError("a.md", 3, "is bad")))  # noqa: S301 (our own bytes)
    assert str(error) == "a.md, line 3: is bad"
    assert error.problem == Problem("a.md", 3, "is bad", skipped=True)


def test_a_report_is_json() -> None:
    report = IngestReport(
        files_read=1,
        files_unchanged=2,
        files_removed=3,
        notes_added=4,
        notes_updated=5,
        notes_unchanged=6,
        notes_removed=7,
        problems=(Problem("a.md", 3, "is bad", skipped=True),),
    )
    assert report.to_dict() == {
        "files": {"read": 1, "unchanged": 2, "removed": 3},
        "notes": {"added": 4, "updated": 5, "unchanged": 6, "removed": 7},
        "problems": [{"name": "a.md", "line": 3, "message": "is bad", "skipped": True}],
    }
