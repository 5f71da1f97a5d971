"""The retry ladder: what is tried, rung by rung, when a query's words find nothing.

Each rung is tried once, in order, and the first that finds anything ends the climb. It retries an empty answer, never
an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from recollect.characters import WHITESPACE
from recollect.model import Candidate
from recollect.query import query_tokens, sanitise, strongest_term
from recollect.retrieval.trace import Attempt

__all__ = ["BY_NAME", "GUESSES", "Rung", "climb", "rungs"]

BY_SPELLING, BY_NAME = GUESSES = "did_you_mean", "trigram_fuzzy"
"""The rungs that guess what was meant: words that are spelt alike, and names that are."""

Rung = tuple[str, str]
"""The name of a rung, and the text that it searches for."""


def rungs(text: str) -> Iterator[Rung]:
    """Yield the rungs that search for other words; one without words is left out.

    >>> [words for rung, words in rungs("What is kubernetes?")]
    ['kubernetes', 'What is kubernetes', 'kubernetes']
    """
    strongest = strongest_term(text)
    if strongest is not None and strongest != text.strip(WHITESPACE).lower():
        yield "strongest_term", strongest
    # Between these two the source document refreshes the index, which is always fresh here.
    plain = sanitise(text)
    if plain:
        yield "refreshed_sanitised", plain
    strongest = strongest_term(plain)
    if strongest is not None:
        yield "refreshed_strongest", strongest


def climb(
    text: str,
    attempts: list[Attempt],
    *,
    search: Callable[[str], list[Candidate]],
    names: Callable[[Sequence[str]], list[Candidate]],
    spelt: Callable[[Sequence[str]], str] | None = None,
    discreet: bool = False,
) -> list[Candidate]:
    """Return what the first rung that finds anything finds, and write down each try.

    ``search`` looks for the words of a text; ``names`` compares words with the names of notes, letter by letter;
    ``spelt`` returns the words as the index spells them, where that is different; where one must be ``discreet``,
    because filters hide notes, words that find nothing are not told.
    """
    for strategy, words in rungs(text):
        found = search(words)
        attempts.append(Attempt(strategy, words, len(found)))
        if found:
            return found
    tokens = query_tokens(text)
    corrected = spelt(tokens) if spelt and tokens else ""
    if corrected:
        found = search(corrected)
        if found or not discreet:
            attempts.append(Attempt(BY_SPELLING, corrected, len(found)))
        if found:
            return found
    if not tokens:
        return []
    found = names(tokens)
    attempts.append(Attempt(BY_NAME, " ".join(tokens), len(found)))
    return found
