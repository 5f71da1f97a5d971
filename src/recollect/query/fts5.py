"""The query for SQLite FTS5: the canonical string that the trace shows, and the one that is executed.

The canonical string is the source document's, and not always valid: FTS5 knows no ``AND NOT``. What is executed is
rendered from the query's meaning, with every word quoted, and is valid for any text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.query.expressions import Reading, exclusion, expression, render
from recollect.query.tree import Kind, Query, Token, require_query

__all__ = ["compile_fts5", "render_fts5", "render_fts5_exclusion"]


def compile_fts5(query: Query) -> str:
    """Return the canonical FTS5 string of ``query``.

    Tokens are joined by OR unless they carry an operator; NOT is written ``AND NOT``; the first token's operator is
    dropped. It is for showing and comparing: execute :func:`render_fts5` instead.

    >>> from recollect.query import parse
    >>> compile_fts5(parse('foo AND "bar baz" NOT qu*'))
    'foo AND "bar baz" AND NOT qu*'
    """
    pieces: list[str] = []
    for token in require_query(query).tokens:
        if pieces:
            pieces.append(_CONNECTIVES[token.operator])
        pieces.append(_surface(token))
    return " ".join(pieces)


def render_fts5(query: Query, reading: Reading = "strict") -> str:
    """Return the FTS5 string that is executed for ``query``: valid for any text, empty where nothing can match.

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
    """Return the FTS5 string of what a note must not hold to be found by ``query``; empty where nothing is excluded.

    >>> from recollect.query import parse
    >>> render_fts5_exclusion(parse("deploy NOT friday NOT eve*"))
    '"friday" OR "eve" *'
    """
    node = exclusion(query)
    return "" if node is None else render(node, _Fts5()).removeprefix("(").removesuffix(")")


_CONNECTIVES = {None: "OR", "OR": "OR", "AND": "AND", "NOT": "AND NOT"}


def _surface(token: Token) -> str:
    match token.kind:
        case "phrase":
            return f'"{token.text}"'
        case "prefix":
            return f"{token.text}*"
        case _:
            return token.text


_NOT_FOR_MATCH = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class _Fts5:
    """Writes nodes in FTS5's syntax; a compound node in brackets of its own."""

    def match(self, kind: Kind, text: str) -> str:
        quoted = _NOT_FOR_MATCH.sub(" ", text).replace('"', '""')
        return f'"{quoted}" *' if kind == "prefix" else f'"{quoted}"'

    def any_of(self, parts: Sequence[str]) -> str:
        return f"({' OR '.join(parts)})"

    def all_of(self, parts: Sequence[str]) -> str:
        return f"({' AND '.join(parts)})"

    def without(self, wanted: str, excluded: str) -> str:
        return f"({wanted} NOT {excluded})"
