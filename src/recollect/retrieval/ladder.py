"""The retry ladder: what is tried, rung by rung, when a query's words find nothing.

Each rung is tried once, in order, and the first that finds anything ends the climb. It retries an empty answer, never
an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from recollect.model import Candidate
from recollect.query import query_tokens, sanitise
from recollect.retrieval.trace import Attempt
from recollect.text import WHITESPACE

__all__ = ["BY_NAME", "GUESSES", "Rung", "climb", "rungs"]

BY_SPELLING, BY_NAME = GUESSES = "did_you_mean", "trigram_fuzzy"
"""The rungs that guess what was meant: words that are spelt alike, and names that are."""

Rung = tuple[str, str]
"""The name of a rung, and the text that it searches for."""


def rungs(text: str, stopwords: Collection[str] = ()) -> Iterator[Rung]:
    """Yield the rungs that search for other words; one without words, or with ``stopwords`` alone, is left out.

    >>> [words for rung, words in rungs("What is kubernetes?")]
    ['kubernetes', 'What is kubernetes', 'kubernetes']
    >>> [words for rung, words in rungs("this week?")], [words for rung, words in rungs("this week?", {"this"})]
    (['this', 'this week', 'this'], ['week', 'this week', 'week'])
    """
    strongest = _strongest(text, stopwords)
    if strongest is not None and strongest != text.strip(WHITESPACE).lower():
        yield "strongest_term", strongest
    # Between these two the source document refreshes the index, which is always fresh here.
    plain = sanitise(text)
    if plain and not all(word in stopwords for word in plain.lower().split(" ")):
        yield "refreshed_sanitised", plain
    strongest = _strongest(plain, stopwords)
    if strongest is not None:
        yield "refreshed_strongest", strongest


def _strongest(text: str, stopwords: Collection[str]) -> str | None:
    """Return the longest word of a text that is no stopword, the first of several; see ``strongest_term``."""
    return max((word for word in query_tokens(text) if word not in stopwords), key=len, default=None)


def climb(
    text: str,
    attempts: list[Attempt],
    *,
    search: Callable[[str], list[Candidate]],
    names: Callable[[Sequence[str]], list[Candidate]],
    spelt: Callable[[Sequence[str]], str] | None = None,
    discreet: bool = False,
    stopwords: Collection[str] = (),
    guess_numbers: bool = True,
) -> list[Candidate]:
    """Return what the first rung that finds anything finds, and write down each try.

    ``search`` looks for the words of a text; ``names`` compares words with the names of notes, letter by letter;
    ``spelt`` returns the words as the index spells them, where that is different; where one must be ``discreet``,
    because filters hide notes, words that find nothing are left out. ``stopwords`` alone are never a fallback query,
    nor are they compared with names; without ``guess_numbers``, words with a digit are not compared with names either.
    """
    for strategy, words in rungs(text, stopwords):
        found = search(words)
        attempts.append(Attempt(strategy, words, len(found)))
        if found:
            return found
    tokens = [word for word in query_tokens(text) if word not in stopwords]
    corrected = spelt(tokens) if spelt and tokens else ""
    if corrected:
        found = search(corrected)
        if found or not discreet:
            attempts.append(Attempt(BY_SPELLING, corrected, len(found)))
        if found:
            return found
    if not guess_numbers:
        tokens = [word for word in tokens if not any(map(str.isdigit, word))]
    if not tokens:
        return []
    found = names(tokens)
    attempts.append(Attempt(BY_NAME, " ".join(tokens), len(found)))
    return found
