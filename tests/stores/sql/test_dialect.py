"""Engine-neutral SQL is rendered for both engines."""

from __future__ import annotations

import pytest

from recollect.stores.postgres.text import lookup_hash
from recollect.stores.postgres.transaction import _DIALECT as POSTGRES
from recollect.stores.sqlite.transaction import _DIALECT as SQLITE


@pytest.mark.parametrize(
    ("neutral", "sqlite", "postgres"),
    [
        ("a = :a AND b = :b", "a = :a AND b = :b", "a = %(a)s AND b = %(b)s"),
        ("count(*)::bigint % 2", "count(*)::bigint % 2", "count(*)::bigint %% 2"),
        ("key IN LIST(:keys)", "key IN (SELECT value FROM json_each(:keys))", "key = ANY (%(keys)s)"),
        ("LOOKUP(n.id) = LOOKUP(:id)", "n.id = :id", "n.id_mark = %(id)s"),
        (
            "LOOKUP(+kind) IN LOOKUP_LIST(:kinds)",
            "+kind IN (SELECT value FROM json_each(:kinds))",
            "kind_mark = ANY (%(kinds)s)",
        ),
        ("visible_notes AS n STRAIGHT_JOIN links", "notes AS n CROSS JOIN links", "living AS n JOIN links"),
    ],
)
def test_render(neutral: str, sqlite: str, postgres: str) -> None:
    assert SQLITE.render(neutral).sql == sqlite
    assert POSTGRES.render(neutral).sql == postgres


def test_bind_converts_lists_and_lookups() -> None:
    sql = "a IN LIST(:a) AND LOOKUP(b) IN LOOKUP_LIST(:b) AND LOOKUP(c) = LOOKUP(:c) AND d = :d"
    params = {"a": (1, 2), "b": ["tea"], "c": "tea", "d": "tea"}
    bound = SQLITE.bind(SQLITE.render(sql), dict(params))
    assert bound == {"a": "[1, 2]", "b": '["tea"]', "c": "tea", "d": "tea"}
    bound = POSTGRES.bind(POSTGRES.render(sql), dict(params))
    assert bound == {"a": [1, 2], "b": [lookup_hash("tea")], "c": lookup_hash("tea"), "d": "tea"}
