from __future__ import annotations

import pytest

from tests.ranking.stages import lift_exact_term


class TestLiftExactTerm:
    @staticmethod
    def lifted(query: str, *notes: dict[str, object], **settings: float) -> list[tuple[str, float]]:
        found = lift_exact_term(notes, query=query, **settings)  # type: ignore[arg-type]
        return [(note.id, round(note.score, 6)) for note in found]

    def test_the_notes_that_hold_the_term_come_first_in_their_order(self) -> None:
        notes = (
            {"id": "a", "score": 0.8, "content": "unrelated", "ceiling": 1.0},
            {"id": "b", "score": 0.5, "title": "Version 2.3.1", "ceiling": 1.0},
            {"id": "c", "score": 0.3, "tags": ["2.3.1"], "ceiling": 1.0},
        )
        # others 0.8 − lowest 0.3 + 0.25 · 1 = 0.75 for each
        assert self.lifted("2.3.1", *notes) == [("b", 1.25), ("c", 1.05), ("a", 0.8)]
        assert self.lifted("2.3.1", *notes, lead=0.0) == [("b", 1.0), ("a", 0.8), ("c", 0.8)]

    def test_a_part_of_a_longer_word_or_number_is_no_match(self) -> None:
        notes = [{"id": str(n), "score": 0.5, "content": text} for n, text in enumerate(["10.1 kg", "0.15 kg", "x0.1"])]
        untouched = [("9", 0.9), ("0", 0.5), ("1", 0.5), ("2", 0.5)]
        assert self.lifted("0.1", {"id": "9", "score": 0.9, "content": "nothing"}, *notes) == untouched
        holding = {"id": "y", "score": 0.1, "content": "It weighs 0.1."}
        assert self.lifted("0.1?", *notes, holding)[0][0] == "y"

    def test_case_does_not_count_and_other_forms_do_not_match(self) -> None:
        notes = {"id": "a", "score": 0.9, "content": "two mugs"}, {"id": "b", "score": 0.2, "content": "a MUG"}
        assert self.lifted('"mug"', *notes)[0][0] == "b"

    @pytest.mark.parametrize("query", ["green tea", "NOT", "tea*", "?!", "", "--"])
    def test_other_queries_leave_the_list_as_it_was(self, query: str) -> None:
        notes = {"id": "a", "score": 0.9, "content": "x"}, {"id": "b", "score": 0.2, "content": "green tea NOT --"}
        assert self.lifted(query, *notes) == [("a", 0.9), ("b", 0.2)]

    def test_a_term_that_many_or_all_hold_leaves_the_list_as_it_was(self) -> None:
        notes = [{"id": str(n), "score": 0.5, "content": "tea"} for n in range(3)]
        other = {"id": "z", "score": 0.9, "content": "x"}
        assert self.lifted("tea", other, *notes, max_notes=2)[0] == ("z", 0.9)
        assert self.lifted("tea", other, *notes, max_notes=3)[0][0] == "0"
        assert self.lifted("tea", *notes) == [("0", 0.5), ("1", 0.5), ("2", 0.5)]

    def test_a_clear_lead_is_left_alone(self) -> None:
        notes = {"id": "a", "score": 0.9, "content": "tea", "ceiling": 1.0}, {"id": "b", "score": 0.2, "ceiling": 1.0}
        assert self.lifted("tea", *notes) == [("a", 0.9), ("b", 0.2)]

    def test_a_superseded_note_is_lifted_if_no_note_that_supersedes_it_holds_the_term(self) -> None:
        new = {"id": "new", "score": 0.9, "content": "The boat is Fink now."}
        old = {"id": "old", "score": 0.4, "content": "The boat is Amsel.", "superseded_by": ("new",)}
        assert self.lifted("Amsel", new, old)[0][0] == "old"
        assert self.lifted("boat", new, old, {"id": "x", "score": 0.95, "content": "A boa."})[0][0] == "new"

    def test_another_form_of_the_term_counts_where_none_holds_it_as_written(self) -> None:
        notes = (
            {"id": "a", "score": 0.8, "content": "12.40"},
            {"id": "b", "score": 0.5, "content": "Rent is 1,240."},
        )
        assert [name for name, _ in self.lifted("1240", *notes)] == ["a", "b"]
        found = lift_exact_term(notes, query="1240", forms=["1 240"])
        assert [note.id for note in found] == ["b", "a"]
        written = {"id": "c", "score": 0.1, "content": "1240"}
        assert next(note.id for note in lift_exact_term((*notes, written), query="1240", forms=["1 240"])) == "c"
        polish = {"id": "d", "score": 0.1, "content": "Łódź"}
        assert next(note.id for note in lift_exact_term((*notes, polish), query="Lodz", forms=["łodz"])) == "d"

    @pytest.mark.parametrize(("query", "first"), [("C#", "b"), ("C", "c"), ("C++", "a"), (".NET", "e")])
    def test_symbols_belong_to_a_name(self, query: str, first: str) -> None:
        texts = {"a": "C++", "b": "C#", "c": "C.", "d": "net", "e": ".NET"}
        notes = [{"id": name, "score": 0.5, "content": text} for name, text in texts.items()]
        found = self.lifted(query, {"id": "x", "score": 0.9, "content": "none"}, *notes)
        assert [name for name, score in found if score > 0.9] == [first]
