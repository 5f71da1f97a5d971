"""What a query means: a boolean expression that any engine can render.

The documented tree is a flat list of tokens. Here it becomes nested nodes, under one of two readings:

``literal``
    as SQLite FTS5 would bind the operators: NOT tighter than AND, AND tighter than OR; a leading NOT counts for
    nothing. The presets that reproduce a source document use it.
``strict``
    exclusion means exclusion: (what is wanted) NOT (all that is excluded), wherever the NOT stood. A word with
    punctuation inside, such as ``node.js``, is sought in both spellings, and what is punctuation alone is passed
    over. The default preset uses it.

In both, the aliases of one word stand or fall together, and a date is a phrase, so that 2026/04/04 finds 2026-04-04.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import regex

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.query.parser import PUNCTUATION, clean_word, strip_punctuation
from recollect.query.tree import Kind, Operator, Query, Token, require_query
from recollect.text import collapse_whitespace, has_new_capitals

__all__ = [
    "AllOf",
    "AnyOf",
    "Except",
    "Expression",
    "Match",
    "Reading",
    "Renderer",
    "exclusion",
    "expression",
    "render",
]

Reading = Literal["strict", "literal"]


@dataclass(frozen=True, slots=True)
class Match:
    """A leaf: notes that hold this term, phrase or prefix. A prefix of several words ends in a prefix."""

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
    """Notes that match what is wanted and nothing of what is excluded."""

    wanted: Expression
    excluded: Expression


Expression = Match | AnyOf | AllOf | Except
"""What a query asks for: one of the nodes above."""

Rendered = TypeVar("Rendered")


class Renderer(Protocol[Rendered]):
    """One engine's way of writing each kind of node: the visitor that :func:`render` sends over the nodes."""

    def match(self, kind: Kind, text: str) -> Rendered:
        """Write a leaf."""

    def any_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Write a choice between parts that are written already."""

    def all_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Write that all parts must match."""

    def without(self, wanted: Rendered, excluded: Rendered) -> Rendered:
        """Write what is wanted less what is excluded."""


def render(node: Expression, renderer: Renderer[Rendered]) -> Rendered:
    """Return ``node`` as ``renderer`` writes it, from the leaves up.

    >>> from recollect.query import parse
    >>> class Plain:
    ...     def match(self, kind, text): return text
    ...     def any_of(self, parts): return f"any({', '.join(parts)})"
    ...     def all_of(self, parts): return f"all({', '.join(parts)})"
    ...     def without(self, wanted, excluded): return f"{wanted} but not {excluded}"
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
            return renderer.without(render(node.wanted, renderer), render(node.excluded, renderer))


def expression(query: Query, reading: Reading = "strict") -> Expression | None:
    """Return what ``query`` means under a reading, or ``None`` if it asks for nothing that could be matched.

    >>> from recollect.query import parse
    >>> expression(parse("foo OR bar NOT baz"), "literal")  # doctest: +NORMALIZE_WHITESPACE
    AnyOf(parts=(Match(kind='term', text='foo'),
                 Except(wanted=Match(kind='term', text='bar'), excluded=Match(kind='term', text='baz'))))
    """
    require_query(query)
    arguments.choice("reading", reading, ("strict", "literal"))
    return _strict(query) if reading == "strict" else _literal(query)


_Clause = tuple[Operator | None, Expression]
"""A word of the query with all that takes its place, and the operator in front of it."""


def _literal(query: Query) -> Expression | None:
    return _bind([(group[0].operator, _any([_leaf(token) for token in group])) for group in _groups(query)])


def exclusion(query: Query) -> Expression | None:
    """Return what a note must not hold to be found by ``query`` in the strict reading, or ``None`` for nothing.

    >>> from recollect.query import parse
    >>> exclusion(parse("deploy NOT friday"))
    Match(kind='term', text='friday')
    """
    excluded = [
        leaf
        for group in _groups(require_query(query))
        if group[0].operator == "NOT"
        for leaf in (*(leaf for token in group for leaf in _spellings(token)), *_own(group[0]))
    ]
    return _any(list(dict.fromkeys(excluded))) if excluded else None


def _strict(query: Query) -> Expression | None:
    wanted: list[_Clause] = [
        (group[0].operator, _any([leaf for token in group for leaf in _spellings(token)]))
        for group in _groups(query)
        if group[0].operator != "NOT"
    ]
    found, excluded = _bind(wanted, strictly=True), exclusion(query)
    return Except(found, excluded) if found and excluded else found


def _own(token: Token) -> list[Match]:
    """Return the word that a person excluded, besides what aliases or dates have put in its place."""
    own = Token("term", clean_word(token.source), None, token.source) if token.alternative else token
    return [*_spellings(own), Match(own.kind, own.text)]


def _groups(query: Query) -> list[list[Token]]:
    """Return each word of the query with the aliases that stand together in its place."""
    groups: list[list[Token]] = []
    for token in query.tokens:
        if token.alternative > 1 and groups:
            groups[-1].append(token)
        else:
            groups.append([token])
    return groups


def _bind(clauses: Sequence[_Clause], *, strictly: bool = False) -> Expression | None:
    """Join clauses as FTS5 binds them; the first one's operator counts for nothing.

    No index holds punctuation, so that ``tea AND "?!"`` finds nothing; the strict reading passes over it and reads
    ``tea``. There a word that is asked for twice is asked for once: it would only take the engine longer.
    """
    alternatives: list[Expression] = []
    required: list[Expression] = []
    excluded: list[Expression] = []

    def close() -> None:
        if required:
            words = [node for node in required if _holds_a_word(node)] if strictly else []
            parts = words or required
            wanted = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
            alternatives.append(Except(wanted, _any(excluded)) if excluded else wanted)
        required.clear()
        excluded.clear()

    for position, (operator, node) in enumerate(clauses):
        if position == 0 or operator in (None, "OR"):
            close()
        (excluded if operator == "NOT" and position else required).append(node)
    close()
    if strictly:
        alternatives = list(dict.fromkeys(alternatives))
    return _any(_each_date_once(alternatives)) if alternatives else None


def _holds_a_word(node: Expression) -> bool:
    leaves = node.parts if isinstance(node, AnyOf) else (node,)
    return any(isinstance(leaf, Match) and _WORD.search(leaf.text) for leaf in leaves)


def _any(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


_DATE = re.compile(r"\W*([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})\W*")
_DATE_WORDS = re.compile(r"[0-9]{4} [0-9]{2} [0-9]{2}")
_WORD = regex.compile(r"[\p{L}\p{N}\p{Co}]")
_TO_SPACES = {ord(character): " " for character in PUNCTUATION}


def _leaf(token: Token) -> Match:
    """Return a token's leaf: a date that the parser squashed into one number is the phrase of its parts."""
    date = None if token.alternative or token.kind == "phrase" else _DATE.fullmatch(token.source)
    if date is None:
        return Match(token.kind, token.text)
    return Match(_KIND_OF_PARTS[token.kind], " ".join(date.groups()))


def _spellings(token: Token) -> list[Match]:
    """Return a token's leaf, and the other ways in which an index may hold what the person wrote."""
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


def _each_date_once(alternatives: Sequence[Expression]) -> list[Expression]:
    """Drop a date that an earlier alternative says already: temporal expansion writes each in two spellings."""
    kept: list[Expression] = []
    dates: set[Expression] = set()
    for node in alternatives:
        if isinstance(node, Match) and _DATE_WORDS.fullmatch(node.text):
            if node in dates:
                continue
            dates.add(node)
        kept.append(node)
    return kept
