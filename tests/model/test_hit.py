from __future__ import annotations

from datetime import UTC, datetime

from recollect import Candidate, Hit


def test_a_hit_shows_its_note() -> None:
    made = datetime(2026, 4, 18, tzinfo=UTC)
    candidate = Candidate("n", "p.md", "T", "s", "c", score=0.5, created_at=made, importance=0.9, snippet="c")
    hit = Hit(1, candidate)
    assert (hit.session, hit.position, hit.confidence, hit.rerank_score, hit.superseded_by) == (
        "",
        None,
        None,
        None,
        (),
    )
    assert (hit.id, hit.path, hit.title, hit.summary, hit.content) == ("n", "p.md", "T", "s", "c")
    assert (hit.snippet, hit.created_at, hit.importance, hit.score, hit.relevance) == ("c", made, 0.9, 0.5, None)
    assert (hit.tags, hit.metadata) == ((), {})
    assert hit.to_dict()["created_at"] == "2026-04-18T00:00:00Z"
    assert Hit(1, Candidate("n")).to_dict()["created_at"] is None


def test_a_hit_has_the_tags_and_metadata_of_its_note() -> None:
    hit = Hit(1, Candidate("n", tags=("drinks", "tea"), metadata={"author": "Ines", "pages": [1, 2]}))
    assert hit.tags == ("drinks", "tea")
    assert hit.metadata == {"author": "Ines", "pages": [1, 2]}
    hit.metadata["author"] = "somebody else"  # a copy
    assert hit.metadata["author"] == "Ines"
    told = hit.to_dict()
    assert (told["tags"], told["metadata"]) == (["drinks", "tea"], {"author": "Ines", "pages": [1, 2]})
