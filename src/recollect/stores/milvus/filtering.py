"""Filters and the query tree as filter expressions, so that they hold before anything is ranked or cut.

No text of a person stands in an expression: words are encoded stems, paths hexadecimal digits, all else numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.model import Filters
from recollect.query.expressions import Expression, Match, render
from recollect.query.tree import Kind
from recollect.stores.milvus.rows import hashed, metadata_mark, path_prefix, tag_mark
from recollect.stores.milvus.scoring import Leaf, leaf_of
from recollect.stores.rows import to_microseconds

__all__ = ["among", "conditions", "holding", "in_words", "within"]

NOTHING = "key < 0"
"""What no row is; there is no literal for it."""


def conditions(filters: Filters) -> list[str]:
    """Return an expression for each filter.

    >>> conditions(Filters(path_prefix="tea"))
    ['path like "746561%"']
    """
    parts = []
    if filters.path_prefix:
        parts.append(f'path like "{path_prefix(filters.path_prefix)}%"')
    marks = [*map(tag_mark, filters.tags), *(metadata_mark(key, value) for key, value in filters.metadata.items())]
    if marks:
        parts.append(f"array_contains_all(marks, [{', '.join(map(str, marks))}])")
    if filters.session is not None:
        parts.append(f"session == {hashed('session', filters.session) if filters.session else 0}")
    for name in ("created", "updated"):
        after, before = getattr(filters, f"{name}_after"), getattr(filters, f"{name}_before")
        if after is not None:
            parts.append(f"{name} >= {to_microseconds(after)}")
        if before is not None:
            parts.append(f"{name} < {to_microseconds(before)}")
    return parts


def within(namespace: int, *parts: str) -> str:
    """Return the expression of the rows of a namespace for which all parts hold.

    >>> within(7, "part == 0", "")
    'namespace == 7 and part == 0'
    """
    return " and ".join([f"namespace == {namespace}", *filter(None, parts)])


def among(keys: Iterable[int], field: str = "key") -> str:
    """Return the expression of the rows with these keys.

    >>> among([7, 9])
    'key in [7, 9]'
    """
    return f"{field} in [{', '.join(map(str, keys))}]"


def in_words(node: Expression, *, lite: bool) -> str:
    """Return the expression of the rows whose words match ``node``.

    >>> from recollect.query import expression, parse
    >>> in_words(expression(parse('"green tea" NOT sugar')), lite=True)
    '(words like "% green tea %" and not (words like "% sugar %"))'
    >>> in_words(expression(parse('"green tea" sug*')), lite=False)
    '(PHRASE_MATCH(words, "green tea") or (words like "% sug%" or words like "% X737567%"))'
    """
    return render(node, _Words(lite=lite))


def holding(leaf: Leaf, *, lite: bool) -> str:
    """Return the expression of the rows whose words hold a leaf."""
    if not leaf.endings:
        return NOTHING
    if lite or leaf.prefix:
        front = " ".join(("", *leaf.stems, ""))
        back = "" if leaf.prefix else " "
        return _any([f'words like "%{front}{ending}{back}%"' for ending in leaf.endings])
    # An index of the cluster knows where words are; LIKE would read every text.
    name = "PHRASE_MATCH" if leaf.stems else "TEXT_MATCH"
    return f'{name}(words, "{" ".join((*leaf.stems, *leaf.endings))}")'


def _any(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


class _Words:
    """Writes nodes in Milvus's syntax; a compound node in brackets of its own."""

    def __init__(self, *, lite: bool) -> None:
        self._lite = lite

    def match(self, kind: Kind, text: str) -> str:
        return holding(leaf_of(Match(kind, text)), lite=self._lite)

    def any_of(self, parts: Sequence[str]) -> str:
        return _any(list(dict.fromkeys(parts)))

    def all_of(self, parts: Sequence[str]) -> str:
        return f"({' and '.join(dict.fromkeys(parts))})"

    def without(self, wanted: str, excluded: str) -> str:
        return f"({wanted} and not ({excluded}))"
