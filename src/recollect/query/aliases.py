"""Aliases: terms of a query are replaced by the alternatives that the caller lists for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.query.parser import Kind, Query, Token, clean_word, normalise, require_query
from recollect.text import split_words


class AliasTable(Mapping[str, tuple[str, ...]]):
    """A table from terms to alternatives, prepared once for many queries.

    Case and punctuation of keys are ignored, as in queries; a key of several words never matches. The source forbids a
    file format for aliases.

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
        self._cleaned: dict[str, tuple[tuple[Kind, str], ...]] = {}
        for key, alternatives in aliases.items():
            argument = f"aliases[{key!r}]"
            texts = tuple(arguments.text(argument, item) for item in arguments.sequence(argument, alternatives))
            term = clean_word(normalise(arguments.text("aliases key", key)))
            if term not in self._alternatives or term == key:
                self._alternatives[term] = texts
                self._cleaned[term] = tuple(dict.fromkeys(filter(None, map(_cleaned, texts))))

    def alternatives(self, term: str) -> tuple[tuple[Kind, str], ...]:
        """Return the kinds and texts of the tokens that replace a term; empty if it has no alternatives."""
        return self._cleaned.get(term, ())

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

    Phrases and prefixes do not change. An alternative of one word becomes a term, of several a phrase. The term itself
    stays only if it is one of its alternatives, or if they are all empty. Its operator goes to the first alternative.
    Aliases are not expanded recursively, nor by a second table.

    >>> from recollect.query import compile_fts5, parse
    >>> compile_fts5(expand_aliases(parse("BOSCH drill"), {"bosch": ["bosch", "robert-bosch"]}))
    'bosch OR "robert bosch" OR drill'
    """
    table = aliases if isinstance(aliases, AliasTable) else AliasTable(aliases)
    expanded: list[Token] = []
    for token in require_query(query).tokens:
        is_term = token.kind == "term" and token.alternative == 0
        alternatives = table.alternatives(token.text) if is_term else ()
        if not alternatives:
            expanded.append(token)
            continue
        for number, (kind, text) in enumerate(alternatives, 1):
            operator = token.operator if number == 1 else None
            expanded.append(Token(kind, text, operator, token.source, number))
    return Query(query.raw, tuple(expanded), query.has_operators, query.warnings)


def _cleaned(alternative: str) -> tuple[Kind, str] | None:
    words = split_words(alternative)
    if not words:
        return None
    return ("phrase" if len(words) > 1 else "term"), " ".join(words)
