"""What is derived from a namespace is kept for as long as its notes say the same, and as there is room."""

from __future__ import annotations

import pytest

from recollect.stores import revisions
from recollect.stores.revisions import Kept


class Still:
    """Transactions that always see the same."""

    def revision(self, _: str, namespace: int) -> int:
        return namespace

    def renew(self, _: str) -> None:
        """See the same again."""


def test_those_that_were_not_asked_for_the_longest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "MOST_NAMESPACES", 2)
    derived: list[int] = []

    def derive(_: str, namespace: int, before: int | None) -> int:
        assert before is None
        derived.append(namespace)
        return 10 * namespace

    kept = Kept(derive, Still())
    assert [kept.at("", namespace) for namespace in (1, 2, 1, 3, 1, 3, 2)] == [10, 20, 10, 30, 10, 30, 20]
    assert derived == [1, 2, 3, 2]
