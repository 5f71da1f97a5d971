"""One question of each kind, from notes of which it is known what can be asked."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.characters import split_words
from recollect.evaluation.synthetic.exact import exact_question
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.multi_hop import connected_question
from recollect.evaluation.synthetic.paraphrase import paraphrase
from recollect.model import Note

SEEDS = range(40)


def lexicon(*contents: str) -> Lexicon:
    return Lexicon([Note(content=content) for content in contents])


class TestExact:
    def test_it_is_in_the_notes_own_words_and_no_other_holds_them(self) -> None:
        held = lexicon("The vermilion van needs code EX_7 and oil.", "A van needs oil.", "The code is blue.")
        made = {exact_question(held, 0, np.random.default_rng(seed)) for seed in SEEDS}
        assert "EX_7" in made  # an identifier as it is written
        assert "vermilion van needs" in made  # a phrase
        assert any(text and "vermilion" in text and len(text.split()) == 2 for text in made)  # rare words
        for text in made:
            assert text is not None
            assert set(content_words(text)) <= set(content_words(held.notes[0].content))
            assert held.holders(split_words(text)) == {0}

    @pytest.mark.parametrize("content", ["A van.", "", "the of and", "日本"])
    def test_where_there_is_nothing_of_its_own(self, content: str) -> None:
        held = lexicon(content, content, "A red van and oil.")
        assert all(exact_question(held, 0, np.random.default_rng(seed)) is None for seed in SEEDS)


class TestParaphrase:
    def test_few_words_stay_as_they_are(self) -> None:
        held = lexicon("On 2026-04-18 Mira repaired three wheels.", "Mira likes wheels.", "He repairs things.")
        for seed in SEEDS:
            text = paraphrase(held, 0, {}, np.random.default_rng(seed))
            assert text is not None
            assert "18 april 2026" in text.replace("eighteen", "18")
            assert "three" not in text
            assert not {"wheels", "repaired"} & set(text.split())
            shared = [word for word in content_words(text) if word in ("mira", "repaired", "wheels")]
            assert len(shared) <= len(content_words(text)) / 2

    def test_words_that_are_used_alike_take_each_others_places(self) -> None:
        held = lexicon("Somebody painted the large gate behind town.", "A gate in town.", "Large doors, painted.")
        text = paraphrase(held, 0, {"gate": "door", "large": "huge", "painted": "dyed"}, np.random.default_rng(0))
        assert text is not None
        words = set(content_words(text))
        assert len(words & {"door", "huge", "dyed"}) == 2  # half of the five words at most
        assert "somebody" not in words | {"gate"}

    def test_names_stay_as_they_are(self) -> None:
        held = lexicon("Yesterday the gardener asked Odile about tulips and ferns.", "Ferns.")
        text = paraphrase(held, 0, {"odile": "berta"}, np.random.default_rng(0))
        assert text is not None
        assert "odile" in content_words(text)

    def test_the_rarest_words_go_where_the_rest_is_enough(self) -> None:
        held = lexicon(
            "The zephyr bakers boil green beans with salted butter.",
            "Bakers boil beans with butter.",
            "Bakers boil green butter.",
            "Salted green beans.",
        )
        text = paraphrase(held, 0, {}, np.random.default_rng(0))
        assert text is not None
        assert content_words(text) == ["butters", "baker", "boils", "greens", "bean"]

    @pytest.mark.parametrize(
        "content",
        [
            "Too short.",
            "It was what it was, and they did it.",  # nothing but stopwords
            "Größe zählt hier über Straßen.",  # the rules are of English
            "one two three " * 20,
            "",
        ],
    )
    def test_where_the_rules_are_at_a_loss(self, content: str) -> None:
        held = lexicon(content, "Another note.")
        assert paraphrase(held, 0, {}, np.random.default_rng(0)) is None

    def test_a_sentence_that_two_notes_hold_is_not_asked_about(self) -> None:
        held = lexicon(*["The bakers boil green beans."] * 2)
        assert paraphrase(held, 0, {}, np.random.default_rng(0)) is None

    def test_another_note_that_holds_all_words_of_the_question(self) -> None:
        held = lexicon("The bakers boil green beans.", "Bakers fry green peas, boil.", "Beans.", "Beans!")
        assert paraphrase(held, 0, {"beans": "peas"}, np.random.default_rng(0)) is None
        assert paraphrase(held, 0, {}, np.random.default_rng(0)) is not None

    def test_a_sentence_without_stopwords_is_cut_in_the_middle(self) -> None:
        held = lexicon("bakers boil green beans", "other")
        made = {paraphrase(held, 0, {}, np.random.default_rng(seed)) for seed in SEEDS}
        assert made == {
            "what about greens bean baker boils?",
            "tell me about greens bean baker boils",
            "do you have greens bean baker boils?",
            "which was it: greens bean baker boils?",
        }


class TestMultiHop:
    HELD = lexicon(
        "Quillon rents a vermilion barge near Ghent.",
        "The skipper likes oolong and quiet mornings.",
        "Another skipper, loud mornings.",
        "Oolong and barge tales.",
    )

    def test_words_of_one_and_a_word_of_the_other(self) -> None:
        for seed in SEEDS:
            found = connected_question(self.HELD, 0, [1], np.random.default_rng(seed))
            assert found is not None
            text, other = found
            assert other == 1
            words = content_words(text)
            assert words[0] in ("oolong", "skipper", "mornings")  # the commonest that tell it
            assert set(words[1:]) < set(content_words(self.HELD.notes[0].content))
            assert self.HELD.holders(words) == set()

    def test_known_among_all_that_are_connected(self) -> None:
        for seed in SEEDS:
            found = connected_question(self.HELD, 0, [1, 2], np.random.default_rng(seed))
            assert found is not None
            assert content_words(found[0])[0] in {1: ("oolong", "likes", "quiet"), 2: ("another", "loud")}[found[1]]

    def test_no_word_of_the_title(self) -> None:
        titled = Lexicon([self.HELD.notes[0], Note(content="Oolong.", title="Oolong house")])
        assert connected_question(titled, 0, [1], np.random.default_rng(0)) is None

    def test_nothing_connected_or_nothing_to_tell(self) -> None:
        assert connected_question(self.HELD, 0, [], np.random.default_rng(0)) is None
        same = lexicon("Green tea.", "Oolong.", "Green tea.", "Green tea.")
        assert connected_question(same, 0, [1], np.random.default_rng(0)) is None
