"""Other names for the same thing: a term of the query gives way to the names that the caller lists for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.query.normalisation import normalise
from recollect.query.parser import clean_word
from recollect.query.tree import Kind, Query, Token, require_query
from recollect.text import split_words

__all__ = ["AliasTable", "expand_aliases"]


class AliasTable(Mapping[str, tuple[str, ...]]):
    """An alias table made ready once and used for many queries: term → alternatives.

    Keys match in any case, and without punctuation as a query's words do; a key of several words matches nothing. A
    table lives in memory only: keeping one on disk is the caller's own affair.

    >>> table = AliasTable({"K8s": ["kubernetes", "kube-system"]})
    >>> table["k8s"]
    ('kubernetes', 'kube-system')
    """

    def __init__(self, aliases: Mapping[str, Sequence[str]]) -> None:
        """Check the table and clean its alternatives."""
        if not isinstance(aliases, Mapping):
            raise ArgumentTypeError(
                "aliases", f"must map a term to a list of alternatives, got {type(aliases).__name__}"
            )
        self._listed: dict[str, tuple[str, ...]] = {}
        self._cleaned: dict[str, tuple[tuple[Kind, str], ...]] = {}
        for key, alternatives in aliases.items():
            where = f"aliases[{key!r}]"
            listed = tuple(arguments.text(where, item) for item in arguments.sequence(where, alternatives))
            term = clean_word(normalise(arguments.text("aliases key", key)))
            if term not in self._listed or term == key:
                self._listed[term] = listed
                self._cleaned[term] = tuple(dict.fromkeys(filter(None, map(_cleaned, listed))))

    def alternatives(self, term: str) -> tuple[tuple[Kind, str], ...]:
        """Return what takes the term's place; nothing where the table has nothing for it."""
        return self._cleaned.get(term, ())

    def __getitem__(self, term: str) -> tuple[str, ...]:
        """Return the alternatives as they were listed."""
        if not isinstance(term, str):
            raise KeyError(term)
        return self._listed[clean_word(normalise(term))]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the terms, lower-cased."""
        return iter(self._listed)

    def __len__(self) -> int:
        """Return how many terms have alternatives."""
        return len(self._listed)


def expand_aliases(query: Query, aliases: Mapping[str, Sequence[str]]) -> Query:
    """Return ``query`` with each term replaced by the alternatives that ``aliases`` lists for it.

    Phrases and prefixes stay as they are. An alternative of one word becomes a term, of several a phrase. The term
    itself stays only if it lists itself, or if nothing is left of its alternatives. Its operator goes to the first
    alternative. Aliases are expanded once: an alternative's own aliases are not looked up, by a second table neither.

    >>> from recollect.query import compile_fts5, parse
    >>> compile_fts5(expand_aliases(parse("BOSCH drill"), {"bosch": ["bosch", "robert-bosch"]}))
    'bosch OR "robert bosch" OR drill'
    """
    table = aliases if isinstance(aliases, AliasTable) else AliasTable(aliases)
    expanded: list[Token] = []
    for token in require_query(query).tokens:
        own_term = token.kind == "term" and token.alternative == 0
        alternatives = table.alternatives(token.text) if own_term else ()
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
