"""Coordinate ascent: one parameter after the other is set to the value that is best while all others stay.

The values of most parameters have an order, and what is measured mostly rises and falls once along it: so one walks
from the value at hand for as long as it does not get worse, both ways, over one step on the flat but not over two,
instead of trying all of them. What makes no difference at all is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from recollect.evaluation.tuning.space import Parameter

__all__ = ["WORTH_IT", "Setting", "ascend"]

Setting: TypeAlias = tuple[tuple[Any, ...], ...]
"""The values of each parameter of a space, in its order."""

WORTH_IT = 0.002
"""What a change must gain on the questions that it is chosen on; for less, a constant stays as it is."""

_FLAT = 2
"""After how many steps that change nothing a walk ends."""


def ascend(
    start: Setting,
    space: Sequence[Parameter],
    score: Callable[[Setting], float],
    *,
    passes: int = 2,
    tried: Callable[[int], None] = lambda _: None,
) -> Setting:
    """Return the setting that is reached from ``start`` by improving one parameter at a time, so many times over all.

    Where nothing more can be improved it ends. ``tried`` is called with 1 after each value that was scored, and after
    each parameter and at the end with the number of values that were skipped.

    >>> space = [Parameter(("k",), ((0,), (1,), (2,), (3,))), Parameter(("m",), ((0,), (5,)))]
    >>> ascend(((0,), (0,)), space, lambda setting: -abs(setting[0][0] - 2) + setting[1][0])
    ((2,), (5,))
    """
    best, height = start, score(start)
    idle: set[int] = set()
    for turn in range(passes):
        before = best
        for place, parameter in enumerate(space):
            leader, top, scored = best, height, 0
            seen: set[float] = set()
            for way in _ways(parameter, best[place]) if place not in idle else ():
                flat = 0
                for values in way:
                    candidate = (*best[:place], values, *best[place + 1 :])
                    reached = score(candidate)
                    scored += 1
                    tried(1)
                    seen.add(reached)
                    flat = flat + 1 if reached == top else 0
                    if reached > top:
                        leader, top = candidate, reached
                    elif parameter.ordered and (reached < top or flat == _FLAT):
                        break
            if top - height >= WORTH_IT:
                best, height = leader, top
            elif seen <= {height}:
                idle.add(place)
            tried(len(parameter.values) - scored)
        if best == before:
            tried((passes - 1 - turn) * sum(len(parameter.values) for parameter in space))
            break
    return best


def _ways(parameter: Parameter, held: tuple[Any, ...]) -> tuple[Sequence[tuple[Any, ...]], ...]:
    """Return the values to try: those above the one at hand, and those below it, the nearest first."""
    if held not in parameter.values:
        return tuple((values,) for values in parameter.values)  # between two of them: each is a way of its own
    at = parameter.values.index(held)
    return parameter.values[at + 1 :], parameter.values[:at][::-1]
