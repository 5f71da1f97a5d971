from __future__ import annotations

import pytest
from hypothesis import given

from recollect.ingest import split_sentences
from recollect.ingest.sentences import sentence_ends
from tests.strategies import any_text


@pytest.mark.parametrize(
    "text",
    [
        "Ines drinks tea.|Olaf drinks coffee.",
        "Really?|Yes!|Good.",
        "Really?!|Yes.",
        "Dr. Vega met Mrs. Olsen at St. Mary.|They had tea.",
        "See Fig. 3 and No. 7, vol. 2.|Then go on.",
        "The answer is no.|We stay.",
        "It costs 3.50 or 1.200,00 euros.|Fair.",
        "Version 2.0.1 is out.|Get it.",
        "J. R. R. Tolkien wrote it.|I read it.",
        "We chose plan B.|It worked.",
        "The U.S. Mint and the U.S. Navy.|Both are old.",
        "She lives in the U.S.|She likes it.",
        "It opens at 9 a.m. Monday.|Come early.",
        "It opens at 9 a.m.|The shop is small.",
        "Bring tea, milk, etc. Ines will know.",
        "Bring tea, milk, etc.|We need it.",
        "Well... maybe.|Or not…|Who knows?",
        'He said "Stop!"|She did.',
        '"Too much?" she asked.|"Yes."',
        "(It rained.)|We stayed.",
        "That was in 2019.|Now it is over.",
        "Go to example.org or a.b.c now.|Do.",
        "e.g. tea, i.e. sencha.|Or z.B. Kaffee.",
        "Er kommt ca. um acht.|Das ist spät.",
        "お茶が好きです。|コーヒーは？|いいえ！",
        "「はい。」|そうです。",
        "One line\nand the same sentence.|Another.",
        "A heading without a mark\n\n|Then text.",
        "An end.\n\n|and a small letter",
        "1. First\n2. Second",
        "",
        "   ",
        "...",
    ],
)
def test_sentences(text: str) -> None:
    assert split_sentences(text.replace("|", " ")) == [part.strip() for part in text.split("|") if part.strip()]


@given(any_text)
def test_nothing_is_lost(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end < len(text) for end in ends)
