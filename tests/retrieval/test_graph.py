"""Score propagation: notes transfer a share of their score to connected notes; cycles of superseding notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate
from recollect.model import Edge, as_candidates
from recollect.ranking.stage import apply_result, with_steps
from recollect.retrieval import GraphRules
from recollect.retrieval import ScoreTransfer as Transfer
from recollect.retrieval.graph import added_transfers, cycles, multiplied_by_transfers, one_hop, without_cycles

A, B = Candidate("a", score=0.8, session="s1"), Candidate("b", score=0.4, session="s1")
C, D = Candidate("c", score=0.2, session="s2"), Candidate("d", score=0.1)


def add_transfers(candidates: Any, transfers: Mapping[str, Sequence[Transfer]], **settings: Any) -> list[Candidate]:
    notes = [note.copy() for note in as_candidates("candidates", candidates)]
    return with_steps(apply_result("graph", notes, added_transfers(notes, transfers, GraphRules(**settings))))


def multiply_by_transfers(
    candidates: Any, transfers: Mapping[str, Sequence[Transfer]], *, weight: float = 1.0
) -> list[Candidate]:
    notes = [note.copy() for note in as_candidates("candidates", candidates)]
    return with_steps(apply_result("graph", notes, multiplied_by_transfers(notes, transfers, weight)))


def shares(transfers: dict[str, list[Transfer]]) -> dict[str, list[float]]:
    return {note: [round(transfer.score, 6) for transfer in incoming] for note, incoming in transfers.items()}


class TestOneHop:
    def test_transfer_is_the_score_times_the_weight_of_the_kind(self) -> None:
        edges = [Edge("a", "x", "next", "out"), Edge("b", "x", "mention", "in"), Edge("a", "y", "wikilink", "out")]
        assert shares(one_hop([A, B], edges, {"next": 0.5, "mention": 0.25, "link": 0.1})) == {
            "x": [0.4, 0.1],
            "y": [0.08],
        }

    def test_kind_without_weight_transfers_nothing(self) -> None:
        assert one_hop([A], [Edge("a", "x", "entity", "out")], {"next": 1.0}) == {}
        assert one_hop([A], [Edge("a", "x", "entity", "out")], {"link": 1.0, "entity": 0.0}) == {}

    def test_only_seeds_transfer_score(self) -> None:
        assert one_hop([A], [Edge("b", "x", "next", "out")], {"next": 1.0}) == {}

    def test_each_further_position_halves_the_transfer(self) -> None:
        edges = [Edge("a", "x", "next", "out"), Edge("a", "y", "next", "out", 2), Edge("a", "z", "next", "out", 3)]
        assert shares(one_hop([A], edges, {"next": 0.5})) == {"x": [0.4], "y": [0.2], "z": [0.1]}

    def test_degree_penalty_divides_by_both_degrees(self) -> None:
        edges = [Edge("a", "x", "mention", "out"), Edge("a", "y", "mention", "out"), Edge("b", "x", "mention", "in")]
        edges += [Edge("a", "z", "next", "out"), Edge("a", "z2", "next", "out", 2)]
        transfers = one_hop([A, B], edges, {"mention": 0.5, "next": 0.5}, degree_penalty=0.5)
        # The degree of a and x is 2, that of b and y is 1: 0.4 / √(2·2), 0.2 / √2 and 0.4 / √2. For positions it is 1.
        assert shares(transfers) == {"x": [0.2, 0.141421], "y": [0.282843], "z": [0.4], "z2": [0.2]}

    def test_edge_listed_from_both_ends_counts_once(self) -> None:
        edge, reverse = Edge("a", "b", "mention", "out"), Edge("b", "a", "mention", "in")
        assert shares(one_hop([A], [edge], {"mention": 1.0}, degree_penalty=0.5)) == {"b": [0.8]}
        assert shares(one_hop([A, B], [edge, reverse], {"mention": 1.0}, degree_penalty=0.5)) == {
            "b": [0.8],
            "a": [0.4],
        }

    def test_session_transfers_the_scores_of_its_other_seeds(self) -> None:
        transfers = one_hop([A, B, C, D], [], {"session": 0.5}, pool=[A, B, C, D])
        assert transfers == {"a": [Transfer("s1", "session", 0.2)], "b": [Transfer("s1", "session", 0.4)]}


class TestAdjustments:
    def test_transfers_are_added(self) -> None:
        ranked = add_transfers(
            [A, B, D], {"d": [Transfer("a", "next", 0.5), Transfer("b", "mention", 0.3)]}, weight=0.5
        )
        assert [(note.id, round(note.score, 6)) for note in ranked] == [("a", 0.8), ("d", 0.5), ("b", 0.4)]
        (step,) = ranked[1].steps
        assert (step.stage, step.addend, step.rank_before, step.rank_after) == ("graph", 0.4, 3, 2)
        assert step.reason == "after 'a', named by 'b'"

    def test_max_lift_is_a_share_of_the_best_source_score(self) -> None:
        transfers = {
            "d": [Transfer("a", "next", 0.5), Transfer("b", "mention", 0.3)],
            "b": [Transfer("a", "next", 0.1)],
        }
        ranked = {note.id: note for note in add_transfers([A, B, D], transfers, max_lift=0.95)}
        assert {note: candidate.score for note, candidate in ranked.items()} == pytest.approx(
            {"a": 0.8, "b": 0.5, "d": 0.76}
        )
        assert ranked["d"].steps[0].addend == pytest.approx(0.76 - D.score)

    def test_note_above_its_source_keeps_its_score(self) -> None:
        ranked = {
            note.id: note.score for note in add_transfers([A, B], {"a": [Transfer("b", "next", 0.3)]}, max_lift=0.95)
        }
        assert ranked == {"a": 0.8, "b": 0.4}

    def test_max_lift_does_not_limit_the_transfer_of_a_session(self) -> None:
        (note,) = add_transfers([B], {"b": [Transfer("s", "session", 0.9)]}, max_lift=0.5)
        assert note.score == pytest.approx(1.3)

    @given(
        st.lists(st.floats(0, 10), min_size=1, max_size=6),
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0, 10)), max_size=20),
        st.floats(0, 3),
        st.floats(0.01, 1),
    )
    def test_max_lift_never_lowers_a_score_nor_exceeds_the_limit(
        self, scores: list[float], edges: list[tuple[int, int, float]], weight: float, max_lift: float
    ) -> None:
        notes = {str(index): Candidate(str(index), score=score) for index, score in enumerate(scores)}
        transfers: dict[str, list[Transfer]] = {}
        for source, target, share in edges:
            transfers.setdefault(str(target), []).append(Transfer(str(source), "next", share))
        ranked = add_transfers(notes.values(), transfers, weight=weight, max_lift=max_lift)
        unlimited = {note.id: note.score for note in add_transfers(notes.values(), transfers, weight=weight)}
        assert len(ranked) == len(notes)
        for note in ranked:
            own_score = notes[note.id].score
            assert own_score <= note.score <= unlimited[note.id] + 1e-9
            source_ids = [transfer.source for transfer in transfers.get(note.id, ()) if transfer.source in notes]
            if source_ids:
                best_source_score = max(notes[source_id].score for source_id in source_ids)
                assert note.score <= max(own_score, max_lift * best_source_score) + 1e-9

    def test_reason_names_the_two_largest_transfers(self) -> None:
        transfers = [
            Transfer("a", "wikilink", 0.1),
            Transfer("b", "entity", 0.3),
            Transfer("s", "session", 0.2),
        ]
        (ranked,) = add_transfers(
            [Candidate("d", title="A very long title that goes on and on for ever")], {"d": transfers}
        )
        assert ranked.steps[0].reason == "shares an entity with 'b', in the session 's' and 1 more"

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
    def test_reason_names_the_direction_of_a_link(self, kind: str, direction: str, reason: str) -> None:
        (ranked,) = add_transfers([D], {"d": [Transfer("a", kind, 0.1, direction)]})
        assert ranked.steps[0].reason == reason

    def test_reason_truncates_long_names(self) -> None:
        long = Candidate("a", score=1.0, title="A very long title that goes on and on for ever")
        ranked = add_transfers([long, D], {"d": [Transfer("a", "previous", 0.1)]})
        assert ranked[1].steps[0].reason == "before 'A very long title that goes on and on f…'"

    def test_scores_are_multiplied_by_transfers(self) -> None:
        transfers = {
            "d": [Transfer("a", "next", 0.5)],
            "b": [Transfer("a", "next", 0.25)],
            "x": [Transfer("a", "next", 9.0)],
        }
        ranked = multiply_by_transfers([A, B, D], transfers, weight=1.0)
        assert [(note.id, round(note.score, 6)) for note in ranked] == [("a", 0.8), ("b", 0.6), ("d", 0.2)]

    def test_no_transfers_change_nothing(self) -> None:
        assert [note.score for note in multiply_by_transfers([A, B], {})] == [0.8, 0.4]
        assert multiply_by_transfers([], {}) == add_transfers([], {}) == []
        assert Transfer("a", "next", 0.5).to_dict() == {
            "from": "a",
            "kind": "next",
            "direction": "out",
            "score": 0.5,
        }


def test_min_own_score_ratio_scales_transfers() -> None:
    notes = [Candidate("a", score=1.0), Candidate("b", score=0.2), Candidate("c", score=0.05), Candidate("d")]
    transfers = {note: [Transfer("a", "mention", 0.4)] for note in "bcd"}
    ranked = {note.id: note.score for note in add_transfers(notes, transfers, min_own_score_ratio=0.1)}
    # b has more than a tenth of the score of a, c half of that, d none
    assert ranked == pytest.approx({"a": 1.0, "b": 0.6, "c": 0.05 + 0.4 / 2, "d": 0.0})


def test_reason_names_the_limit() -> None:
    notes = [Candidate("a", score=1.0, title="A"), Candidate("b", score=0.8)]
    _, lifted = add_transfers(notes, {"b": [Transfer("a", "mention", 0.4)]}, max_lift=0.95)
    assert lifted.score == pytest.approx(0.95)
    assert lifted.steps[0].reason == "named by 'A', limited to 95% of its score"


def is_reachable(successors: dict[str, tuple[str, ...]], start: str, end: str) -> bool:
    pending, seen = [start], {start}
    while pending:
        later = set(successors.get(pending.pop(), ())) - seen
        pending += later
        seen |= later
    return end in seen


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)))
def test_cycles_are_notes_that_reach_each_other(successors: dict[str, tuple[str, ...]]) -> None:
    def in_cycle(note: str, other: str) -> bool:
        return is_reachable(successors, note, other) and is_reachable(successors, other, note)

    groups = {tuple(other for other in "abcdef" if in_cycle(note, other)) for note in "abcdef"}
    assert cycles(successors) == sorted(group for group in groups if len(group) > 1)
    expected = {
        note: tuple(other for other in later if not in_cycle(note, other)) for note, later in successors.items()
    }
    assert without_cycles(successors) == {note: later for note, later in expected.items() if later}
