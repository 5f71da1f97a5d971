from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.synthetic.sampling import spread
from recollect.model import Note

notes = st.builds(
    Note,
    content=st.sampled_from(["x", "x" * 200, "x" * 900]),
    session=st.sampled_from(["", "monday", "friday"]),
    path=st.sampled_from(["", "work/a.md", "home/b.md"]),
)


@given(st.lists(notes, max_size=40), st.integers(0, 99))
def test_each_note_once_and_always_in_the_same_order(given_notes: list[Note], seed: int) -> None:
    order = list(spread(given_notes, np.random.default_rng(seed)))
    assert sorted(order) == list(range(len(given_notes)))
    assert order == list(spread(given_notes, np.random.default_rng(seed)))


def test_small_kinds_come_before_large_ones_are_through() -> None:
    many = [Note(content="x", session="long")] * 50 + [Note(content="x", session="short"), Note(content="y" * 500)]
    first = list(spread(many, np.random.default_rng(0)))[:3]
    assert {50, 51} <= set(first)
