"""A person's words become a query tree.

The grammar is small: quoted phrases, ``AND``, ``OR`` and ``NOT`` in capitals, a trailing ``*`` for a prefix, and
bare words. No text is an error.
"""

from __future__ import annotations

import re
from typing import cast

from recollect import arguments
from recollect.query.normalisation import normalise
from recollect.query.stopwords import STOPWORDS
from recollect.query.tree import Kind, Operator, Query, Token
from recollect.text import WHITESPACE

__all__ = ["MAX_LENGTH", "PUNCTUATION", "clean_word", "is_short_name", "parse", "strip_punctuation", "symbolic_name"]

MAX_LENGTH = 100_000
"""How many characters of a query are read."""

PUNCTUATION = "*():^+\"-?!.,;/\\[]{}<>|&'$#@%=~`"
"""What is taken out of a bare word."""

_STRIP = {ord(character): None for character in PUNCTUATION}
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_PIECE = re.compile(r'"[^"]*"?|[^ "]+')
_DIGIT = re.compile(r"\d")
_SYMBOLIC_NAME = re.compile(r"[\"'(\[{<]*(\.[^\W\d_][^\W_]*|[^\W\d_]+(?:\+{1,2}|#))[\"'?!.,;:)\]}>]*")
_PARTIAL_WORD = re.compile(rf"[{WHITESPACE}][^{WHITESPACE}]*\Z")


def parse(text: str, *, drop_stopwords: bool = True, keep_short: bool = False) -> Query:
    """Return the tree of ``text``.

    Stopwords, and words of one or two letters, are dropped from a query without quotes and operators;
    ``drop_stopwords=False`` keeps them. ``keep_short`` keeps those short words that name something: see
    :func:`is_short_name`. Text beyond :data:`MAX_LENGTH` characters is left unread, and the query's ``warnings`` say
    so.

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
        text = _cut(text)
    raw = normalise(text)
    quoted = '"' in raw
    pieces = _PIECE.findall(raw) if quoted else raw.split(" ")
    has_operators = quoted or not _OPERATORS.isdisjoint(pieces)
    filtering = drop_stopwords and not has_operators

    tokens: list[Token] = []
    pending: Operator | None = None
    for piece in pieces:
        if piece in _OPERATORS:
            pending = cast("Operator", piece)
            continue
        kind: Kind
        if piece[:1] == '"':
            kind, cleaned = "phrase", piece.strip('"').strip(" ").lower()
            if not cleaned:
                continue  # an empty phrase leaves the pending operator to the next token; a dropped word does not
        else:
            kind = "prefix" if piece[-1:] == "*" else "term"
            cleaned = clean_word(piece)
            is_dropped = cleaned in STOPWORDS or (len(cleaned) <= 2 and not (keep_short and is_short_name(piece)))
            if not cleaned or (filtering and is_dropped):
                pending = None
                continue
        tokens.append(Token(kind, cleaned, pending, piece))
        pending = None
    return Query(raw, tuple(tokens), has_operators, warnings)


def clean_word(piece: str) -> str:
    """Return a bare word without punctuation, lower-cased.

    >>> clean_word("(Node.js)*")
    'nodejs'
    """
    return strip_punctuation(piece).lower()


def strip_punctuation(piece: str) -> str:
    """Return a bare word without punctuation, its case kept.

    >>> strip_punctuation("(Node.js)*")
    'Nodejs'
    """
    return piece if piece.isalnum() else piece.translate(_STRIP)


def is_short_name(piece: str) -> bool:
    """Return whether a word of one or two characters names something; stopwords are not asked about.

    It does if it has a digit, a capital or a letter of a script without capitals, or ends in a symbol that is part of
    a name.

    >>> [is_short_name(word) for word in ("5", "2b", "QA", "Go", "c#", "東京", "to")]
    [True, True, True, True, True, True, False]
    """
    return (
        piece != piece.lower()
        or piece.lower() == piece.upper()
        or _DIGIT.search(piece) is not None
        or bool(symbolic_name(piece))
    )


def symbolic_name(piece: str) -> str:
    """Return a name to which a symbol belongs, such as C++ or .NET, in lower case; nothing for any other word.

    >>> symbolic_name("(C#)?"), symbolic_name(".NET,"), symbolic_name("node.js")
    ('c#', '.net', '')
    """
    name = _SYMBOLIC_NAME.fullmatch(piece)
    return name[1].lower() if name else ""


def _cut(text: str) -> str:
    """Return the part of a long text that is read, without the word that the cut would halve."""
    kept = text[:MAX_LENGTH]
    if text[MAX_LENGTH] in WHITESPACE:
        return kept
    return _PARTIAL_WORD.sub("", kept) or kept
