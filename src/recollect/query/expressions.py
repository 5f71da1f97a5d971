"""The boolean expression of a query, which every engine renders in its own language.

The documented tree is a flat list of tokens. Here it becomes nested nodes, with one of two semantics:

``literal``
    as SQLite FTS5 binds the operators: NOT tighter than AND, AND tighter than OR; a leading NOT is ignored. The presets
    that reproduce a source document use it.
``strict``
    (all that is included) NOT (all that is excluded), wherever the NOT is. A word with punctuation inside, such as
    ``node.js``, matches in both spellings, and words of punctuation alone are ignored. The default preset uses it.

In both, the aliases of one word are alternatives, and a date is a phrase, so that 2026/04/04 matches 2026-04-04.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import regex

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.query.parser import (
    PUNCTUATION,
    Kind,
    Operator,
    Query,
    Token,
    clean_word,
    require_query,
    strip_punctuation,
)
from recollect.text import collapse_whitespace, has_new_capitals

__all__ = [
    "AllOf",
    "AnyOf",
    "Except",
    "Expression",
    "Match",
    "Renderer",
    "Semantics",
    "exclusion",
    "expression",
    "render",
]

Semantics = Literal["strict", "literal"]


@dataclass(frozen=True, slots=True)
class Match:
    """Notes that contain this term, phrase or prefix; of a prefix of several words, the last is a prefix."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Notes that match at least one part."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Notes that match every part."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Except:
    """Notes that match one expression and not the other."""

    included: Expression
    excluded: Expression


Expression = Match | AnyOf | AllOf | Except

Rendered = TypeVar("Rendered")


class Renderer(Protocol[Rendered]):
    """A visitor that writes each kind of node in an engine's language."""

    def match(self, kind: Kind, text: str) -> Rendered:
        """Write a leaf."""

    def any_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Write a disjunction of rendered parts."""

    def all_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Write a conjunction of rendered parts."""

    def without(self, included: Rendered, excluded: Rendered) -> Rendered:
        """Write the included part without the excluded one."""


def render(node: Expression, renderer: Renderer[Rendered]) -> Rendered:
    """Return ``node`` as ``renderer`` writes it, leaves first.

    >>> from recollect.query import parse
    >>> class Plain:
    ...     def match(self, kind, text): return text
    ...     def any_of(self, parts): return f"any({', '.join(parts)})"
    ...     def all_of(self, parts): return f"all({', '.join(parts)})"
    ...     def without(self, included, excluded): return f"{included} but not {excluded}"
    >>> render(expression(parse("green tea NOT sugar")), Plain())
    'any(green, tea) but not sugar'
    """
    if not isinstance(node, Match | AnyOf | AllOf | Except):
        raise ArgumentTypeError("node", f"must be an expression, which an empty query has not; got {node!r}")
    match node:
        case Match(kind, text):
            return renderer.match(kind, text)
        case AnyOf(parts):
            return renderer.any_of([render(part, renderer) for part in parts])
        case AllOf(parts):
            return renderer.all_of([render(part, renderer) for part in parts])
        case _:
            return renderer.without(render(node.included, renderer), render(node.excluded, renderer))


def expression(query: Query, semantics: Semantics = "strict") -> Expression | None:
    """Return the expression of ``query``, or ``None`` if there is nothing to match.

    >>> from recollect.query import parse
    >>> expression(parse("foo OR bar NOT baz"), "literal")  # doctest: +NORMALIZE_WHITESPACE
    AnyOf(parts=(Match(kind='term', text='foo'),
                 Except(included=Match(kind='term', text='bar'), excluded=Match(kind='term', text='baz'))))
    """
    require_query(query)
    arguments.choice("semantics", semantics, ("strict", "literal"))
    if semantics == "literal":
        return _bind([(group[0].operator, _any([_leaf(token) for token in group])) for group in _groups(query)])
    included: list[_Clause] = [
        (group[0].operator, _any([leaf for token in group for leaf in _spellings(token)]))
        for group in _groups(query)
        if group[0].operator != "NOT"
    ]
    positive, negative = _bind(included, strict=True), exclusion(query)
    return Except(positive, negative) if positive and negative else positive


_Clause = tuple[Operator | None, Expression]
"""A word of the query with its alternatives, and the operator before it."""


def exclusion(query: Query) -> Expression | None:
    """Return what notes must not match under strict semantics, or ``None`` if nothing is excluded.

    >>> from recollect.query import parse
    >>> exclusion(parse("deploy NOT friday"))
    Match(kind='term', text='friday')
    """
    excluded = [
        leaf
        for group in _groups(require_query(query))
        if group[0].operator == "NOT"
        for leaf in (*(leaf for token in group for leaf in _spellings(token)), *_as_written(group[0]))
    ]
    return _any(list(dict.fromkeys(excluded))) if excluded else None


def _as_written(token: Token) -> list[Match]:
    """Return the excluded word itself, which aliases or dates may have replaced."""
    written = Token("term", clean_word(token.source), None, token.source) if token.alternative else token
    return [*_spellings(written), Match(written.kind, written.text)]


def _groups(query: Query) -> list[list[Token]]:
    """Return the tokens grouped by the word of the query that they are alternatives of."""
    groups: list[list[Token]] = []
    for token in query.tokens:
        if token.alternative > 1 and groups:
            groups[-1].append(token)
        else:
            groups.append([token])
    return groups


def _bind(clauses: Sequence[_Clause], *, strict: bool = False) -> Expression | None:
    """Join clauses as FTS5 binds them; the operator of the first one is ignored.

    No index contains punctuation, so that ``tea AND "?!"`` matches nothing; with ``strict``, it is ignored, and
    repeated words are dropped, which only cost time.
    """
    alternatives: list[Expression] = []
    required: list[Expression] = []
    excluded: list[Expression] = []

    def close() -> None:
        if required:
            words = [node for node in required if _has_word(node)] if strict else []
            parts = words or required
            included = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
            alternatives.append(Except(included, _any(excluded)) if excluded else included)
        required.clear()
        excluded.clear()

    for index, (operator, node) in enumerate(clauses):
        if index == 0 or operator in (None, "OR"):
            close()
        (excluded if operator == "NOT" and index else required).append(node)
    close()
    if strict:
        alternatives = list(dict.fromkeys(alternatives))
    return _any(_without_repeated_dates(alternatives)) if alternatives else None


def _has_word(node: Expression) -> bool:
    leaves = node.parts if isinstance(node, AnyOf) else (node,)
    return any(isinstance(leaf, Match) and _WORD.search(leaf.text) for leaf in leaves)


def _any(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


_DATE = re.compile(r"\W*([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})\W*")
_DATE_WORDS = re.compile(r"[0-9]{4} [0-9]{2} [0-9]{2}")
_WORD = regex.compile(r"[\p{L}\p{N}\p{Co}]")
_TO_SPACES = {ord(character): " " for character in PUNCTUATION}


def _leaf(token: Token) -> Match:
    """Return the leaf of a token; a date becomes the phrase of its parts, which the parser joined into one number."""
    date = None if token.alternative or token.kind == "phrase" else _DATE.fullmatch(token.source)
    if date is None:
        return Match(token.kind, token.text)
    return Match(_KIND_OF_PARTS[token.kind], " ".join(date.groups()))


def _spellings(token: Token) -> list[Match]:
    """Return the leaf of a token, and the other forms in which an index may contain the word."""
    leaf = _leaf(token)
    if token.alternative or leaf.text != token.text:
        return [leaf]
    is_phrase = token.kind == "phrase"
    spellings = [leaf]
    if has_new_capitals(token.source):
        written = token.source.strip('" ') if is_phrase else strip_punctuation(token.source)
        spellings.append(Match(token.kind, written))
    parts = [] if is_phrase else collapse_whitespace(token.source.translate(_TO_SPACES)).lower().split(" ")
    if len(parts) > 1:
        spellings.append(Match(_KIND_OF_PARTS[token.kind], " ".join(parts)))
    return spellings


_KIND_OF_PARTS: dict[Kind, Kind] = {"term": "phrase", "phrase": "phrase", "prefix": "prefix"}


def _without_repeated_dates(alternatives: Sequence[Expression]) -> list[Expression]:
    """Drop repeated dates: temporal expansion writes each in two spellings."""
    distinct: list[Expression] = []
    dates: set[Expression] = set()
    for node in alternatives:
        if isinstance(node, Match) and _DATE_WORDS.fullmatch(node.text):
            if node in dates:
                continue
            dates.add(node)
        distinct.append(node)
    return distinct
