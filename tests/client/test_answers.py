"""What a server answers, as the objects of a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.client.answers import hit_of, neighbour_of, note_of, report_of, result_of
from recollect.ingest import IngestReport, Problem


def test_hits_keep_their_whole_record(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea.md", importance=0.9, session="s", position=1)
        memory.update("n1", tags=["drinks"], metadata={"author": "Ines", "pages": [1, None]})
        memory.add("Green tea it was.", id="n2", links=[("supersedes", "n3")])
        memory.add("Coffee, no green tea.", id="n3")
        result = memory.search("green tea", preset="memini")
    assert len(result) == 3
    for hit in result:
        told, again = hit.to_dict(), hit_of(hit.to_dict()).to_dict()
        assert again.pop("relevance") == pytest.approx(told.pop("relevance"))
        assert again == told
        assert hit_of(hit.to_dict()).candidate.contributions == hit.candidate.contributions
        assert hit_of(hit.to_dict()).candidate.steps == hit.candidate.steps


def test_a_hit_that_was_never_fused() -> None:
    told: dict[str, Any] = {"rank": 1, "id": "n1", "relevance": None}
    assert hit_of(told).relevance is None
    assert hit_of({**told, "relevance": 0.0}).relevance == 0.0
    assert hit_of({**told, "relevance": 0.75}).relevance == 0.75  # taken over from a note that it supersedes


def test_a_result_is_a_sequence_with_what_else_was_told() -> None:
    told = {
        "query": "tea",
        "hits": [{"rank": 1, "id": "n1"}, {"rank": 2, "id": "n2"}],
        "warnings": ["words alone"],
        "trace": {"mode": "bm25"},
        "explanation": "drawn",
        "answer_threshold": 0.5,
    }
    result = result_of(told)
    assert [hit.id for hit in result] == ["n1", "n2"]
    assert (len(result), result[1].id, [hit.id for hit in result[:1]]) == (2, "n2", ["n1"])
    assert (result.warnings, result.trace, result.explanation) == (("words alone",), {"mode": "bm25"}, "drawn")
    assert (result.answer_threshold, result.has_answer) == (0.5, False)
    sure = result_of({**told, "hits": [{"rank": 1, "id": "n1", "confidence": 0.5}]})
    assert (sure.best_confidence, sure.has_answer) == (0.5, True)


def test_representations_are_short_and_hold_no_texts() -> None:
    hits = [{"rank": n, "id": f"n{n}", "path": f"tea/{n}.md", "content": "long " * 1000, "score": 0.25} for n in (1, 2)]
    hits += [{"rank": n, "id": f"n{n}", "content": "long " * 1000, "confidence": 0.98765} for n in (3, 4)]
    result = result_of({"query": "tea", "hits": hits, "answer_threshold": 0.5})
    names = "'tea/1.md', 'tea/2.md', 'n3', …"
    assert repr(result) == f"<RemoteResult 'tea': 4 hits, has_answer=True, [{names}]>"
    assert repr(result[0]) == "<Hit 1 'tea/1.md' score=0.25 confidence=None>"
    assert repr(result[3]) == "<Hit 4 'n4' score=0 confidence=0.988>"


def test_notes_neighbours_and_reports() -> None:
    note = recollect.Note(content="tea", id="n1", created_at="2026-04-18", links=["n2"])  # type: ignore[arg-type]
    assert note_of({**note.to_dict(), "unknown": 1}) == note
    beside = neighbour_of({"kind": "next", "direction": "out", "note": note.to_dict()})
    assert (beside.note, beside.kind, beside.direction) == (note, "next", "out")
    report = IngestReport(files_read=1, notes_added=2, problems=(Problem("a.md", 3, "odd", skipped=False),))
    assert report_of(report.to_dict()) == report
