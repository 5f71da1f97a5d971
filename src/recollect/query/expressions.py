"""Convert a parsed query to a boolean expression, and derive other forms of a word, such as 1240 for 1,240.

The parser returns a flat list of tokens. This module converts them to an expression of nested nodes, which a renderer
writes in the language of an engine. The conversion has one of two semantics:

``literal``
    Operators have the precedence of SQLite FTS5: NOT binds tighter than AND, AND tighter than OR; a leading NOT is
    ignored. The presets that reproduce published systems use it.
``strict``
    A note must match the words that do not follow a NOT, combined by their AND and OR. It must not match a word after
    a NOT, wherever the NOT is written. ``node.js`` matches ``nodejs`` and the phrase ``node js``, because an index may
    contain either. Words of only punctuation are ignored. The default preset uses it.

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
from recollect.query.parser import PUNCTUATION, Kind, Operator, Query, Token, check_query, clean_word, strip_punctuation
from recollect.query.terms import STOPWORDS
from recollect.text import collapse_whitespace, fold_accents, has_new_capitals

Semantics = Literal["strict", "literal"]


@dataclass(frozen=True, slots=True)
class Match:
    """Notes that contain a term, phrase or prefix; if a prefix has several words, only the last may be incomplete."""

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
    """Notes that match the included expression and not the excluded one."""

    included: Expression
    excluded: Expression


Expression = Match | AnyOf | AllOf | Except
"""The boolean expression of a query, which a :class:`Renderer` writes in the language of an engine."""

Rendered = TypeVar("Rendered")


class Renderer(Protocol[Rendered]):
    """A visitor that converts each kind of node to a query of an engine."""

    def match(self, kind: Kind, text: str) -> Rendered:
        """Return the query for notes that contain ``text``."""

    def any_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Return the query for notes that match at least one of ``parts``, which are rendered already."""

    def all_of(self, parts: Sequence[Rendered]) -> Rendered:
        """Return the query for notes that match all ``parts``, which are rendered already."""

    def without(self, included: Rendered, excluded: Rendered) -> Rendered:
        """Return the query for notes that match ``included`` and not ``excluded``."""


def render(node: Expression, renderer: Renderer[Rendered]) -> Rendered:
    """Return what ``renderer`` makes of ``node``; parts are rendered before the node that contains them.

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
    raise ArgumentTypeError("node", f"must be an expression, got {node!r}; for an empty query, expression() is None")


def expression(query: Query, semantics: Semantics = "strict") -> Expression | None:
    """Return the expression of ``query``, or ``None`` if the query has no words that a note must match.

    >>> from recollect.query import parse
    >>> expression(parse("foo OR bar NOT baz"), "literal")  # doctest: +NORMALIZE_WHITESPACE
    AnyOf(parts=(Match(kind='term', text='foo'),
                 Except(included=Match(kind='term', text='bar'), excluded=Match(kind='term', text='baz'))))
    """
    check_query(query)
    arguments.choice("semantics", semantics, ("strict", "literal"))
    if semantics == "literal":
        leaves = ((group[0].operator, [_leaf(token) for token in group]) for group in _token_groups(query))
        return _join_clauses([(operator, _any_of(alternatives)) for operator, alternatives in leaves])
    included: list[_Clause] = [
        (group[0].operator, _any_of([leaf for token in group for leaf in _spellings(token)]))
        for group in _token_groups(query)
        if group[0].operator != "NOT"
    ]
    positive, negative = _join_clauses(included, strict=True), exclusion(query)
    return Except(positive, negative) if positive and negative else positive


_Clause = tuple[Operator | None, Expression]
"""The operator before a word of the query, and the expression of the word with its alternatives."""


def exclusion(query: Query) -> Expression | None:
    """Return the expression that notes must not match under strict semantics, or ``None`` if nothing is excluded.

    >>> from recollect.query import parse
    >>> exclusion(parse("deploy NOT friday"))
    Match(kind='term', text='friday')
    """
    excluded: list[Match] = []
    for group in _token_groups(check_query(query)):
        if group[0].operator == "NOT":
            for token in group:
                excluded += _spellings(token)
            excluded += _source_spellings(group[0])
    return _any_of(list(dict.fromkeys(excluded))) if excluded else None


def _source_spellings(token: Token) -> list[Match]:
    """Return the leaves of an excluded word as typed: it is excluded even if aliases or a date's phrase replace it."""
    typed = Token("term", clean_word(token.source), None, token.source) if token.alternative > 0 else token
    return [*_spellings(typed), Match(typed.kind, typed.text)]


def _token_groups(query: Query) -> list[list[Token]]:
    """Return one group of tokens for each word of the query: the word itself, or the alternatives that replace it."""
    groups: list[list[Token]] = []
    for token in query.tokens:
        if token.alternative > 1 and groups:
            groups[-1].append(token)
        else:
            groups.append([token])  # a word of the query has 0 and a first alternative has 1: both begin a group
    return groups


def _join_clauses(clauses: Sequence[_Clause], *, strict: bool = False) -> Expression | None:
    """Join clauses with the precedence of FTS5; the operator of the first clause is ignored.

    Repeated dates are dropped. With ``strict``, all repeated alternatives are dropped, because they only cost time.
    With ``strict``, required punctuation beside words is also dropped, so that ``tea AND "?!"`` matches notes on tea.
    """
    groups: list[tuple[list[Expression], list[Expression]]] = []  # required and excluded clauses between two ORs
    for index, (operator, node) in enumerate(clauses):
        if index == 0 or operator in (None, "OR"):
            groups.append(([], []))
        required, excluded = groups[-1]
        is_excluded = index > 0 and operator == "NOT"
        (excluded if is_excluded else required).append(node)
    alternatives: dict[Expression | int, Expression] = {}  # by node if repeated nodes are dropped, else by index
    for index, (required, excluded) in enumerate(groups):
        with_words = [node for node in required if _has_word(node)] if strict else []
        parts = with_words or required
        node = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
        if excluded:
            node = Except(node, _any_of(excluded))
        # Temporal expansion writes each date with slashes and with hyphens: two equal phrases.
        is_date = isinstance(node, Match) and _DATE_WORDS.fullmatch(node.text)
        alternatives.setdefault(node if strict or is_date else index, node)
    return _any_of(list(alternatives.values())) if alternatives else None


def _has_word(node: Expression) -> bool:
    leaves = node.parts if isinstance(node, AnyOf) else (node,)
    return any(isinstance(leaf, Match) and _WORD.search(leaf.text) for leaf in leaves)


def _any_of(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


_DATE = re.compile(r"\W*([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})\W*")  # 2026-04-18 or 2026/04/18, with punctuation
_DATE_WORDS = re.compile(r"[0-9]{4} [0-9]{2} [0-9]{2}")  # 2026 04 18
_WORD = regex.compile(r"[\p{L}\p{N}\p{Co}]")  # a letter, a digit or a private-use character
_TO_SPACES = {ord(character): " " for character in PUNCTUATION}


def _leaf(token: Token) -> Match:
    """Return the leaf, a :class:`Match`, of a token. A date such as 2026-04-18 becomes a phrase of three numbers."""
    date = None if token.alternative or token.kind == "phrase" else _DATE.fullmatch(token.source)
    if date is None:
        return Match(token.kind, token.text)
    return Match(_KIND_OF_SEVERAL_WORDS[token.kind], " ".join(date.groups()))


def _spellings(token: Token) -> list[Match]:
    """Return the leaf of a token, and leaves for the other ways in which an index may contain the same word."""
    leaf = _leaf(token)
    is_date = leaf.text != token.text
    if token.alternative or is_date:
        return [leaf]
    is_phrase = token.kind == "phrase"
    spellings = [leaf]
    if has_new_capitals(token.source):  # newer than the Unicode tables of an engine, which does not lower-case them
        with_capitals = token.source.strip('" ') if is_phrase else strip_punctuation(token.source)
        spellings.append(Match(token.kind, with_capitals))
    words = [] if is_phrase else collapse_whitespace(token.source.translate(_TO_SPACES)).lower().split(" ")
    if len(words) > 1:
        spellings.append(Match(_KIND_OF_SEVERAL_WORDS[token.kind], " ".join(words)))
    return spellings


_KIND_OF_SEVERAL_WORDS: dict[Kind, Kind] = {"term": "phrase", "phrase": "phrase", "prefix": "prefix"}


# The rest of this module is about the forms of a word: other spellings of the same number, identifier or name. Hyphens,
# spaces and thousands separators vary: 1,240 and 1240, W-118 and W118. So do letters that keyboards lack: Sørensen and
# Sorensen. In a lexical index these are different words.

MAX_FORMS = 96  # the maximum number of forms of one word
_MAX_PARTS = 7  # if a word has more parts (runs of letters or of digits) than this, only one way to join them is tried
_MAX_CHARS = 40  # a longer word has no other forms
_MAX_JOINED_WORDS = 6
_THOUSAND_DIGITS = 3
_PHONE_DIGITS = range(7, 16)  # A number with this many digits may be a telephone number, which may be split anywhere
_MIN_GROUPED_CHARS = 12  # identifiers from this length on may be written in groups of four, such as an IBAN
_PART = re.compile(r"\d+|[^\W\d_]+")  # a run of digits or of letters
_DIGIT = re.compile(r"\d")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9a-f]{4,16})")  # 0x1f3a or 1f3a
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")  # v1.2.3 or 1.2.3
# the other form of a letter or pair of letters, from an alphabet that the writer's keyboard may lack
_LETTER_FORMS = {"i": "ı", "o": "ø", "l": "ł", "d": "đ", "ss": "ß", "ae": "æ", "oe": "œ"}
_REPLACEABLE_LETTERS = re.compile("ss|ae|oe|[iold]")
_MAX_COMBINED_LETTERS = 5  # if a word has more replaceable letters, they are replaced one at a time

Form = tuple[Kind, str]
"""A form of a word: ``("term", word)``, or ``("phrase", words)`` if it has several words."""


class JoinedWords(NamedTuple):
    """Adjacent words of a query that a note may contain as one word; their tokens are ``query.tokens[first:end]``."""

    first: int
    end: int
    written: str  # the words as typed
    form: Form  # the words as one word


def number_forms(written: str) -> list[Form]:
    """Return the other forms of a word with a digit: its parts joined or split, and its digits in groups."""
    lowered = written.lower()
    if not _DIGIT.search(lowered) or len(lowered) > _MAX_CHARS:
        return []
    searched_already = {_form(_words(lowered)), _form([clean_word(lowered)])}
    forms = dict.fromkeys(_form(words) for words in _divisions(lowered))
    return [form for form in forms if form[1] and form not in searched_already][:MAX_FORMS]


def letter_forms(word: str) -> list[Form]:
    """Return the forms of a word with interchangeable letters replaced: ø for o, ß for ss, and the reverse."""
    lowered = word.lower()
    if not lowered.isalpha() or not 3 <= len(lowered) <= _MAX_CHARS:
        return []
    folded = fold_accents(lowered)
    if folded != lowered:
        return [("term", folded)]
    count = len(_REPLACEABLE_LETTERS.findall(lowered))
    choices: Iterable[Sequence[bool]]  # a choice says of each replaceable letter whether it is replaced
    if count > _MAX_COMBINED_LETTERS:
        choices = ([index == replaced for index in range(count)] for replaced in range(count))
    else:
        choices = product((False, True), repeat=count)
    forms = dict.fromkeys(_replace_letters(lowered, choice) for choice in choices)
    return [("term", form) for form in forms if form != lowered]


def _replace_letters(word: str, choice: Iterable[bool]) -> str:
    is_replaced = iter(choice)
    return _REPLACEABLE_LETTERS.sub(lambda match: _LETTER_FORMS[match[0]] if next(is_replaced) else match[0], word)


def joined_forms(query: Query) -> list[JoinedWords]:
    """Return runs of adjacent words, one of them with a digit, that may be one word in a note; longest runs first."""
    if query.has_operators:
        return []
    words = list(_words_as_written(query))
    runs = []
    for size in range(min(_MAX_JOINED_WORDS, len(words)), 1, -1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            token_indexes = [index for index, _ in run if index is not None]
            cleaned = [word.strip(PUNCTUATION).lower() for _, word in run]
            has_digit = [_DIGIT.search(word) is not None for word in cleaned]
            # Only the first and the last word of a run may lack a digit.
            if not token_indexes or not any(has_digit) or not all(has_digit[1:-1]):
                continue
            joined = "".join(cleaned)
            if len(joined) <= _MAX_CHARS and STOPWORDS.isdisjoint(cleaned) and "" not in cleaned:
                written = " ".join(word for _, word in run)
                runs.append(JoinedWords(token_indexes[0], token_indexes[-1] + 1, written, _form(_words(joined))))
    return runs


def form_tokens(written: str, forms: Iterable[Form]) -> tuple[Token, ...]:
    """Return the forms of one word as tokens that are alternatives of each other."""
    return tuple(Token(kind, text, None, written, index) for index, (kind, text) in enumerate(forms, 1))


def _divisions(lowered: str) -> Iterator[list[str]]:
    """Yield the ways to divide a number or identifier into words, each as a list of words.

    Digits before and after a point or comma are joined only if that mark may separate thousands.
    """
    spellings = [lowered]
    if version := _VERSION.fullmatch(lowered):
        spellings.append(version[1] if lowered[0] == "v" else f"v{lowered}")
    for spelling in spellings:
        matches = list(_PART.finditer(spelling))
        parts = [match[0] for match in matches]
        may_join = []  # whether each part, from the second on, may be joined to the part before it
        for left, right in pairwise(matches):
            has_mark = spelling[left.end() : right.start()] in (".", ",")
            may_be_thousands = len(right[0]) == _THOUSAND_DIGITS
            may_join.append(not has_mark or may_be_thousands or not right[0].isdecimal())
        all_joins: Iterable[Sequence[bool]] = product(*((False, True) if may else (False,) for may in may_join))
        if len(parts) > _MAX_PARTS:
            all_joins = [may_join]
        for joins in all_joins:
            words = parts[:1]
            for part, is_joined in zip(parts[1:], joins, strict=True):
                words = [*words[:-1], words[-1] + part] if is_joined else [*words, part]
            yield words
            yield [group for word in words for group in (_thousands(word) if word.isdecimal() else [word])]
        if all(may_join):
            yield from _digit_groups("".join(parts))
    if (hexadecimal := _HEXADECIMAL.fullmatch(lowered)) and _DIGIT.search(hexadecimal[1]):
        yield [hexadecimal[1] if lowered.startswith("0x") else f"0x{lowered}"]


def _digit_groups(characters: str) -> Iterator[list[str]]:
    """Yield the groups in which a long number or identifier may be written, each time as a list of groups."""
    if characters.isdecimal() and len(characters) in _PHONE_DIGITS:
        for size in (2, 3, 4):
            yield _split(characters, range(size, len(characters), size))
        for split_count in (1, 2):
            for ends in combinations(range(2, len(characters) - 1), split_count):
                if all(second - first > 1 for first, second in pairwise(ends)):  # no group of one digit
                    yield _split(characters, ends)
    elif len(characters) >= _MIN_GROUPED_CHARS:
        yield _split(characters, range(4, len(characters), 4))


def _thousands(digits: str) -> list[str]:
    """Return digits in groups of three, counted from the end: 1 and 240 for 1240."""
    first_length = len(digits) % _THOUSAND_DIGITS or _THOUSAND_DIGITS
    return _split(digits, range(first_length, len(digits), _THOUSAND_DIGITS))


def _split(characters: str, ends: Iterable[int]) -> list[str]:
    """Return the characters split at the offsets ``ends``."""
    all_ends = [*ends, len(characters)]
    return [characters[start:end] for start, end in zip([0, *all_ends], all_ends, strict=False)]


def _words(lowered: str) -> list[str]:
    return re.findall(r"[^\W_]+", lowered)


def _form(words: list[str]) -> Form:
    return ("phrase" if len(words) > 1 else "term"), " ".join(words)


def _words_as_written(query: Query) -> Iterator[tuple[int | None, str]]:
    """Yield, for each word of a query as typed, the index of its token (``None`` if it was dropped) and the word."""
    sources = [token.source if token.kind == "term" and not token.alternative else None for token in query.tokens]
    index = 0
    for word in query.raw.split(" "):
        if index < len(sources) and word == sources[index]:
            yield index, word
            index += 1
        else:
            yield None, word
