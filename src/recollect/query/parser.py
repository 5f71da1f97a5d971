"""Parse a text into a query, which is independent of any engine, and replace terms of a query by their aliases.

The grammar is small: quoted phrases, ``AND``, ``OR`` and ``NOT`` in capitals, a trailing ``*`` for a prefix, and
bare words. Every text is a valid query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.query.terms import STOPWORDS
from recollect.text import WHITESPACE, collapse_whitespace, compose, split_words, well_formed

MAX_LENGTH = 100_000
"""The parser ignores the text of a query after this many characters."""

PUNCTUATION = "*():^+\"-?!.,;/\\[]{}<>|&'$#@%=~`"
"""The characters that are removed from bare words."""

Kind = Literal["term", "phrase", "prefix"]
Operator = Literal["AND", "OR", "NOT"]

_ZERO_WIDTH = {ord(character): None for character in "\u200b\u200c\u200d\ufeff"}
_REMOVE_PUNCTUATION = {ord(character): None for character in PUNCTUATION}
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_WORD_OR_PHRASE = re.compile(r'"[^"]*"?|[^ "]+')  # a phrase, whose closing quote may be missing, or a bare word
_DIGIT = re.compile(r"\d")
# .NET, C++ or C#; brackets, quotes and punctuation around the name are allowed
_SYMBOLIC_NAME = re.compile(r"[\"'(\[{<]*(\.[^\W\d_][^\W_]*|[^\W\d_]+(?:\+{1,2}|#))[\"'?!.,;:)\]}>]*")
_LAST_WORD = re.compile(rf"[{WHITESPACE}][^{WHITESPACE}]*\Z")  # the last word, with the white space before it
_AUXILIARIES = frozenset(
    "am are be been can could did do does had has have is may might must shall should was were will would".split()
)
_QUESTION_WORDS = frozenset(
    "how what when where which who whom whose why hoe waar waarom wanneer wat welk welke wie".split()
)
_OPERATOR_WORD = re.compile(r"(?<![^ ])(AND|OR|NOT)(?![^ ])")  # an operator between spaces or at an end of the text
_WORD_WITH_APOSTROPHE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")  # a word of letters, such as don't
_FTS5_SYNTAX = {"term": "{}", "phrase": '"{}"', "prefix": "{}*"}
_CONNECTIVES = {None: "OR", "OR": "OR", "AND": "AND", "NOT": "AND NOT"}


class Token(NamedTuple):
    """One word, phrase or prefix of a query.

    >>> Token("term", "nodejs", "AND", "node.js").to_dict()
    {'kind': 'term', 'text': 'nodejs', 'operator': 'AND'}
    """

    kind: Kind
    text: str
    """The text to match, cleaned and in lower case."""
    operator: Operator | None = None
    """The operator before the token, if one is written."""
    source: str = ""
    """The text as written: ``node.js`` if ``text`` is ``nodejs``."""
    alternative: int = 0
    """0 for a word of the query; 1, 2, … for the aliases or other forms that replace a word."""

    def to_dict(self) -> dict[str, str]:
        """Return the token as JSON-ready data: kind, text, and the operator if there is one."""
        data: dict[str, str] = {"kind": self.kind, "text": self.text}
        return data if self.operator is None else {**data, "operator": self.operator}


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    >>> Query("green tea", (Token("term", "green"), Token("term", "tea")), has_operators=False).to_dict()["raw"]
    'green tea'
    """

    raw: str
    """The text after :func:`normalise`; ``raw`` is its name in the JSON format of the source system."""
    tokens: tuple[Token, ...]
    """Terms, phrases and prefixes in the order of the text."""
    has_operators: bool
    """Whether the text contains a quote or an operator; if so, no stopwords are dropped."""
    warnings: tuple[str, ...] = ()
    """Messages for the user, such as that the query was too long."""

    def to_dict(self) -> dict[str, Any]:
        """Return the query as JSON-ready data: raw, tokens, hasOperators."""
        return {
            "raw": self.raw,
            "tokens": [token.to_dict() for token in self.tokens],
            "hasOperators": self.has_operators,
        }


def check_query(value: Any) -> Query:
    """Return ``value`` if it is a parsed query; raise ``ArgumentTypeError`` otherwise."""
    if not isinstance(value, Query):
        raise ArgumentTypeError("query", f"must be a Query as parse() returns it, got {type(value).__name__}")
    return value


def normalise(text: str) -> str:
    r"""Return ``text`` in Unicode NFC, without zero-width characters, with white space collapsed and trimmed.

    Lone surrogates become U+FFFD. Removing a zero-width character can bring a letter and its accent together. Then NFC
    is applied again, so that a second call would change nothing.

    >>> normalise("  cafe\u0301\u00a0 \u200bmenu\n")
    'café menu'
    """
    arguments.text("text", text)
    if text.isascii():
        return collapse_whitespace(text)
    composed = compose(well_formed(text))
    visible = composed.translate(_ZERO_WIDTH)
    if visible != composed:
        visible = compose(visible)
    return collapse_whitespace(visible)


def parse(text: str, *, drop_stopwords: bool = True, keep_short: bool = False) -> Query:
    """Return ``text`` as a query.

    If the text has neither quotes nor operators, stopwords and words of one or two characters are dropped.
    ``drop_stopwords=False`` keeps all of them; ``keep_short`` keeps the short words that are names
    (:func:`is_short_name`). Text after :data:`MAX_LENGTH` characters is ignored, and a warning of the query says so.

    >>> [token.text for token in parse("The Kubernetes Deployment").tokens]
    ['kubernetes', 'deployment']
    >>> parse('"hello world" NOT kube*').to_dict()["tokens"]
    [{'kind': 'phrase', 'text': 'hello world'}, {'kind': 'prefix', 'text': 'kube', 'operator': 'NOT'}]
    >>> [token.text for token in parse("Who is in flat 5?", keep_short=True).tokens]
    ['flat', '5']
    """
    arguments.text("text", text)
    warnings: tuple[str, ...] = ()
    if len(text) > MAX_LENGTH:
        warnings = (f"the query has {len(text):,} characters; only the first {MAX_LENGTH:,} were read",)
        cuts_word = text[MAX_LENGTH] not in WHITESPACE
        text = text[:MAX_LENGTH]
        if cuts_word:
            text = _LAST_WORD.sub("", text) or text
    raw = normalise(text)
    has_quotes = '"' in raw
    words = _WORD_OR_PHRASE.findall(raw) if has_quotes else raw.split(" ")
    has_operators = has_quotes or not _OPERATORS.isdisjoint(words)
    drops_words = drop_stopwords and not has_operators

    tokens: list[Token] = []
    operator: Operator | None = None
    for word in words:
        if word in _OPERATORS:
            operator = cast("Operator", word)
            continue
        kind: Kind
        if word[:1] == '"':
            kind, cleaned = "phrase", word.strip('"').strip(" ").lower()
            if not cleaned:
                continue  # unlike with a dropped word, the operator before an empty phrase applies to the next token
        else:
            kind = "prefix" if word[-1:] == "*" else "term"
            cleaned = clean_word(word)
            is_short = len(cleaned) <= 2 and not (keep_short and is_short_name(word))
            if not cleaned or (drops_words and (is_short or cleaned in STOPWORDS)):
                operator = None
                continue
        tokens.append(Token(kind, cleaned, operator, word))
        operator = None
    return Query(raw, tuple(tokens), has_operators, warnings)


def clean_word(word: str) -> str:
    """Return a bare word without punctuation, lower-cased: ``nodejs`` for ``(Node.js)*``."""
    return strip_punctuation(word).lower()


def strip_punctuation(word: str) -> str:
    """Return a bare word without punctuation; case is kept."""
    return word if word.isalnum() else word.translate(_REMOVE_PUNCTUATION)


def is_short_name(word: str) -> bool:
    """Return whether a word of one or two characters is a name or number rather than a function word.

    The word is a name if it has a digit, a capital, a symbol that is part of a name, or letters of a script
    without capitals: 5, 2b, QA, Go, c#, 東京.
    """
    lowered = word.lower()
    has_capital, cannot_have_capital = word != lowered, lowered == word.upper()
    return bool(has_capital or cannot_have_capital or _DIGIT.search(word) or symbolic_name(word))


def symbolic_name(word: str) -> str:
    """Return a name with a symbol, such as C++ or .NET, in lower case; "" for any other word."""
    match = _SYMBOLIC_NAME.fullmatch(word)
    return match[1].lower() if match else ""


def is_question(text: str) -> bool:
    """Return whether ``text`` is a question, in which AND, OR or NOT in capitals is emphasis and not an operator.

    A text counts as a question if it has no quotes, and one of these is true:

    - it begins with a question word or an auxiliary verb, or ends with a question mark, and one of its words after the
      first, operators aside, is a stopword;
    - it has an auxiliary verb right before a NOT, as in "do NOT", whether it asks something or not.
    """
    normalised = normalise(text)
    if '"' in normalised:
        return False
    words = [word for word in _WORD_WITH_APOSTROPHE.findall(normalised) if word not in ("AND", "OR")]
    if any(second == "NOT" and first.lower() in _AUXILIARIES for first, second in pairwise(words)):
        return True
    first_word, *later_words = [word.lower() for word in words if word != "NOT"] or [""]
    is_asking = first_word in _QUESTION_WORDS or first_word in _AUXILIARIES or normalised.endswith("?")
    return is_asking and any(word in STOPWORDS for word in later_words)


def lower_operators(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a question with its operators in lower case, and the operators; for any other text, the text and ()."""
    operators = tuple(dict.fromkeys(_OPERATOR_WORD.findall(normalise(text))))
    if not operators or not is_question(text):
        return text, ()
    return _OPERATOR_WORD.sub(lambda match: match[0].lower(), normalise(text)), operators


def compile_fts5(query: Query) -> str:
    """Return the canonical FTS5 string of ``query``.

    Tokens are joined by OR unless they have an operator; NOT is written ``AND NOT``; the first token's operator is
    dropped. The string is only for display and comparison: its format is that of a published system, and not always
    valid FTS5. Stores run what :func:`recollect.query.render` returns.

    >>> from recollect.query import parse
    >>> compile_fts5(parse('foo AND "bar baz" NOT qu*'))
    'foo AND "bar baz" AND NOT qu*'
    """
    fts5: list[str] = []
    for token in check_query(query).tokens:
        if fts5:
            fts5.append(_CONNECTIVES[token.operator])
        fts5.append(_FTS5_SYNTAX[token.kind].format(token.text))
    return " ".join(fts5)


class AliasTable(Mapping[str, tuple[str, ...]]):
    """A table from terms to alternatives, prepared once for many queries.

    Case and punctuation of keys are ignored, as in queries; a key of several words never matches.

    >>> table = AliasTable({"K8s": ["kubernetes", "kube-system"]})
    >>> table["k8s"]
    ('kubernetes', 'kube-system')
    """

    def __init__(self, aliases: Mapping[str, Sequence[str]]) -> None:
        if not isinstance(aliases, Mapping):
            raise ArgumentTypeError(
                "aliases", f"must map a term to a list of alternatives, got {type(aliases).__name__}"
            )
        self._alternatives: dict[str, tuple[str, ...]] = {}
        for key, alternatives in aliases.items():
            argument = f"aliases[{key!r}]"
            checked = tuple(arguments.text(argument, item) for item in arguments.sequence(argument, alternatives))
            term = clean_word(normalise(arguments.text("aliases key", key)))
            if term not in self._alternatives or term == key:  # "k8s" has precedence over "K8s"
                self._alternatives[term] = checked

    def __getitem__(self, term: str) -> tuple[str, ...]:
        if not isinstance(term, str):
            raise KeyError(term)
        return self._alternatives[clean_word(normalise(term))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._alternatives)

    def __len__(self) -> int:
        return len(self._alternatives)


def expand_aliases(query: Query, aliases: Mapping[str, Sequence[str]]) -> Query:
    """Return ``query`` with each term replaced by the alternatives that ``aliases`` lists for it.

    Phrases and prefixes do not change. An alternative of one word becomes a term, any other a phrase. The term itself
    stays only if it is among its alternatives, or if all of them are empty. The operator of the term goes to the first
    alternative. Alternatives are not expanded again, neither by this table nor by another.

    >>> compile_fts5(expand_aliases(parse("BOSCH drill"), {"bosch": ["bosch", "robert-bosch"]}))
    'bosch OR "robert bosch" OR drill'
    """
    table = aliases if isinstance(aliases, AliasTable) else AliasTable(aliases)
    expanded: list[Token] = []
    for token in check_query(query).tokens:
        is_term = token.kind == "term" and token.alternative == 0
        texts = table.get(token.text, ()) if is_term else ()
        alternatives = dict.fromkeys(" ".join(split_words(text)) for text in texts)
        alternatives.pop("", None)
        if not alternatives:
            expanded.append(token)
            continue
        for index, text in enumerate(alternatives, 1):
            kind: Kind = "phrase" if " " in text else "term"
            operator = token.operator if index == 1 else None
            expanded.append(Token(kind, text, operator, token.source, index))
    return Query(query.raw, tuple(expanded), query.has_operators, query.warnings)
