from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ArgumentTypeError, Candidate
from recollect.query import jaccard, slug_text, trigram_search, trigrams
from tests.strategies import any_text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("wiki/parent/my-doc.md", "my doc"),
        ("A/B/C.MD", "c"),
        ("dir/.md", ""),
        ("a/b.md.md", "b md"),
        ("no-folder.txt", "no folder txt"),
        ("notes/日本語_2.md", "日本語 2"),
    ],
)
def test_slug_text(path: str, expected: str) -> None:
    assert slug_text(path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("a", {"$a$"}),
        ("ab cd", {"$ab", "ab$", "$cd", "cd$"}),
        ("aaaa", {"$aa", "aaa", "aa$"}),
        ("Don't", {"$do", "don", "on$", "$t$"}),
    ],
)
def test_trigrams(text: str, expected: set[str]) -> None:
    assert trigrams(text) == expected


@given(any_text, any_text)
def test_jaccard_is_symmetric(a: str, b: str) -> None:
    first, second = trigrams(a), trigrams(b)
    assert 0 <= jaccard(first, second) == jaccard(second, first) <= 1
    assert jaccard(first, first) == (1 if first else 0)


def test_jaccard_of_a_misspelling() -> None:
    assert jaccard(trigrams("photosynthasis"), trigrams("photosynthesis")) == pytest.approx(11 / 17)


def test_trigram_search_sorts_by_similarity_and_path() -> None:
    notes = [
        {"id": "long", "path": "n/alpha-beta-gamma-delta.md"},  # one word of four is below the threshold
        {"id": "b", "path": "b/kubernetes.md"},
        {"id": "a", "path": "a/kubernetes.md"},
        {"id": "x", "path": "c/kubernetes-x.md"},
        {"id": "", "path": "a/kubernetes.md"},  # ignored: the id is empty
        {"id": "a", "path": "z/kubernetes.md"},  # ignored: the id is repeated
    ]
    matches = trigram_search(notes, ["alpha", "kubernetes"], 5)
    assert [(match.id, match.path) for match in matches] == [
        ("a", "a/kubernetes.md"),
        ("b", "b/kubernetes.md"),
        ("x", "c/kubernetes-x.md"),
    ]
    assert [match.similarity for match in matches] == [1.0, 1.0, 10 / 11]
    assert [match.id for match in trigram_search(notes, ["kubernetes"], 1)] == ["a"]
    assert trigram_search(notes, ["kubernetes"], 0) == []
    assert trigram_search(notes, [], 5) == []


@given(st.lists(any_text, max_size=5), st.lists(any_text, max_size=5))
def test_trigram_search_equals_pairwise_comparison(paths: list[str], words: list[str]) -> None:
    matches = trigram_search([{"id": str(number), "path": path} for number, path in enumerate(paths)], words, 99)
    best = {
        str(number): max((jaccard(trigrams(slug_text(path)), trigrams(word)) for word in words), default=0.0)
        for number, path in enumerate(paths)
    }
    assert {match.id: match.similarity for match in matches} == {
        name: value for name, value in best.items() if value >= 0.3
    }


def test_trigram_search_ignores_notes_without_path() -> None:
    assert trigram_search([{"id": "n"}, {"id": "m", "path": None}], ["tea"], 5) == []


def test_trigram_search_accepts_candidates() -> None:
    assert trigram_search([Candidate("n", path="bosch.md")], ["bosch"], 5)[0].id == "n"


def test_trigram_search_rejects_wrong_types() -> None:
    with pytest.raises(ArgumentError, match="^limit: must not be negative, got -1"):
        trigram_search([], [], -1)
    with pytest.raises(ArgumentTypeError, match="^limit: must be a whole number, got True"):
        trigram_search([], [], True)
    with pytest.raises(ArgumentTypeError, match="^tokens: must be a list, got 'tea'"):
        trigram_search([], "tea", 5)
    with pytest.raises(ArgumentTypeError, match=r"^tokens\[0\]: must be a string, got 5"):
        trigram_search([], [5], 5)  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="^chunks: must be a list, got None"):
        trigram_search(None, [], 5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"^chunks\[0\].path: must be a string, got 5"):
        trigram_search([{"id": "a", "path": 5}], ["tea"], 5)
    with pytest.raises(ArgumentTypeError, match=r"^chunks\[0\].id: must be a string, got None"):
        trigram_search([object()], ["tea"], 5)
    with pytest.raises(ArgumentTypeError, match="^b: must be a set of trigrams, got list"):
        jaccard(set(), ["a"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^path: must be a string"):
        slug_text(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^text: must be a string"):
        trigrams(None)  # type: ignore[arg-type]
