from __future__ import annotations

import pytest

from tests.ranking.stages import lift_exact_term


class TestLiftExactTerm:
    @staticmethod
    def ranked_scores(query: str, *notes: dict[str, object], **settings: float) -> list[tuple[str, float]]:
        ranked = lift_exact_term(notes, query=query, **settings)  # type: ignore[arg-type]
        return [(note.id, round(note.score, 6)) for note in ranked]

    def test_notes_with_the_term_rank_first(self) -> None:
        notes = (
            {"id": "a", "score": 0.8, "content": "unrelated", "ceiling": 1.0},
            {"id": "b", "score": 0.5, "title": "Version 2.3.1", "ceiling": 1.0},
            {"id": "c", "score": 0.3, "tags": ["2.3.1"], "ceiling": 1.0},
        )
        # addend: best of the others 0.8 − lowest match 0.3 + 0.25 · 1 = 0.75
        assert self.ranked_scores("2.3.1", *notes) == [("b", 1.25), ("c", 1.05), ("a", 0.8)]
        assert self.ranked_scores("2.3.1", *notes, lead=0.0) == [("b", 1.0), ("a", 0.8), ("c", 0.8)]

    def test_part_of_a_word_or_number_is_no_match(self) -> None:
        notes = [{"id": str(n), "score": 0.5, "content": text} for n, text in enumerate(["10.1 kg", "0.15 kg", "x0.1"])]
        untouched = [("9", 0.9), ("0", 0.5), ("1", 0.5), ("2", 0.5)]
        assert self.ranked_scores("0.1", {"id": "9", "score": 0.9, "content": "nothing"}, *notes) == untouched
        exact = {"id": "y", "score": 0.1, "content": "It weighs 0.1."}
        assert self.ranked_scores("0.1?", *notes, exact)[0][0] == "y"

    def test_match_ignores_case_but_not_form(self) -> None:
        notes = {"id": "a", "score": 0.9, "content": "two mugs"}, {"id": "b", "score": 0.2, "content": "a MUG"}
        assert self.ranked_scores('"mug"', *notes)[0][0] == "b"

    @pytest.mark.parametrize("query", ["green tea", "NOT", "tea*", "?!", "", "--"])
    def test_other_queries_change_nothing(self, query: str) -> None:
        notes = {"id": "a", "score": 0.9, "content": "x"}, {"id": "b", "score": 0.2, "content": "green tea NOT --"}
        assert self.ranked_scores(query, *notes) == [("a", 0.9), ("b", 0.2)]

    def test_frequent_term_changes_nothing(self) -> None:
        notes = [{"id": str(n), "score": 0.5, "content": "tea"} for n in range(3)]
        unrelated = {"id": "z", "score": 0.9, "content": "x"}
        assert self.ranked_scores("tea", unrelated, *notes, max_notes=2)[0] == ("z", 0.9)
        assert self.ranked_scores("tea", unrelated, *notes, max_notes=3)[0][0] == "0"
        assert self.ranked_scores("tea", *notes) == [("0", 0.5), ("1", 0.5), ("2", 0.5)]

    def test_clear_lead_is_not_lifted(self) -> None:
        notes = {"id": "a", "score": 0.9, "content": "tea", "ceiling": 1.0}, {"id": "b", "score": 0.2, "ceiling": 1.0}
        assert self.ranked_scores("tea", *notes) == [("a", 0.9), ("b", 0.2)]

    def test_superseded_note_is_lifted_unless_its_successor_matches(self) -> None:
        new = {"id": "new", "score": 0.9, "content": "The boat is Fink now."}
        old = {"id": "old", "score": 0.4, "content": "The boat is Amsel.", "superseded_by": ("new",)}
        assert self.ranked_scores("Amsel", new, old)[0][0] == "old"
        assert self.ranked_scores("boat", new, old, {"id": "x", "score": 0.95, "content": "A boa."})[0][0] == "new"

    def test_other_forms_match_if_no_note_has_the_exact_term(self) -> None:
        notes = (
            {"id": "a", "score": 0.8, "content": "12.40"},
            {"id": "b", "score": 0.5, "content": "Rent is 1,240."},
        )
        assert [name for name, _ in self.ranked_scores("1240", *notes)] == ["a", "b"]
        ranked = lift_exact_term(notes, query="1240", forms=["1 240"])
        assert [note.id for note in ranked] == ["b", "a"]
        exact = {"id": "c", "score": 0.1, "content": "1240"}
        assert next(note.id for note in lift_exact_term((*notes, exact), query="1240", forms=["1 240"])) == "c"
        polish = {"id": "d", "score": 0.1, "content": "Łódź"}
        assert next(note.id for note in lift_exact_term((*notes, polish), query="Lodz", forms=["łodz"])) == "d"

    @pytest.mark.parametrize(("query", "first"), [("C#", "b"), ("C", "c"), ("C++", "a"), (".NET", "e")])
    def test_symbols_are_part_of_a_name(self, query: str, first: str) -> None:
        texts = {"a": "C++", "b": "C#", "c": "C.", "d": "net", "e": ".NET"}
        notes = [{"id": name, "score": 0.5, "content": text} for name, text in texts.items()]
        scores = self.ranked_scores(query, {"id": "x", "score": 0.9, "content": "none"}, *notes)
        assert [name for name, score in scores if score > 0.9] == [first]
