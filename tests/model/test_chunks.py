from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import embedding_chunks, embedding_text
from recollect.model.chunks import CHUNK_CHARS, MAX_CHUNKS, MAX_HEADING_CHARS, MAX_UNSPLIT_CHARS
from tests.strategies import any_text

SENTENCE = "Green tea, mostly sencha."


def test_embedding_text_has_heading() -> None:
    text = embedding_text("Tea", "Green, early", "Prefers sencha.")
    assert (text, text.heading) == ("Tea\nGreen, early\nPrefers sencha.", "Tea")
    assert embedding_text("", "", "Prefers sencha.").heading == ""
    assert embedding_text("T" * MAX_HEADING_CHARS, "", "").heading == "T" * MAX_HEADING_CHARS
    assert embedding_text("T" * (MAX_HEADING_CHARS + 1), "", "").heading == ""


@pytest.mark.parametrize("text", ["", " ", "tea", "t" * MAX_UNSPLIT_CHARS, " \n" * (MAX_UNSPLIT_CHARS // 2)])
def test_short_text_is_one_chunk(text: str) -> None:
    assert embedding_chunks(text) == [text]
    (chunk,) = embedding_chunks(embedding_text("", "", text))
    assert (chunk, type(chunk)) == (text, str)


def test_chunks_end_at_sentences() -> None:
    # A sentence has 25 characters and a space: eleven fit into 300 characters, and no twelfth.
    chunks = embedding_chunks(f"{SENTENCE} " * 40)
    assert chunks == [" ".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_chunks_keep_line_breaks() -> None:
    chunks = embedding_chunks("\n\n".join([SENTENCE] * 40))
    assert chunks == ["\n".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_short_lines_are_not_split() -> None:
    line = "One. Two! Three? Four… " + "x" * 200  # 223 characters: two do not fit together
    assert embedding_chunks("\n".join([line] * 5)) == [line] * 5


def test_each_chunk_begins_with_heading() -> None:
    chunks = embedding_chunks(embedding_text("Tea", "", "\n".join([SENTENCE] * 40)))
    assert [chunk.split("\n")[0] for chunk in chunks] == ["Tea"] * 4
    assert [chunk.count(SENTENCE) for chunk in chunks] == [11, 11, 11, 7]


def test_long_heading_is_not_repeated() -> None:
    chunks = embedding_chunks(embedding_text("T" * 250, "", "\n".join([SENTENCE] * 40)))
    assert chunks[0] == "T" * 250 + "\n" + SENTENCE
    assert not any(chunk.startswith("T") for chunk in chunks[1:])


def test_long_sentence_is_split_between_words() -> None:
    chunks = embedding_chunks(("w" * 149 + " ") * 10)
    assert chunks == [" ".join(["w" * 149] * 2)] * 5


def test_long_word_is_split() -> None:
    assert [len(chunk) for chunk in embedding_chunks("日" * 1000)] == [300, 300, 300, 100]


def test_no_split_in_the_first_half_of_a_chunk() -> None:
    chunks = embedding_chunks(f"a {'w' * 1000}")
    assert [len(chunk) for chunk in chunks] == [300, 300, 300, 102]


def test_number_of_chunks_is_limited() -> None:
    chunks = embedding_chunks("\n".join(f"{number} {'x' * 290}" for number in range(100)))
    assert len(chunks) == MAX_CHUNKS
    assert chunks[-1].startswith("63 ")


@pytest.mark.parametrize("blank", [" ", "\n", "\t \r\n", "\u3000"])
def test_white_space_is_one_chunk(blank: str) -> None:
    assert embedding_chunks(blank * 2000) == [(blank * 2000)[:MAX_UNSPLIT_CHARS]]
    assert embedding_chunks(embedding_text("Tea", "", blank * 2000)) == [("Tea\n" + blank * 2000)[:MAX_UNSPLIT_CHARS]]


@pytest.mark.parametrize("text", ["a" + " " * 300_000 + "b", "\n \n" * 100_000 + "b", ". " * 200_000, "a.\t" * 100_000])
def test_splitting_takes_linear_time(text: str) -> None:
    """Quadratic time would not end."""
    assert 1 <= len(embedding_chunks(text)) <= MAX_CHUNKS


_paragraphs = st.lists(st.text("ab .!?…\n日", max_size=500), max_size=12).map("\n".join)


@given(st.text("Tea ", max_size=220), _paragraphs | any_text.map(lambda text: text * 40))
def test_chunks_cover_the_text_within_limits(title: str, content: str) -> None:
    text = embedding_text(title, "", content)
    chunks = embedding_chunks(text)
    assert 1 <= len(chunks) <= MAX_CHUNKS
    if len(text) <= MAX_UNSPLIT_CHARS or not text[len(text.heading) :].strip():
        assert chunks == [text[:MAX_UNSPLIT_CHARS]]
        return
    heading = f"{text.heading}\n" if text.heading else ""
    assert all(chunk.startswith(heading) for chunk in chunks)
    bodies = [chunk.removeprefix(heading) for chunk in chunks]
    assert all(0 < len(body) <= CHUNK_CHARS for body in bodies)
    joined, expected = _without_spaces("".join(bodies)), _without_spaces(text[len(text.heading) :])
    assert joined == expected if len(chunks) < MAX_CHUNKS else expected.startswith(joined)


@given(st.lists(st.text("abc日é.", min_size=1, max_size=40), max_size=200))
def test_words_are_not_split(words: list[str]) -> None:
    chunks = embedding_chunks(" ".join(words))
    assert [word for chunk in chunks for word in chunk.split()] == words


def _without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)
