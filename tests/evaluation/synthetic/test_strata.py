"""One question of each kind, from notes of which it is known what can be asked."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.evaluation.synthetic.exact import EXACT_KINDS, exact_questions
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.multi_hop import connected_question
from recollect.evaluation.synthetic.paraphrase import paraphrase
from recollect.evaluation.synthetic.stale import current_notes, stale_question, successors_of
from recollect.evaluation.synthetic.temporal import temporal_questions
from recollect.evaluation.synthetic.typo import misspelt, typo_question
from recollect.evaluation.synthetic.unanswerable import foreign_question, is_foreign
from recollect.model import Link, Note
from recollect.text import split_words

SEEDS = range(40)


def lexicon(*contents: str) -> Lexicon:
    return Lexicon([Note(content=content) for content in contents])


class TestExact:
    def test_it_is_in_the_notes_own_words_and_no_other_holds_them(self) -> None:
        held = lexicon("The vermilion van needs code EX_7 and oil.", "A van needs oil.", "The code is blue.")
        made = [exact_questions(held, 0, np.random.default_rng(seed)) for seed in SEEDS]
        assert {each["identifier"] for each in made} == {"EX_7"}  # as it is written
        assert "vermilion van needs" in {each.get("phrase") for each in made}
        assert {len(each["words"].split()) for each in made} == {2}
        assert {next(iter(each)) for each in made} == {"identifier", "phrase", "words"}  # the order is drawn
        for text in {text for each in made for text in each.values()}:
            assert set(content_words(text)) <= set(content_words(held.notes[0].content))
            assert held.holders(split_words(text)) == {0}

    @pytest.mark.parametrize("content", ["A van.", "", "the of and", "日本"])
    def test_where_there_is_nothing_of_its_own(self, content: str) -> None:
        held = lexicon(content, content, "A red van and oil.")
        assert all(exact_questions(held, 0, np.random.default_rng(seed)) == {} for seed in SEEDS)

    def test_each_kind_of_token(self) -> None:
        held = lexicon("Saw Ines pay 48,500 for v2.3.1 of docs/api.md by ERR_4021.", "Other words.")
        assert exact_questions(held, 0, np.random.default_rng(0)).keys() == set(EXACT_KINDS)
        found = exact_questions(held, 0, np.random.default_rng(0))
        assert [found[kind] for kind in ("identifier", "number", "name", "version", "path")] == [
            "ERR_4021",
            "48,500",
            "Ines",
            "v2.3.1",
            "docs/api.md",
        ]


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


class TestTypo:
    def test_one_error_after_the_first_letter(self) -> None:
        made = {misspelt("barge", np.random.default_rng(seed)) for seed in range(200)}
        assert {"bsrge", "batge", "bagre", "brage", "brge", "bare"} <= made
        assert "barge" not in made
        assert all(text[0] == "b" and len(text) in (4, 5) for text in made)

    def test_swapping_equal_letters_is_no_error(self) -> None:
        assert "balloon" not in {misspelt("balloon", np.random.default_rng(seed)) for seed in range(200)}

    def test_words_that_the_note_alone_holds_are_misspelt(self) -> None:
        held = lexicon("The vermilion barge leaks, 12345 über.", "Oil leaks.", "Ordinary.")
        made = {typo_question(held, 0, np.random.default_rng(seed)) for seed in SEEDS}
        assert {len(text.split()) for text in made if text} == {1, 2}
        for text in made:
            assert text is not None
            for word in text.split():
                assert (
                    word[0] in "vb"
                )  # vermilion, barge; leaks is in another note, 12345 and über are no ASCII letters
                assert held.holders([word]) == set()

    def test_a_misspelling_that_some_note_holds_is_not_used(self) -> None:
        slips = " ".join({misspelt("barge", np.random.default_rng(seed)) for seed in range(2000)})
        held = lexicon("A barge.", slips)
        assert {typo_question(held, 0, np.random.default_rng(seed)) for seed in SEEDS} == {None}

    def test_where_no_word_is_long_and_its_own(self) -> None:
        assert typo_question(lexicon("Oak.", "Other oaks."), 0, np.random.default_rng(0)) is None


def dated(*rows: tuple[str, str]) -> Lexicon:
    return Lexicon([Note(content=content, created_at=day) for day, content in rows])  # type: ignore[arg-type]


class TestTemporal:
    HELD = dated(
        ("2024-03-02", "Dentist, all fine."),
        ("2026-03-09", "Dentist, one hole."),
        ("2026-03-09", "Painted the gate."),
        ("2026-05-20", "Sold the barge."),
    )

    def test_months_days_and_topics(self) -> None:
        made = [each for seed in SEEDS for each in temporal_questions(self.HELD, np.random.default_rng(seed))]
        found = {(each.text, each.relevant) for each in made}
        assert ("what happened in March 2024?", (0,)) in found
        assert ("what happened in March 2026?", (1, 2)) in found
        assert ("what happened in March?", (1, 2)) in found  # clear in May 2026
        assert ("what happened in March?", (0,)) not in found
        assert ("what happened on 9 March 2026?", (1, 2)) in found
        assert ("what happened on 2026-03-09?", (1, 2)) in found
        assert ("dentist in March 2024", (0,)) in found
        assert {each.asked for each in made} == {"2026-05-20T00:00:00+00:00"}
        assert {each.kind for each in made} == {"month", "day", "topic"}

    def test_no_note_is_asked_about_twice(self) -> None:
        for seed in SEEDS:
            asked = [
                place for each in temporal_questions(self.HELD, np.random.default_rng(seed)) for place in each.relevant
            ]
            assert len(asked) == len(set(asked))

    def test_a_date_that_another_note_names_is_not_asked_for(self) -> None:
        held = dated(
            ("2026-03-09", "Gate."), ("2026-05-20", "On 9 March 2026 it rained."), ("2026-06-01", "On 2026-05-20.")
        )
        made = [each for seed in SEEDS for each in temporal_questions(held, np.random.default_rng(seed))]
        assert {each.relevant for each in made} == {(2,)}

    def test_a_month_or_a_day_of_many_notes_is_not_asked_for(self) -> None:
        held = dated(*[("2026-03-09", f"note{number}") for number in range(6)], ("2026-05-20", "Barge."))
        made = [each for seed in SEEDS for each in temporal_questions(held, np.random.default_rng(seed))]
        assert {each.relevant for each in made} == {(6,)}

    def test_notes_of_one_month_or_without_a_date_cannot_be_told_apart(self) -> None:
        one = dated(("2026-03-09", "Gate."), ("2026-03-10", "Barge."))
        assert list(temporal_questions(one, np.random.default_rng(0))) == []
        undated = Lexicon([*self.HELD.notes[:1], Note(content="Barge.")])
        assert list(temporal_questions(undated, np.random.default_rng(0))) == []


class TestStale:
    NOTES = (
        Note(id="n1", content="Drinks strong coffee.", path="drinks.md"),
        Note(id="n2", content="Drinks green tea.", links=(Link("supersedes", "drinks.md"), Link("related", "n4"))),
        Note(id="n3", content="Drinks mate.", links=(Link("supersedes", "n2"), Link("supersedes", "gone"))),
        Note(id="n4", content="Strong wind.", links=(Link("supersedes", "n4"),)),
    )

    def test_successors_are_found_by_id_or_path(self) -> None:
        assert successors_of(self.NOTES) == {0: {1}, 1: {2}}

    def test_the_end_of_a_chain_is_current(self) -> None:
        assert current_notes(0, successors_of(self.NOTES)) == ({2}, {1, 2})
        assert current_notes(2, successors_of(self.NOTES)) == (set(), set())
        assert current_notes(0, {0: {1, 2}, 1: {3}}) == ({2, 3}, {1, 2, 3})

    def test_a_chain_of_a_thousand_notes_and_a_cycle(self) -> None:
        assert current_notes(0, {place: {place + 1} for place in range(1000)})[0] == {1000}
        assert current_notes(0, {0: {1}, 1: {2}, 2: {1}})[0] == set()

    def test_the_words_are_those_of_the_superseded_note(self) -> None:
        held = Lexicon(self.NOTES)
        for seed in SEEDS:
            text = stale_question(held, 0, {1, 2}, np.random.default_rng(seed))
            assert text is not None
            assert set(text.split()) <= {"drinks", "strong", "coffee"}
            assert held.holders(text.split()) <= {0, 1, 2}

    def test_words_that_an_unrelated_note_holds_too_are_not_asked(self) -> None:
        assert stale_question(lexicon("Green tea.", "Mate.", "Green tea."), 0, {1}, np.random.default_rng(0)) is None


class TestUnanswerable:
    def test_a_text_is_foreign_if_no_note_holds_half_of_its_words(self) -> None:
        held = lexicon("Green tea from Kyoto.", "A red bike.")
        assert is_foreign(held, "lighthouse keepers sing at dusk")
        assert is_foreign(held, "green lighthouse keepers")
        assert not is_foreign(held, "green teas for lighthouse keepers")  # half, in another form
        assert not is_foreign(held, "lighthouse keepers")  # too few words

    def test_questions_are_made_of_another_collections_notes(self) -> None:
        foreign = lexicon("The lighthouse keepers sing at dusk.", "Green tea from Kyoto every morning.")
        home = lexicon("Green tea from Kyoto every single morning.")
        made = {foreign_question(home, foreign, 0, np.random.default_rng(seed)) for seed in SEEDS}
        assert len(made) > 3
        assert None not in made
        assert {foreign_question(home, foreign, 1, np.random.default_rng(seed)) for seed in SEEDS} == {None}

    def test_where_the_foreign_note_says_too_little(self) -> None:
        foreign = lexicon("one two three " * 20 + "zephyr", "Other.")
        assert foreign_question(lexicon("Tea."), foreign, 1, np.random.default_rng(0)) is None
