"""Query parsing against splitting at spaces and a set look-up for each word."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.timing import Comparison, compare
from recollect.query import parse
from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS

PLAIN = "what did Alice say about the quarterly kubernetes deployment budget"
NO_STOPWORDS = "alice quarterly kubernetes deployment budget review berlin office server migration"
OPERATORS = 'alice AND quarterly AND "kubernetes deployment" NOT budget OR berlin* office server'

_STOPWORDS = ENGLISH_STOPWORDS | DUTCH_STOPWORDS


def split_and_look_up(text: str) -> list[bool]:
    """Return for each word whether it is a stopword: the minimum work of a stopword filter."""
    return [word in _STOPWORDS for word in text.split()]


def comparisons() -> Iterator[Comparison]:
    """Yield each comparison when it is complete."""
    for name, text in (
        ("10 words, half of them stopwords", PLAIN),
        ("10 words, none a stopword", NO_STOPWORDS),
        ("operators, a phrase and a prefix", OPERATORS),
    ):
        yield compare(
            f"parse {name}",
            lambda text=text: parse(text),  # type: ignore[misc]
            "str.split and a set look-up",
            lambda text=text: split_and_look_up(text),  # type: ignore[misc]
            at_most=15,
        )
