"""Encrypted cursors of listings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError
from recollect.server.auth import Cursors


class TestCursors:
    @given(st.integers(0, 2**63 - 1), st.text())
    def test_cursor_roundtrip(self, index: int, namespace: str) -> None:
        cursors = Cursors()
        name = namespace.encode("utf-8", "replace").decode()
        assert cursors.decode(cursors.encode(index, name), name) == index

    @pytest.mark.parametrize("cursor", ["", "x", "é", "A" * 48, "====", "A" * 47])
    def test_invalid_cursor(self, cursor: str) -> None:
        with pytest.raises(ArgumentError, match="cursor: was not issued by this server"):
            Cursors().decode(cursor, "tea")

    def test_cursor_belongs_to_one_server(self) -> None:
        cursors, other_cursors = Cursors(), Cursors()
        assert cursors.encode(7, "tea") != cursors.encode(7, "tea")
        with pytest.raises(ArgumentError):
            other_cursors.decode(cursors.encode(7, "tea"), "tea")
        sealed = cursors.encode(7, "tea")
        assert sealed is not None
        with pytest.raises(ArgumentError):
            cursors.decode(("B" if sealed[0] == "A" else "A") + sealed[1:], "tea")
        assert cursors.decode(None, "tea") == 0
