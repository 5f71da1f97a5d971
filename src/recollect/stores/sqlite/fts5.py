"""Render queries as FTS5 MATCH expressions.

Every term is quoted, so that an expression is valid for any text that a user types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.query import Query, exclusion, expression, render
from recollect.query.expressions import Reading
from recollect.query.tree import Kind

__all__ = ["render_fts5", "render_fts5_exclusion"]


def render_fts5(query: Query, reading: Reading = "strict") -> str:
    """Return the FTS5 expression of ``query``: valid for any text, empty if nothing can match.

    >>> from recollect.query import expand_aliases, parse
    >>> render_fts5(expand_aliases(parse("foo NOT bar"), {"bar": ["x one", "y"]}), "literal")
    '"foo" NOT ("x one" OR "y")'
    >>> render_fts5(parse("foo OR bar NOT baz"))
    '("foo" OR "bar") NOT "baz"'
    >>> render_fts5(parse("notes of 2026-04-04"))
    '"notes" OR "2026 04 04"'
    """
    node = expression(query, reading)
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


def render_fts5_exclusion(query: Query) -> str:
    """Return the FTS5 expression of the terms that ``query`` excludes; empty if it excludes none.

    >>> from recollect.query import parse
    >>> render_fts5_exclusion(parse("deploy NOT friday NOT eve*"))
    '"friday" OR "eve" *'
    """
    node = exclusion(query)
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class _Fts5:
    """Renders nodes in FTS5 syntax; parenthesises every compound node."""

    def match(self, kind: Kind, text: str) -> str:
        quoted = _CONTROL_CHARACTERS.sub(" ", text).replace('"', '""')
        return f'"{quoted}" *' if kind == "prefix" else f'"{quoted}"'

    def any_of(self, parts: Sequence[str]) -> str:
        return f"({' OR '.join(parts)})"

    def all_of(self, parts: Sequence[str]) -> str:
        return f"({' AND '.join(parts)})"

    def without(self, wanted: str, excluded: str) -> str:
        return f"({wanted} NOT {excluded})"
