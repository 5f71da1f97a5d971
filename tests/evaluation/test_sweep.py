"""A constant that is turned."""

from __future__ import annotations

import pytest

from recollect import ArgumentError
from recollect.evaluation.sweep import Sweep, SweepPoint


def test_points_come_in_order() -> None:
    sweep = Sweep(title="t", parameter="k", measure="mrr", series={"a": [(60, 0.5, 0.4, 0.6), (5, 0.7, 0.6, 0.8)]})
    assert sweep.lines == {"a": (SweepPoint(5, 0.7, 0.6, 0.8), SweepPoint(60, 0.5, 0.4, 0.6))}


def test_there_is_something_to_draw() -> None:
    with pytest.raises(ArgumentError, match="series: must not be empty, got none for the sweep 't'"):
        Sweep(title="t", parameter="k", measure="mrr", series={})
    with pytest.raises(ArgumentError, match="series: must each have a point, got none for 'a'"):
        Sweep(title="t", parameter="k", measure="mrr", series={"a": []})
