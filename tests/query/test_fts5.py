from __future__ import annotations

import pytest

from recollect import ArgumentTypeError
from recollect.query import compile_fts5, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Kubernetes Deployment", "kubernetes OR deployment"),
        ('"hello world" kube*', '"hello world" OR kube*'),
        ("foo AND bar NOT baz", "foo AND bar AND NOT baz"),
        ("NOT alpha bravo", "alpha OR bravo"),
        ("AND alpha bravo", "alpha OR bravo"),
        ("to do list", ""),
        ("foo AND NOT bar", "foo AND NOT bar"),
        ("2026/04/18", "20260418"),
    ],
)
def test_canonical_string(text: str, expected: str) -> None:
    assert compile_fts5(parse(text)) == expected


def test_compile_rejects_what_is_no_query() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^query: must be a Query as parse\(\) returns it, got str"):
        compile_fts5("foo")  # type: ignore[arg-type]
