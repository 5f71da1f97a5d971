from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.changes import blank_row
from recollect.stores.milvus.schema import LONGEST_TEXT
from recollect.stores.milvus.words import encoded, stems_of, words_in, words_text
from recollect.stores.tokens import BREAK, stem


def test_a_stem_occurs_as_often_as_its_fields_weigh() -> None:
    row = blank_row(0)._replace(path="tea.md", title="Tea", summary="teas", tags="tea\ntea", content="Tea, tea")
    words = words_text(words_in(row))
    assert words.whole
    assert words.tokens == 8
    weights = FIELD_WEIGHTS
    assert words.text.split().count("tea") == (
        weights["path"] + weights["title"] + weights["summary"] + 2 * weights["tags"] + 2 * weights["content"]
    )
    assert words.text.startswith(" tea md . tea md . tea md . tea . ")
    assert words.text.endswith(" . tea tea ")


def test_nothing_says_nothing() -> None:
    assert words_text(words_in(blank_row(0))) == ("  ", 0, True)


def test_what_is_too_long_has_each_stem_once() -> None:
    fields: list[list[str]] = [["path"], ["title"], [], [], ["tea", "green"] * 20_000]
    words = words_text(fields)
    assert words == (" path . title . tea . green ", 40_002, False)


def test_and_of_too_many_stems_those_that_fit() -> None:
    fields: list[list[str]] = [[], [], [], [], [f"word{number}" for number in range(20_000)]]
    text, tokens, whole = words_text(fields)
    assert (tokens, whole) == (20_000, False)
    assert LONGEST_TEXT - 20 < len(text) <= LONGEST_TEXT
    kept = text.split()[::2]
    assert kept == fields[4][: len(kept)]
    assert text.startswith(" word0 . ")
    assert text.endswith(f" {kept[-1]} ")


@given(some.lists(some.text(), min_size=1, max_size=5))
def test_texts_are_read_together_as_alone(texts: list[str]) -> None:
    assert stems_of(texts) == [stems_of([text])[0] for text in texts]


def test_a_letter_that_stands_between_texts_is_a_word_in_them() -> None:
    assert stems_of([f"tea {BREAK} a{BREAK}b", "milk"]) == [
        ["tea", encoded(stem(BREAK)), encoded(stem(f"a{BREAK}b"))],
        ["milk"],
    ]


@given(some.text(min_size=1))
def test_a_stem_is_encoded_in_letters_that_mean_nothing_else(text: str) -> None:
    for found in stems_of([text])[0]:
        assert found.isascii()
        assert found.isalnum()
