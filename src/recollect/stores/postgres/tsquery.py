"""The query tree as a ``tsquery``: every word quoted, behind its namespace, and read by FTS5's tokenizer.

It matches the notes that FTS5 matches in SQLite, with one exception: of a prefix, only the first thousand bytes count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.query.expressions import Expression, render
from recollect.query.parser import Kind
from recollect.stores.postgres.text import LONGEST_TERM, lexeme, term
from recollect.stores.tokens import stems_of

__all__ = ["query_words", "render_tsquery"]

_NOT_FOR_MATCH = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def render_tsquery(node: Expression, namespace: int) -> str | None:
    r"""Return the text of the ``tsquery`` for ``node`` in a namespace; ``None`` where no note can match.

    >>> from recollect.query import expression, parse
    >>> print(render_tsquery(expression(parse('"green tea" AND brew* NOT sugar')), 7).replace("\x1f", "~"))
    ((('7~green' <-> '7~tea') & '7~brew':*) & !'7~sugar')
    """
    return render(node, _TsQuery(namespace))


def query_words(text: str) -> list[str]:
    """Return the words of a leaf as the word index holds them.

    >>> query_words("Green teas")
    ['green', 'tea']
    """
    return stems_of(_NOT_FOR_MATCH.sub(" ", text))


class _TsQuery:
    """Writes nodes in PostgreSQL's syntax; ``None`` stands for what no note can match, such as punctuation alone."""

    def __init__(self, namespace: int) -> None:
        self._namespace = namespace

    def match(self, kind: Kind, text: str) -> str | None:
        words = query_words(text)
        if not words:
            return None
        parts = [lexeme(self._namespace, term(word)) for word in words]
        if kind == "prefix":
            beginning = words[-1].encode()[:LONGEST_TERM].decode(errors="ignore")
            parts[-1] = f"{lexeme(self._namespace, beginning)}:*"
        return _balanced(parts, "<->")

    def any_of(self, parts: Sequence[str | None]) -> str | None:
        possible = [part for part in parts if part is not None]
        return _balanced(possible, "|") if possible else None

    def all_of(self, parts: Sequence[str | None]) -> str | None:
        possible = [part for part in parts if part is not None]
        return _balanced(possible, "&") if len(possible) == len(parts) else None

    def without(self, wanted: str | None, excluded: str | None) -> str | None:
        return wanted if wanted is None or excluded is None else f"({wanted} & !{excluded})"


def _balanced(parts: Sequence[str], operator: str) -> str:
    """Join pairs, and pairs of pairs: one behind the other, 20,000 words are deeper than the server's stack.

    >>> _balanced(["a", "b", "c"], "|")
    '((a | b) | c)'
    """
    while len(parts) > 1:
        parts = [
            f"({parts[place]} {operator} {parts[place + 1]})" if place + 1 < len(parts) else parts[place]
            for place in range(0, len(parts), 2)
        ]
    return parts[0]
