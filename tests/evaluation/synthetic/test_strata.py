"""Generated questions of each stratum, from notes whose possible questions are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.strata import (
    EXACT_KINDS,
    QuestionDraft,
    exact_questions,
    exact_texts,
    is_foreign,
    misspell,
    multi_hop_questions,
    shuffle_by_group,
    typo_questions,
    unanswerable_questions,
)
from recollect.model import Note
from recollect.text import split_words

SEEDS = range(40)


def lexicon(*contents: str) -> Lexicon:
    return Lexicon([Note(id=f"n{index}", content=content) for index, content in enumerate(contents)])


def drafts_of_all_seeds(generate: Callable[[np.random.Generator], Iterator[QuestionDraft]]) -> list[QuestionDraft]:
    return [draft for seed in SEEDS for draft in generate(np.random.default_rng(seed))]


notes = st.builds(
    Note,
    content=st.sampled_from(["x", "x" * 200, "x" * 900]),
    session=st.sampled_from(["", "monday", "friday"]),
    path=st.sampled_from(["", "work/a.md", "home/b.md"]),
)


@given(st.lists(notes, max_size=40), st.integers(0, 99))
def test_shuffle_by_group_is_a_deterministic_permutation(given_notes: list[Note], seed: int) -> None:
    order = list(shuffle_by_group(given_notes, np.random.default_rng(seed)))
    assert sorted(order) == list(range(len(given_notes)))
    assert order == list(shuffle_by_group(given_notes, np.random.default_rng(seed)))


def test_shuffle_by_group_alternates_between_groups() -> None:
    many = [Note(content="x", session="long")] * 50 + [Note(content="x", session="short"), Note(content="y" * 500)]
    first = list(shuffle_by_group(many, np.random.default_rng(0)))[:3]
    assert {50, 51} <= set(first)


class TestExact:
    def test_exact_questions_use_words_of_one_note(self) -> None:
        corpus = lexicon("The vermilion van needs code EX_7 and oil.", "A van needs oil.", "The code is blue.")
        options = [exact_texts(corpus, 0, np.random.default_rng(seed)) for seed in SEEDS]
        assert {option["identifier"] for option in options} == {"EX_7"}  # as it is written
        assert "vermilion van needs" in {option.get("phrase") for option in options}
        assert {len(option["words"].split()) for option in options} == {2}
        assert {next(iter(option)) for option in options} == {"identifier", "phrase", "words"}  # in random order
        for text in {text for option in options for text in option.values()}:
            assert set(content_words(text)) <= set(content_words(corpus.notes[0].content))
            assert corpus.notes_with(split_words(text)) == {0}

    @pytest.mark.parametrize("content", ["A van.", "", "the of and", "日本"])
    def test_exact_questions_of_notes_without_own_words(self, content: str) -> None:
        corpus = lexicon(content, content, "A red van and oil.")
        drafts = drafts_of_all_seeds(lambda rng: exact_questions(corpus, rng))
        assert {draft.relevant for draft in drafts} <= {(2,)}

    def test_exact_questions_of_each_token_kind(self) -> None:
        corpus = lexicon("Saw Ines pay 48,500 for v2.3.1 of docs/api.md by ERR_4021.", "Other words.")
        options = exact_texts(corpus, 0, np.random.default_rng(0))
        assert options.keys() == set(EXACT_KINDS)
        assert [options[kind] for kind in ("identifier", "number", "name", "version", "path")] == [
            "ERR_4021",
            "48,500",
            "Ines",
            "v2.3.1",
            "docs/api.md",
        ]


class TestMultiHop:
    CORPUS = lexicon(
        "Quillon rents a vermilion barge near Ghent.",
        "The skipper likes oolong and quiet mornings.",
        "Another skipper, loud mornings.",
        "Oolong and barge tales.",
    )

    def drafts(self, *connected: str, corpus: Lexicon = CORPUS) -> list[QuestionDraft]:
        """Return the drafts of a first note that is connected with others, which have no connections."""
        return drafts_of_all_seeds(
            lambda rng: multi_hop_questions(corpus, rng, lambda note: list(connected) if note.id == "n0" else [])
        )

    def test_multi_hop_questions_have_words_of_both_notes(self) -> None:
        drafts = self.drafts("n1", "newer than the lexicon")
        assert len(drafts) == len(SEEDS)
        for draft in drafts:
            assert draft.relevant == (0, 1)
            words = content_words(draft.text)
            assert words[0] in ("oolong", "skipper", "mornings")  # the most frequent distinctive words
            assert set(words[1:]) < set(content_words(self.CORPUS.notes[0].content))
            assert self.CORPUS.notes_with(words) == set()

    def test_multi_hop_word_identifies_one_connected_note(self) -> None:
        for draft in self.drafts("n1", "n2"):
            expected = {1: ("oolong", "likes", "quiet"), 2: ("another", "loud")}
            assert content_words(draft.text)[0] in expected[draft.relevant[1]]

    def test_multi_hop_questions_use_no_word_of_the_title(self) -> None:
        titled = Lexicon([self.CORPUS.notes[0], Note(id="n1", content="Oolong.", title="Oolong house")])
        assert self.drafts("n1", corpus=titled) == []

    def test_multi_hop_questions_need_connections_and_rare_words(self) -> None:
        assert self.drafts() == []
        assert self.drafts("n1", corpus=lexicon("Green tea.", "Oolong.", "Green tea.", "Green tea.")) == []


class TestTypo:
    def test_misspell_makes_one_error_after_the_first_letter(self) -> None:
        misspelt = {misspell("barge", np.random.default_rng(seed)) for seed in range(200)}
        assert {"bsrge", "batge", "bagre", "brage", "brge", "bare"} <= misspelt
        assert "barge" not in misspelt
        assert all(text[0] == "b" and len(text) in (4, 5) for text in misspelt)

    def test_misspell_does_not_swap_equal_letters(self) -> None:
        assert "balloon" not in {misspell("balloon", np.random.default_rng(seed)) for seed in range(200)}

    def test_typo_questions_misspell_words_of_one_note(self) -> None:
        corpus = lexicon("The vermilion barge leaks, 12345 über.", "Oil leaks.", "Ordinary.")
        drafts = drafts_of_all_seeds(lambda rng: typo_questions(corpus, rng))
        texts = {draft.text for draft in drafts if draft.relevant == (0,)}
        assert {len(text.split()) for text in texts} == {1, 2}
        for word in (word for text in texts for word in text.split()):
            assert word[0] in "vb"  # vermilion, barge: leaks is in two notes, 12345 and über are not ASCII letters
            assert corpus.notes_with([word]) == set()

    def test_typo_questions_avoid_misspellings_that_a_note_contains(self) -> None:
        misspelt = " ".join({misspell("barge", np.random.default_rng(seed)) for seed in range(2000)})
        drafts = drafts_of_all_seeds(lambda rng: typo_questions(lexicon("A barge.", misspelt), rng))
        assert (0,) not in {draft.relevant for draft in drafts}

    def test_typo_questions_need_a_long_word_of_one_note(self) -> None:
        drafts = drafts_of_all_seeds(lambda rng: typo_questions(lexicon("Oak.", "Other oaks."), rng))
        assert {draft.relevant for draft in drafts} <= {(1,)}


class TestUnanswerable:
    def test_is_foreign(self) -> None:
        corpus = lexicon("Green tea from Kyoto.", "A red bike.")
        assert is_foreign(corpus, "lighthouse keepers sing at dusk")
        assert is_foreign(corpus, "green lighthouse keepers")
        assert not is_foreign(corpus, "green teas for lighthouse keepers")  # half, in another form
        assert not is_foreign(corpus, "lighthouse keepers")  # too few words

    def test_unanswerable_questions_use_foreign_notes(self) -> None:
        foreign = lexicon("The lighthouse keepers sing at dusk.", "Green tea from Kyoto every morning.")
        corpus = lexicon("Green tea from Kyoto every single morning.")
        drafts = drafts_of_all_seeds(lambda rng: unanswerable_questions(corpus, foreign, rng))
        assert len(drafts) <= len(SEEDS)  # nothing of the second note
        assert len({draft.text for draft in drafts}) > 3
        assert {draft.relevant for draft in drafts} == {()}

    def test_unanswerable_questions_need_enough_words(self) -> None:
        foreign = lexicon("one two three " * 20 + "zephyr", "Other.")
        drafts = drafts_of_all_seeds(lambda rng: unanswerable_questions(lexicon("Green tea."), foreign, rng))
        assert all(len(content_words(draft.text)) >= 3 for draft in drafts)
        same = lexicon("quartz basalt gneiss", "quartz basalt gneiss", "quartz basalt gneiss")
        assert list(unanswerable_questions(lexicon("Green tea."), same, np.random.default_rng(0))) == []  # no rare word
