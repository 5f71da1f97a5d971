"""The canonical FTS5 string of a query, which the trace shows.

The string is the source document's, and not always valid: FTS5 has no ``AND NOT``. A store executes its own rendering
of the query (:func:`recollect.query.render`), which is valid for any text.
"""

from __future__ import annotations

from recollect.query.tree import Query, Token, require_query

__all__ = ["compile_fts5"]

_CONNECTIVES = {None: "OR", "OR": "OR", "AND": "AND", "NOT": "AND NOT"}


def compile_fts5(query: Query) -> str:
    """Return the canonical FTS5 string of ``query``.

    Tokens are joined by OR unless they carry an operator; NOT is written ``AND NOT``; the first token's operator is
    dropped. It is for showing and comparing, not for executing.

    >>> from recollect.query import parse
    >>> compile_fts5(parse('foo AND "bar baz" NOT qu*'))
    'foo AND "bar baz" AND NOT qu*'
    """
    parts: list[str] = []
    for token in require_query(query).tokens:
        if parts:
            parts.append(_CONNECTIVES[token.operator])
        parts.append(_surface(token))
    return " ".join(parts)


def _surface(token: Token) -> str:
    match token.kind:
        case "phrase":
            return f'"{token.text}"'
        case "prefix":
            return f"{token.text}*"
        case _:
            return token.text
