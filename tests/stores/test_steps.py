"""Steps come by note, each once, and those of one note in the order in which they were found."""

from __future__ import annotations

from recollect.stores.steps import Step, gathered, links_among


def test_steps_come_by_note_and_once() -> None:
    out, back = Step(1, 2, "related", "out"), Step(2, 1, "related", "in")
    mention = Step(1, 3, "mention", "out")
    assert gathered([2, 1, 5], [[out, back], [mention, out]]) == [back, out, mention]


def test_a_note_is_not_connected_with_itself() -> None:
    assert gathered([1], [[Step(1, 1, "related", "out")]]) == []


def test_some_kinds_are_asked_for() -> None:
    found = [Step(1, 2, "related", "out"), Step(1, 2, "mention", "out")]
    assert gathered([1], [found], {"mention"}) == found[1:]


def test_a_few_links_are_looked_through_from_both_ends() -> None:
    links = [(3, "related", "tea"), (1, "related", "tea"), (1, "part-of", "milk"), (1, "related", "nowhere")]
    assert list(links_among({1, 2}, links, {"tea": 2, "milk": 4})) == [
        Step(1, 2, "related", "out"),
        Step(1, 4, "part-of", "out"),
        Step(2, 1, "related", "in"),
        Step(2, 3, "related", "in"),
    ]
