from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ForbiddenError
from recollect.server import EVERYONE, Caller, Grant, Right

NAMESPACES = st.sampled_from(["tea", "coffee", "default", "work"])
RIGHTS = st.sampled_from(list(Right))


@given(st.none() | st.frozensets(NAMESPACES, min_size=1), RIGHTS, NAMESPACES, RIGHTS)
def test_a_caller_gets_a_namespace_of_theirs_or_none(
    held: frozenset[str] | None, right: Right, asked: str, wanted: Right
) -> None:
    caller = Caller("kettle", Grant.of(held, right))
    if (held is None or asked in held) and wanted <= right:
        assert caller.namespace(asked, wanted) == asked
    else:
        with pytest.raises(ForbiddenError, match="kettle may not"):
            caller.namespace(asked, wanted)


@pytest.mark.parametrize(
    ("held", "expected"),
    [(None, "default"), (["tea"], "tea"), (["tea", "default"], "default"), (["default"], "default")],
)
def test_the_namespace_of_who_asks_for_none(held: list[str] | None, expected: str) -> None:
    assert Caller("kettle", Grant.of(held, "read")).namespace(None, Right.READ) == expected


def test_several_namespaces_without_the_usual_one_must_be_named() -> None:
    with pytest.raises(ForbiddenError, match="'default'"):
        Caller("kettle", Grant.of(["tea", "coffee"], "read")).namespace(None, Right.READ)


def test_what_is_no_namespace_is_told_apart_from_what_is_forbidden() -> None:
    with pytest.raises(ArgumentError, match="namespace: must be one line"):
        EVERYONE.namespace("te\0a", Right.READ)
    with pytest.raises(ArgumentError, match="right: must be one of read, write, admin"):
        Grant.of(["tea"], "everything")
    with pytest.raises(ArgumentError, match="namespaces"):
        Grant.of("tea", "read")


def test_a_surrogate_is_no_way_around() -> None:
    """What a store would make of a name is what is asked for, not what was written."""
    assert Caller("kettle", Grant.of(["tea\ud800"], "read")).namespace("tea\ufffd", Right.READ) == "tea\ufffd"


@pytest.mark.parametrize(
    ("held", "right", "allowed"),
    [(None, "admin", True), (None, "write", False), (["tea"], "admin", False), (["tea"], "read", False)],
)
def test_what_concerns_all_namespaces(held: list[str] | None, right: str, allowed: bool) -> None:
    caller = Caller("kettle", Grant.of(held, right))
    if allowed:
        caller.require_everywhere(Right.ADMIN)
    else:
        with pytest.raises(ForbiddenError, match="does not hold admin in all namespaces"):
            caller.require_everywhere(Right.ADMIN)
