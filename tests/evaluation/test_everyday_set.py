"""The committed evaluation set in benchmarks/datasets/everyday has the properties that its README lists."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.evaluation import load_dataset
from recollect.query import parse_question_date
from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS, LADDER_STOPWORDS

FOLDER = Path(__file__).parents[2] / "benchmarks" / "datasets" / "everyday"
STOPWORDS = ENGLISH_STOPWORDS | DUTCH_STOPWORDS | LADDER_STOPWORDS
SUFFIXES = (
    *("ingly", "edly", "ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ness"),
    *("ers", "ed", "er", "es", "ly", "al", "s", "e", "y"),
)
SUB_STRATA = {
    "exact": ("exact-identifier", "exact-number", "exact-name", "exact-version", "exact-path"),
    "unanswerable": ("unanswerable-near-miss", "unanswerable-world", "unanswerable-technical"),
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def judgements() -> dict[str, set[str]]:
    relevant: dict[str, set[str]] = {}
    for line in (FOLDER / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, note, grade = line.split("\t")
        assert grade == "1"
        assert note not in relevant.setdefault(query, set())
        relevant[query].add(note)
    return relevant


NOTES = {row["_id"]: row for row in rows("corpus.jsonl")}
QUERIES = {row["_id"]: row for row in rows("queries.jsonl")}
RELEVANT = judgements()
ANSWERABLE = [query for query in QUERIES if query in RELEVANT]


def strata(query: str) -> list[str]:
    return list(QUERIES[query]["metadata"]["strata"])


def in_stratum(stratum: str) -> list[str]:
    return [query for query in QUERIES if stratum in strata(query)]


def searchable_text(note: str) -> str:
    """Return the searchable text of a note: title, content, tags and path, case-folded."""
    row = NOTES[note]
    metadata = row["metadata"]
    return " ".join([row["title"], row["text"], *metadata.get("tags", ()), metadata.get("path", "")]).casefold()


def content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 2 and word not in STOPWORDS}


def stem(word: str) -> str:
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word.removesuffix(suffix)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def have_common_stem(first: str, second: str) -> bool:
    """Return whether two words have the same stem, or the same first five letters (strict on purpose)."""
    return stem(first) == stem(second) or (min(len(first), len(second)) >= 5 and first[:5] == second[:5])


NOTE_WORDS = {note: content_words(searchable_text(note)) for note in NOTES}


def common_words(query: str) -> set[tuple[str, str]]:
    """Return the pairs of content words of query and relevant notes that have a common stem."""
    return {
        (query_word, note_word)
        for query_word in content_words(QUERIES[query]["text"])
        for note in RELEVANT[query]
        for note_word in NOTE_WORDS[note]
        if have_common_stem(query_word, note_word)
    }


def notes_with(token: str) -> set[str]:
    """Return the notes that contain a token as a whole word."""
    pattern = re.compile(rf"(?<!\w){re.escape(token.casefold())}(?!\w)")
    return {note for note in NOTES if pattern.search(searchable_text(note))}


def created(note: str) -> datetime:
    return datetime.fromisoformat(NOTES[note]["metadata"]["created_at"])


def superseded_notes(note: str) -> set[str]:
    links = NOTES[note]["metadata"].get("links", ())
    return {link["target"] for link in links if link["kind"] == "supersedes"}


def test_set_size() -> None:
    assert len(NOTES) >= 160
    assert len(QUERIES) >= 320
    assert len(ANSWERABLE) >= 220
    assert len(QUERIES) - len(ANSWERABLE) >= 100


def test_distinct_ids_and_queries() -> None:
    assert len(rows("corpus.jsonl")) == len(NOTES)
    assert len(rows("queries.jsonl")) == len(QUERIES)
    assert len({query["text"].casefold() for query in QUERIES.values()}) == len(QUERIES)
    assert len({note["text"] for note in NOTES.values()}) == len(NOTES)


def test_note_lengths() -> None:
    lengths = [len(note["text"].split()) for note in NOTES.values()]
    assert sum(300 <= length <= 800 for length in lengths) >= 12
    assert sum(length <= 20 for length in lengths) >= 30
    assert min(lengths) > 0


@pytest.mark.parametrize(
    ("stratum", "min_size"),
    [
        *((name, 25) for name in ("exact", "typo", "temporal", "paraphrase", "question", "keywords")),
        ("stale", 15),
        ("other-language", 15),
        ("unanswerable", 100),
        *((name, 5) for name in SUB_STRATA["exact"]),
        *((name, 30) for name in SUB_STRATA["unanswerable"]),
    ],
)
def test_stratum_sizes(stratum: str, min_size: int) -> None:
    assert len(in_stratum(stratum)) >= min_size


@pytest.mark.parametrize("stratum", SUB_STRATA)
def test_sub_strata(stratum: str) -> None:
    for query in in_stratum(stratum):
        assert sum(name in strata(query) for name in SUB_STRATA[stratum]) == 1, query


def test_judgements_name_existing_ids() -> None:
    assert set(RELEVANT) <= set(QUERIES)
    assert set().union(*RELEVANT.values()) <= set(NOTES)


def test_only_unanswerable_queries_lack_relevant_notes() -> None:
    assert set(in_stratum("unanswerable")) == set(QUERIES) - set(ANSWERABLE)


def test_share_of_queries_without_common_words() -> None:
    without = [query for query in ANSWERABLE if "typo" not in strata(query) and not common_words(query)]
    assert len(without) >= 0.4 * len(ANSWERABLE)


def test_paraphrases_share_no_content_word() -> None:
    assert {query: common for query in in_stratum("paraphrase") if (common := common_words(query))} == {}


def test_exact_queries_have_a_token_of_one_note() -> None:
    for query in in_stratum("exact"):
        notes_of_tokens = [notes_with(token) for token in QUERIES[query]["text"].split()]
        assert len(RELEVANT[query]) == 1, query
        assert RELEVANT[query] in notes_of_tokens, query


def test_typo_queries_have_an_unknown_word() -> None:
    known = set().union(*(re.findall(r"\w+", searchable_text(note)) for note in NOTES))
    for query in in_stratum("typo"):
        assert 1 <= len(content_words(QUERIES[query]["text"]) - known) <= 2, query


def test_stale_queries_are_answered_by_successors() -> None:
    for query in in_stratum("stale"):
        (note,) = RELEVANT[query]
        assert superseded_notes(note), query


def test_superseded_notes_exist_and_are_older() -> None:
    pairs = [(note, target) for note in NOTES for target in superseded_notes(note)]
    assert len(pairs) >= 12
    for note, target in pairs:
        assert created(target) < created(note)


def test_link_targets_exist() -> None:
    links = [link for note in NOTES.values() for link in note["metadata"].get("links", ())]
    assert {link["target"] for link in links} <= set(NOTES)
    assert {link["kind"] for link in links} == {"supersedes", "related"}


def test_note_dates() -> None:
    for note in NOTES:
        assert datetime(2025, 6, 1, tzinfo=UTC) <= created(note) < datetime(2026, 11, 1, tzinfo=UTC), note


def test_temporal_query_dates() -> None:
    for query in in_stratum("temporal"):
        asked_at = parse_question_date(QUERIES[query]["metadata"]["asked"])
        assert asked_at is not None
        assert all(created(note) < asked_at for note in RELEVANT[query]), query


def test_metadata_fields() -> None:
    fields = {"path", "tags", "session", "position", "links", "created_at"}
    assert set().union(*(note["metadata"] for note in NOTES.values())) == fields
    assert set().union(*(query["metadata"] for query in QUERIES.values())) == {"strata", "asked"}


def test_load_dataset() -> None:
    dataset = load_dataset(FOLDER)
    (collection,) = dataset.collections.values()
    assert [note.id for note in collection.notes] == list(NOTES)
    answerable = {question.id: set(question.relevant) for question in dataset.questions if question.relevant}
    assert answerable == RELEVANT
    assert not any("cannot be read" in remark or "not in the corpus" in remark for remark in dataset.remarks)


def test_readme_counts() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    counts = {name: int(count) for name, count in re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", text, flags=re.MULTILINE)}
    assert counts == Counter(name for query in QUERIES for name in strata(query))
    assert f"{len(NOTES)} notes" in text
    assert f"{len(QUERIES)} queries" in text
