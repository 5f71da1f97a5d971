"""A long text in pieces, each short enough that one vector can stand for what it says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import embedding_text, pieces
from recollect.model.splitting import LONGEST_HEADING, MOST_PIECES, PIECE, WHOLE
from tests.generated import any_text

SENTENCE = "Green tea, mostly sencha."


def test_what_a_vector_stands_for_knows_its_heading() -> None:
    text = embedding_text("Tea", "Green, early", "Prefers sencha.")
    assert (text, text.heading) == ("Tea\nGreen, early\nPrefers sencha.", "Tea")
    assert embedding_text("", "", "Prefers sencha.").heading == ""
    assert embedding_text("T" * LONGEST_HEADING, "", "").heading == "T" * LONGEST_HEADING
    assert embedding_text("T" * (LONGEST_HEADING + 1), "", "").heading == ""


@pytest.mark.parametrize("text", ["", " ", "tea", "t" * WHOLE, " \n" * (WHOLE // 2)])
def test_a_short_text_stays_as_it_is(text: str) -> None:
    assert pieces(text) == [text]
    (whole,) = pieces(embedding_text("", "", text))
    assert (whole, type(whole)) == (text, str)


def test_pieces_end_where_sentences_do() -> None:
    found = pieces(f"{SENTENCE} " * 40)  # 25 characters and a space: eleven of them and no twelfth fit into 300
    assert found == [" ".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_lines_stay_lines() -> None:
    found = pieces("\n\n".join([SENTENCE] * 40))
    assert found == ["\n".join([SENTENCE] * count) for count in (11, 11, 11, 7)]


def test_short_lines_are_not_cut_at_sentences() -> None:
    line = "One. Two! Three? Four… " + "x" * 200  # 223 characters: two do not fit together
    assert pieces("\n".join([line] * 5)) == [line] * 5


def test_each_piece_has_the_heading() -> None:
    found = pieces(embedding_text("Tea", "", "\n".join([SENTENCE] * 40)))
    assert [piece.split("\n")[0] for piece in found] == ["Tea"] * 4
    assert [piece.count(SENTENCE) for piece in found] == [11, 11, 11, 7]


def test_a_heading_that_is_too_long_is_text_like_any_other() -> None:
    found = pieces(embedding_text("T" * 250, "", "\n".join([SENTENCE] * 40)))
    assert found[0] == "T" * 250 + "\n" + SENTENCE
    assert not any(piece.startswith("T") for piece in found[1:])


def test_a_long_sentence_is_cut_between_words() -> None:
    found = pieces(("w" * 149 + " ") * 10)
    assert found == [" ".join(["w" * 149] * 2)] * 5


def test_a_long_word_is_cut_where_it_must_be() -> None:
    assert [len(piece) for piece in pieces("日" * 1000)] == [300, 300, 300, 100]


def test_a_gap_early_in_a_long_word_is_no_place_to_cut() -> None:
    """A piece of less than half the length would be one of many small ones."""
    found = pieces(f"a {'w' * 1000}")
    assert [len(piece) for piece in found] == [300, 300, 300, 102]


def test_of_a_very_long_text_the_end_is_left_out() -> None:
    found = pieces("\n".join(f"{number} {'x' * 290}" for number in range(100)))
    assert len(found) == MOST_PIECES
    assert found[-1].startswith("63 ")


@pytest.mark.parametrize("blank", [" ", "\n", "\t \r\n", "\u3000"])
def test_nothing_but_white_space_is_one_piece(blank: str) -> None:
    assert pieces(blank * 2000) == [(blank * 2000)[:WHOLE]]
    assert pieces(embedding_text("Tea", "", blank * 2000)) == [("Tea\n" + blank * 2000)[:WHOLE]]


@pytest.mark.parametrize("text", ["a" + " " * 300_000 + "b", "\n \n" * 100_000 + "b", ". " * 200_000, "a.\t" * 100_000])
def test_no_text_takes_long_to_cut(text: str) -> None:
    """With time that grows as the square of the length, this would not end."""
    assert 1 <= len(pieces(text)) <= MOST_PIECES


_paragraphs = st.lists(st.text("ab .!?…\n日", max_size=500), max_size=12).map("\n".join)


@given(st.text("Tea ", max_size=220), _paragraphs | any_text.map(lambda text: text * 40))
def test_joined_they_hold_the_text_and_none_is_too_long(title: str, content: str) -> None:
    text = embedding_text(title, "", content)
    found = pieces(text)
    assert 1 <= len(found) <= MOST_PIECES
    if len(text) <= WHOLE or not text[len(text.heading) :].strip():
        assert found == [text[:WHOLE]]
        return
    heading = f"{text.heading}\n" if text.heading else ""
    assert all(piece.startswith(heading) for piece in found)
    bodies = [piece.removeprefix(heading) for piece in found]
    assert all(0 < len(body) <= PIECE for body in bodies)
    said, all_there_is = _without_spaces("".join(bodies)), _without_spaces(text[len(text.heading) :])
    assert said == all_there_is if len(found) < MOST_PIECES else all_there_is.startswith(said)


@given(st.lists(st.text("abc日é.", min_size=1, max_size=40), max_size=200))
def test_words_stay_whole(words: list[str]) -> None:
    found = pieces(" ".join(words))
    assert [word for piece in found for word in piece.split()] == words


def _without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)
