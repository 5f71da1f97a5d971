"""The documented tree of a query: what a person asked for, before any engine is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from recollect.errors import ArgumentTypeError

__all__ = ["Kind", "Operator", "Query", "Token", "require_query"]

Kind = Literal["term", "phrase", "prefix"]
Operator = Literal["AND", "OR", "NOT"]


class Token(NamedTuple):
    """One word, phrase or prefix of a query.

    >>> Token("term", "nodejs", "AND", "node.js").to_dict()
    {'kind': 'term', 'text': 'nodejs', 'operator': 'AND'}
    """

    kind: Kind
    """Whether it is a word, a quoted phrase, or the beginning of a word."""
    text: str
    """What to look for, cleaned and lower-cased."""
    operator: Operator | None = None
    """The explicit operator in front of it."""
    source: str = ""
    """What the person wrote in its place: ``node.js`` where the text is ``nodejs``."""
    alternative: int = 0
    """0 for the person's own word; else it is the first, second, … of the aliases that took that word's place."""

    def to_dict(self) -> dict[str, str]:
        """Return the documented form: kind, text, and the operator where there is one."""
        described: dict[str, str] = {"kind": self.kind, "text": self.text}
        if self.operator is not None:
            described["operator"] = self.operator
        return described


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    >>> Query("green tea", (Token("term", "green"), Token("term", "tea")), has_operators=False).to_dict()["raw"]
    'green tea'
    """

    raw: str
    """The normalised text."""
    tokens: tuple[Token, ...]
    """What is sought, in the order in which it was written."""
    has_operators: bool
    """Whether the text holds a quote or an explicit operator, which turns the stopword filter off."""
    warnings: tuple[str, ...] = ()
    """What the person should be told of how the text was read."""

    def to_dict(self) -> dict[str, Any]:
        """Return the documented syntax tree: raw, tokens, hasOperators."""
        return {
            "raw": self.raw,
            "tokens": [token.to_dict() for token in self.tokens],
            "hasOperators": self.has_operators,
        }


def require_query(value: Any) -> Query:
    """Return ``value`` if it is a parsed query."""
    if not isinstance(value, Query):
        raise ArgumentTypeError("query", f"must be a Query as parse() returns it, got {type(value).__name__}")
    return value
