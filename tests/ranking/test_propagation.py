"""Notes lend score to the notes that they are connected with."""

from __future__ import annotations

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate
from recollect.errors import ArgumentError
from recollect.model import Edge
from recollect.ranking import ScoreTransfer as Transfer
from recollect.ranking import one_hop, random_walk
from tests.ranking.stages import add_transfers, multiply_by_transfers

A, B = Candidate("a", score=0.8, session="s1"), Candidate("b", score=0.4, session="s1")
C, D = Candidate("c", score=0.2, session="s2"), Candidate("d", score=0.1)


def shares(loans: dict[str, list[Transfer]]) -> dict[str, list[float]]:
    return {note: [round(loan.share, 6) for loan in each] for note, each in loans.items()}


class TestOneHop:
    def test_a_loan_is_the_score_times_the_weight_of_the_kind(self) -> None:
        edges = [Edge("a", "x", "next", "out"), Edge("b", "x", "mention", "in"), Edge("a", "y", "wikilink", "out")]
        assert shares(one_hop([A, B], edges, {"next": 0.5, "mention": 0.25, "link": 0.1})) == {
            "x": [0.4, 0.1],
            "y": [0.08],
        }

    def test_a_kind_without_weight_lends_nothing(self) -> None:
        assert one_hop([A], [Edge("a", "x", "entity", "out")], {"next": 1.0}) == {}
        assert one_hop([A], [Edge("a", "x", "entity", "out")], {"link": 1.0, "entity": 0.0}) == {}

    def test_only_seeds_lend(self) -> None:
        assert one_hop([A], [Edge("b", "x", "next", "out")], {"next": 1.0}) == {}

    def test_each_further_place_halves_it(self) -> None:
        edges = [Edge("a", "x", "next", "out"), Edge("a", "y", "next", "out", 2), Edge("a", "z", "next", "out", 3)]
        assert shares(one_hop([A], edges, {"next": 0.5})) == {"x": [0.4], "y": [0.2], "z": [0.1]}

    def test_hubs_say_little(self) -> None:
        edges = [Edge("a", "x", "mention", "out"), Edge("a", "y", "mention", "out"), Edge("b", "x", "mention", "in")]
        edges += [Edge("a", "z", "next", "out"), Edge("a", "z2", "next", "out", 2)]
        loans = one_hop([A, B], edges, {"mention": 0.5, "next": 0.5}, degree_penalty=0.5)
        # a names two, x has two: 0.4 / √(2·2), 0.4 / √2, 0.2 / √2; places are no crowd.
        assert shares(loans) == {"x": [0.2, 0.141421], "y": [0.282843], "z": [0.4], "z2": [0.2]}

    def test_an_edge_told_from_both_ends_is_one(self) -> None:
        there, back = Edge("a", "b", "mention", "out"), Edge("b", "a", "mention", "in")
        assert shares(one_hop([A], [there], {"mention": 1.0}, degree_penalty=0.5)) == {"b": [0.8]}
        assert shares(one_hop([A, B], [there, back], {"mention": 1.0}, degree_penalty=0.5)) == {"b": [0.8], "a": [0.4]}

    def test_a_session_lends_to_its_notes_what_the_others_have(self) -> None:
        loans = one_hop([A, B, C, D], [], {"session": 0.5}, pool=[A, B, C, D])
        assert loans == {"a": [Transfer("s1", "session", 0.2)], "b": [Transfer("s1", "session", 0.4)]}


class TestRandomWalk:
    def test_two_notes_and_one_edge(self) -> None:
        # p(a) = 1/2 + 1/2·p(b), p(b) = 1/2·p(a): two thirds and one third.
        loans = random_walk([Candidate("a", score=3.0)], [Edge("a", "b", "next", "out")], {"next": 1.0})
        assert {note: round(each[0].share, 6) for note, each in loans.items()} == {"a": 2.0, "b": 1.0}

    def test_the_smallest_of_weights(self) -> None:
        loans = random_walk([Candidate("a", score=3.0)], [Edge("a", "b", "next", "out")], {"next": 2e-313})
        assert {note: round(each[0].share, 6) for note, each in loans.items()} == {"a": 2.0, "b": 1.0}

    def test_an_edge_told_from_both_ends_is_one(self) -> None:
        one = random_walk([A, B], [Edge("a", "b", "next", "out")], {"next": 1.0})
        both = random_walk([A, B], [Edge("a", "b", "next", "out"), Edge("b", "a", "previous", "out")], {"link": 1.0})
        assert shares(one) == shares(both)

    def test_without_damping_nobody_walks(self) -> None:
        loans = random_walk([A], [Edge("a", "b", "next", "out")], {"next": 1.0}, damping=0.0)
        assert shares(loans) == {"a": [0.8], "b": [0.0]}

    def test_seeds_without_score_start_no_walk(self) -> None:
        assert random_walk([Candidate("a")], [Edge("a", "b", "next", "out")], {"next": 1.0}) == {}

    def test_no_way_leads_anywhere(self) -> None:
        assert random_walk([A], [Edge("a", "b", "next", "out")], {}) == {}
        assert random_walk([A], [Edge("x", "b", "next", "out")], {"next": 1.0}) == {}

    def test_a_wrong_damping(self) -> None:
        with pytest.raises(ArgumentError, match="damping"):
            random_walk([A], [], {}, damping=-1.0)

    @given(
        st.lists(st.floats(0.01, 10), min_size=1, max_size=6),
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
        st.floats(0, 1),
    )
    def test_nothing_is_made_or_lost(self, scores: list[float], pairs: list[tuple[int, int]], damping: float) -> None:
        seeds = [Candidate(str(place), score=score) for place, score in enumerate(scores)]
        edges = [Edge(str(one), str(other), "link", "out") for one, other in pairs if one != other]
        loans = random_walk(seeds, edges, {"link": 1.0}, damping=damping)
        total = fsum(loan.share for each in loans.values() for loan in each)
        assert total == (pytest.approx(fsum(scores)) if loans else 0)
        assert all(loan.share >= 0 for each in loans.values() for loan in each)


class TestUsingLoans:
    def test_added(self) -> None:
        found = add_transfers([A, B, D], {"d": [Transfer("a", "next", 0.5), Transfer("b", "mention", 0.3)]}, weight=0.5)
        assert [(note.id, round(note.score, 6)) for note in found] == [("a", 0.8), ("d", 0.5), ("b", 0.4)]
        (step,) = found[1].steps
        assert (step.stage, step.addend, step.rank_before, step.rank_after) == ("graph", 0.4, 3, 2)
        assert step.reason == "after 'a', named by 'b'"

    def test_lifted_to_a_share_of_the_best_lender_at_most(self) -> None:
        loans = {
            "d": [Transfer("a", "next", 0.5), Transfer("b", "mention", 0.3)],
            "b": [Transfer("a", "next", 0.1)],
        }
        found = {note.id: note for note in add_transfers([A, B, D], loans, max_lift=0.95)}
        assert {note: each.score for note, each in found.items()} == pytest.approx({"a": 0.8, "b": 0.5, "d": 0.76})
        assert found["d"].steps[0].addend == pytest.approx(0.76 - D.score)

    def test_who_is_above_its_lender_stays(self) -> None:
        found = {
            note.id: note.score for note in add_transfers([A, B], {"a": [Transfer("b", "next", 0.3)]}, max_lift=0.95)
        }
        assert found == {"a": 0.8, "b": 0.4}

    @pytest.mark.parametrize("loan", [Transfer("s", "session", 0.9), Transfer("", "walk", 0.9)])
    def test_what_is_lent_by_no_one_in_particular_has_no_bounds(self, loan: Transfer) -> None:
        (found,) = add_transfers([B], {"b": [loan]}, max_lift=0.5)
        assert found.score == pytest.approx(1.3)

    @given(
        st.lists(st.floats(0, 10), min_size=1, max_size=6),
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0, 10)), max_size=20),
        st.floats(0, 3),
        st.floats(0.01, 1),
    )
    def test_a_lift_lowers_nobody_and_lifts_nobody_above_all_lenders(
        self, scores: list[float], lent: list[tuple[int, int, float]], weight: float, lift: float
    ) -> None:
        notes = {str(place): Candidate(str(place), score=score) for place, score in enumerate(scores)}
        loans: dict[str, list[Transfer]] = {}
        for lender, to, share in lent:
            loans.setdefault(str(to), []).append(Transfer(str(lender), "next", share))
        found = add_transfers(notes.values(), loans, weight=weight, max_lift=lift)
        free = {note.id: note.score for note in add_transfers(notes.values(), loans, weight=weight)}
        assert len(found) == len(notes)
        for note in found:
            own = notes[note.id].score
            assert own <= note.score <= free[note.id] + 1e-9
            lenders = [notes[loan.source].score for loan in loans.get(note.id, ()) if loan.source in notes]
            if lenders:
                assert note.score <= max(own, lift * max(lenders)) + 1e-9

    def test_many_lenders_are_told_in_short(self) -> None:
        lent = [
            Transfer("a", "wikilink", 0.1),
            Transfer("b", "entity", 0.3),
            Transfer("s", "session", 0.2),
        ]
        (found,) = add_transfers([Candidate("d", title="A very long title that goes on and on for ever")], {"d": lent})
        assert found.steps[0].reason == "shares an entity with 'b', in the session 's' and 1 more"

    @pytest.mark.parametrize(
        ("kind", "direction", "reason"),
        [
            ("mention", "in", "names 'a'"),
            ("supersedes", "in", "links to 'a' (supersedes)"),
            ("supersedes", "out", "linked by 'a' (supersedes)"),
            ("{0.__class__} {x}", "in", "links to 'a' ({0.__class__} {x})"),
            ("{}", "out", "linked by 'a' ({})"),
        ],
    )
    def test_both_ways_are_told(self, kind: str, direction: str, reason: str) -> None:
        (found,) = add_transfers([D], {"d": [Transfer("a", kind, 0.1, direction)]})
        assert found.steps[0].reason == reason

    def test_long_names_are_cut(self) -> None:
        long = Candidate("a", score=1.0, title="A very long title that goes on and on for ever")
        found = add_transfers([long, D], {"d": [Transfer("a", "previous", 0.1)]})
        assert found[1].steps[0].reason == "before 'A very long title that goes on and on f…'"

    def test_a_walk_has_no_lender(self) -> None:
        (found,) = add_transfers([D], {"d": [Transfer("", "walk", 0.1)]})
        assert found.steps[0].reason == "reached by a random walk from the best"

    def test_multiplied(self) -> None:
        loans = {
            "d": [Transfer("a", "next", 0.5)],
            "b": [Transfer("a", "next", 0.25)],
            "x": [Transfer("a", "next", 9.0)],
        }
        found = multiply_by_transfers([A, B, D], loans, weight=1.0)
        assert [(note.id, round(note.score, 6)) for note in found] == [("a", 0.8), ("b", 0.6), ("d", 0.2)]

    def test_nothing_lent(self) -> None:
        assert [note.score for note in multiply_by_transfers([A, B], {})] == [0.8, 0.4]
        assert multiply_by_transfers([], {}) == add_transfers([], {}) == []
        assert Transfer("a", "next", 0.5).to_dict() == {
            "from": "a",
            "kind": "next",
            "direction": "out",
            "share": 0.5,
        }


def test_loans_need_something_of_ones_own() -> None:
    notes = [Candidate("a", score=1.0), Candidate("b", score=0.2), Candidate("c", score=0.05), Candidate("d")]
    loans = {note: [Transfer("a", "mention", 0.4)] for note in "bcd"}
    found = {note.id: note.score for note in add_transfers(notes, loans, min_own_score_ratio=0.1)}
    # b has more than a tenth of what a has, c half of that, and d nothing
    assert found == pytest.approx({"a": 1.0, "b": 0.6, "c": 0.05 + 0.4 / 2, "d": 0.0})


def test_a_capped_loan_says_so() -> None:
    notes = [Candidate("a", score=1.0, title="A"), Candidate("b", score=0.8)]
    _, lifted = add_transfers(notes, {"b": [Transfer("a", "mention", 0.4)]}, max_lift=0.95)
    assert lifted.score == pytest.approx(0.95)
    assert lifted.steps[0].reason == "named by 'A', limited to 95% of its score"
