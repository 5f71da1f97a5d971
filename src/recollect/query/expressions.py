"""The boolean expression of a query, which every engine renders in its own language, and other forms of its words.

The parser returns a flat list of tokens, as its source document specifies. Here it becomes nested nodes, with one of
two semantics:

``literal``
    with the precedence of SQLite FTS5: NOT binds tighter than AND, AND tighter than OR; a leading NOT is ignored. The
    presets that reproduce a source document use it.
``strict``
    (the included words with their operators) NOT (any excluded word), wherever a NOT is written. A word with
    punctuation inside, such as ``node.js``, matches in both spellings, and words of only punctuation are ignored. The
    default preset uses it.

In both, the aliases of one word are alternatives, and a date is a phrase, so that 2026/04/04 matches 2026-04-04.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Literal, NamedTuple, Protocol, TypeVar

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
from recollect.query.terms import STOPWORDS
from recollect.text import collapse_whitespace, fold_accents, has_new_capitals

Semantics = Literal["strict", "literal"]


@dataclass(frozen=True, slots=True)
class Match:
    """Notes that contain this term, phrase or prefix; in a prefix of several words, only the last is a prefix."""

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
"""The boolean expression of a query, which a :class:`Renderer` writes in the language of an engine."""

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
    match node:
        case Match(kind, text):
            return renderer.match(kind, text)
        case AnyOf(parts):
            return renderer.any_of([render(part, renderer) for part in parts])
        case AllOf(parts):
            return renderer.all_of([render(part, renderer) for part in parts])
        case Except(included, excluded):
            return renderer.without(render(included, renderer), render(excluded, renderer))
    raise ArgumentTypeError("node", f"must be an expression, which an empty query has not; got {node!r}")


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
        return _join_clauses([(group[0].operator, _any([_leaf(token) for token in group])) for group in _groups(query)])
    included: list[_Clause] = [
        (group[0].operator, _any([leaf for token in group for leaf in _spellings(token)]))
        for group in _groups(query)
        if group[0].operator != "NOT"
    ]
    positive, negative = _join_clauses(included, strict=True), exclusion(query)
    return Except(positive, negative) if positive and negative else positive


_Clause = tuple[Operator | None, Expression]
"""A word of the query with its alternatives, and the operator before it."""


def exclusion(query: Query) -> Expression | None:
    """Return the expression that notes must not match under strict semantics, or ``None`` if nothing is excluded.

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


def _join_clauses(clauses: Sequence[_Clause], *, strict: bool = False) -> Expression | None:
    """Join clauses with the precedence of FTS5; the operator of the first one is ignored.

    Repeated dates are dropped. No index contains punctuation, so ``tea AND "?!"`` matches nothing; with ``strict``,
    punctuation is ignored, and all repetitions are dropped, because they only cost time.
    """
    groups: list[tuple[list[Expression], list[Expression]]] = []
    for index, (operator, node) in enumerate(clauses):
        if index == 0 or operator in (None, "OR"):
            groups.append(([], []))
        required, excluded = groups[-1]
        (excluded if operator == "NOT" and index else required).append(node)
    alternatives: dict[Expression | int, Expression] = {}
    for index, (required, excluded) in enumerate(groups):
        words = [node for node in required if _has_word(node)] if strict else []
        parts = words or required
        node = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
        if excluded:
            node = Except(node, _any(excluded))
        # Temporal expansion writes each date in two spellings.
        is_date = isinstance(node, Match) and _DATE_WORDS.fullmatch(node.text)
        alternatives.setdefault(node if strict or is_date else index, node)
    return _any(list(alternatives.values())) if alternatives else None


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
    """Return the leaf of a token; a date, which the parser joined into one number, becomes a phrase of its parts."""
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


# Other written forms of the same number, identifier or name. Hyphens, spaces and thousands separators vary: 1,240 and
# 1240, W-118 and W118. So do letters that keyboards lack: Sørensen and Sorensen. In a lexical index these are different
# words.

MAX_FORMS = 96
"""The maximum number of forms of one word."""
_MAX_PARTS = 7
"""For a word with more parts, only two forms are tried: all parts joined, and all split."""
_MAX_CHARS = 40
_MAX_JOINED_WORDS = 6
_THOUSAND_DIGITS = 3
_PHONE_DIGITS = range(7, 16)
"""The lengths of numbers that may be split anywhere, such as telephone numbers."""
_MIN_GROUPED_CHARS = 12
"""Identifiers from this length on may be written in groups of four, such as an IBAN."""
_PART = re.compile(r"\d+|[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-f]{4,16})")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")
_LETTER_FORMS = {"i": "ı", "o": "ø", "l": "ł", "d": "đ", "ss": "ß", "ae": "æ", "oe": "œ"}
_REPLACEABLE_LETTERS = re.compile("ss|ae|oe|[iold]")
_MAX_REPLACED = 5

Form = tuple[Kind, str]
"""A term, or a phrase of several words."""


class JoinedWords(NamedTuple):
    """Adjacent words of a query, its ``tokens[first:last]``, that may be written as one word in a note."""

    first: int
    last: int
    written: str
    form: Form


def number_forms(written: str) -> list[Form]:
    """Return the other forms of a word with a digit: parts joined or split, and digits in groups."""
    lowered = written.lower()
    if not _DIGIT.search(lowered) or len(lowered) > _MAX_CHARS:
        return []
    original = {_form(_words(lowered)), _form([clean_word(lowered)])}
    forms = dict.fromkeys(_form(words) for words in _divisions(lowered))
    return [form for form in forms if form[1] and form not in original][:MAX_FORMS]


def letter_forms(word: str) -> list[Form]:
    """Return the forms of a word with interchangeable letters replaced: ø for o, ß for ss, and vice versa."""
    lowered = word.lower()
    if not lowered.isalpha() or not 3 <= len(lowered) <= _MAX_CHARS:
        return []
    folded = fold_accents(lowered)
    if folded != lowered:
        return [("term", folded)]
    count = len(_REPLACEABLE_LETTERS.findall(lowered))
    choices: Iterable[Sequence[bool]] = product((False, True), repeat=count)
    if count > _MAX_REPLACED:  # one at a time, instead of all combinations
        choices = ([index == replaced for index in range(count)] for replaced in range(count))
    forms = dict.fromkeys(_replace_letters(lowered, choice) for choice in choices)
    return [("term", form) for form in forms if form != lowered]


def _replace_letters(word: str, choice: Iterable[bool]) -> str:
    is_replaced = iter(choice)
    return _REPLACEABLE_LETTERS.sub(lambda match: _LETTER_FORMS[match[0]] if next(is_replaced) else match[0], word)


def joined_forms(query: Query) -> list[JoinedWords]:
    """Return runs of adjacent words, one of them with a digit, that may be one word in a note, longest first."""
    if query.has_operators:
        return []
    words = list(_words_as_written(query))
    runs = []
    for size in range(min(_MAX_JOINED_WORDS, len(words)), 1, -1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            tokens = [index for index, _ in run if index is not None]
            parts = [word.strip(PUNCTUATION).lower() for _, word in run]
            with_digit = [_DIGIT.search(part) is not None for part in parts]
            if not tokens or not any(with_digit) or not all(with_digit[1:-1]):
                continue
            joined = "".join(parts)
            if len(joined) <= _MAX_CHARS and STOPWORDS.isdisjoint(parts) and "" not in parts:
                written = " ".join(word for _, word in run)
                runs.append(JoinedWords(tokens[0], tokens[-1] + 1, written, _form(_words(joined))))
    return runs


def form_tokens(written: str, forms: Iterable[Form]) -> tuple[Token, ...]:
    """Return tokens that are alternatives for one word, as aliases are."""
    return tuple(Token(kind, text, None, written, number) for number, (kind, text) in enumerate(forms, 1))


def _divisions(lowered: str) -> Iterator[list[str]]:
    """Yield the lists of words that a number or identifier may be divided into.

    Digits around a point or comma are joined only if it may separate thousands.
    """
    spellings = [lowered]
    if version := _VERSION.fullmatch(lowered):
        spellings.append(version[1] if lowered[0] == "v" else f"v{lowered}")
    for spelling in spellings:
        matches = list(_PART.finditer(spelling))
        parts = [match[0] for match in matches]
        gaps = [(spelling[left.end() : right.start()], right[0]) for left, right in pairwise(matches)]
        may_join = [
            gap not in (".", ",") or len(right) == _THOUSAND_DIGITS or not right.isdecimal() for gap, right in gaps
        ]
        many = len(parts) > _MAX_PARTS
        for joined in [tuple(may_join)] if many else product(*((False, True) if may else (False,) for may in may_join)):
            words = parts[:1]
            for part, is_joined in zip(parts[1:], joined, strict=True):
                words = [*words[:-1], words[-1] + part] if is_joined else [*words, part]
            yield words
            yield [group for word in words for group in (_thousands(word) if word.isdecimal() else [word])]
        if all(may_join):
            yield from _digit_groups("".join(parts))
    if (number := _HEXADECIMAL.fullmatch(lowered)) and _DIGIT.search(number[1]):
        yield [number[1] if lowered.startswith("0x") else f"0x{lowered}"]


def _digit_groups(characters: str) -> Iterator[list[str]]:
    """Yield the groups in which long numbers and identifiers may be written."""
    if characters.isdecimal() and len(characters) in _PHONE_DIGITS:
        for size in (2, 3, 4):
            yield _split(characters, range(size, len(characters), size))
        for count in (1, 2):
            for ends in combinations(range(2, len(characters) - 1), count):
                if all(second - first > 1 for first, second in pairwise(ends)):
                    yield _split(characters, ends)
    elif len(characters) >= _MIN_GROUPED_CHARS:
        yield _split(characters, range(4, len(characters), 4))


def _thousands(digits: str) -> list[str]:
    return _split(digits, range(len(digits) % _THOUSAND_DIGITS or _THOUSAND_DIGITS, len(digits), _THOUSAND_DIGITS))


def _split(characters: str, ends: Iterable[int]) -> list[str]:
    all_ends = [*ends, len(characters)]
    return [characters[start:end] for start, end in zip([0, *all_ends], all_ends, strict=False)]


def _words(lowered: str) -> list[str]:
    return re.findall(r"[^\W_]+", lowered)


def _form(words: list[str]) -> Form:
    return ("phrase" if len(words) > 1 else "term"), " ".join(words)


def _words_as_written(query: Query) -> Iterator[tuple[int | None, str]]:
    """Yield the words of a query with the index of their token; dropped words have none."""
    sources = [token.source if token.kind == "term" and not token.alternative else None for token in query.tokens]
    index = 0
    for word in query.raw.split(" "):
        if index < len(sources) and word == sources[index]:
            yield index, word
            index += 1
        else:
            yield None, word
