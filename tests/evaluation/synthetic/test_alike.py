"""Which words are alike, by vectors that are given."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.embedders import FunctionEmbedder
from recollect.evaluation.synthetic import alike
from recollect.evaluation.synthetic.alike import words_alike
from recollect.evaluation.synthetic.lexicon import Lexicon
from recollect.model import Note

ANGLES = {"bike": (1.0, 0.0), "bicycle": (0.99, 0.1), "river": (0.0, 1.0), "stream": (0.1, 0.99), "wall": (-1.0, -1.0)}


def near(texts: list[str]) -> Any:
    return [ANGLES.get(text, (-1.0, 1.0)) for text in texts]


EMBEDDER = FunctionEmbedder(near, name="angles", dimension=2)


def test_the_nearest_of_each_other_are_alike() -> None:
    lexicon = Lexicon([Note(content="bike bicycle river stream wall the")] * 2)
    assert words_alike(lexicon, EMBEDDER) == {"river": "stream", "stream": "river"} | {
        "bike": "bicycle",
        "bicycle": "bike",
    }


def test_forms_of_a_word_and_words_of_one_note_are_not_asked_about() -> None:
    assert words_alike(Lexicon([Note(content="bikes bike")] * 2), EMBEDDER) == {}
    assert words_alike(Lexicon([Note(content="bike bicycle")]), EMBEDDER) == {}
    assert words_alike(Lexicon([Note(content="tea of 2026 err42")] * 2), EMBEDDER) == {}
    assert words_alike(Lexicon([Note(content="bike bicycle")] * 2), None) == {}


def test_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MOST_WORDS", 3)
    notes = [Note(content="river stream bike")] * 3 + [Note(content="bicycle")] * 2
    assert words_alike(Lexicon(notes), EMBEDDER) == {"river": "stream", "stream": "river"}


def test_to_be_near_is_mutual() -> None:
    """Of words that are all the same to an embedder, the first are nearest to all; only they are alike."""
    embedder = FunctionEmbedder(lambda texts: [[1.0, 0.0]] * len(texts), name="same", dimension=2)
    found = words_alike(Lexicon([Note(content="aaaa bbbb cccc dddd eeee ffff")] * 2), embedder)
    assert found == {"aaaa": "bbbb", "bbbb": "aaaa", "cccc": "aaaa", "dddd": "aaaa"}
