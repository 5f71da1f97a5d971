from __future__ import annotations

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.model import Note


def test_the_words_that_say_something() -> None:
    assert content_words("The TEA, the tea; het kopje. I am at no. 42!") == ["tea", "kopje"]
    assert content_words("") == []


def test_titles_and_summaries_are_held_too() -> None:
    lexicon = Lexicon([Note(content="x", title="Teapots", summary="Glazed.")])
    assert lexicon.holders(["teapot", "glazed"]) == {0}
    assert lexicon.holders(["teapot", "kettle"]) == lexicon.holders([]) == set()
    assert lexicon.holds(0, "glazing")
    assert not lexicon.holds(0, "kettle")


def test_what_is_rare_depends_on_how_many_notes_there_are() -> None:
    few = Lexicon([Note(content=f"note {word}") for word in ("tea", "teas", "kettle")])
    assert [few.is_rare(word) for word in ("kettle", "tea", "note", "absent")] == [True, True, False, False]
    assert [few.is_telling(word) for word in ("note", "absent")] == [True, False]
    many = Lexicon([Note(content="tea" if place < 20 else f"kettle {'pot' * (place < 70)}") for place in range(1000)])
    assert [many.is_rare(word) for word in ("tea", "pot")] == [False, False]
    assert [many.is_telling(word) for word in ("tea", "pot", "kettle")] == [True, True, False]
    assert many.frequency["tea"] == 20
