"""Words that nobody ever said, and that every engine reads alike."""

from __future__ import annotations

from itertools import chain, islice, product

__all__ = ["made_up_words"]

_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"
_LAST_VOWELS = "ao"
"""No rule of Porter's takes an ending away that is one of these: stemmed or not, a word stays itself."""


def made_up_words(count: int) -> list[str]:
    """Return so many different words that can be spoken, the short ones first, as the usual words of a language are.

    They have two syllables or three, letters only, and are their own stems, so that engines that stem and engines that
    do not have the same terms.

    >>> made_up_words(4)
    ['baba', 'babo', 'bada', 'bado']
    >>> made_up_words(60_000)[-1]
    'mumipo'
    """
    syllables = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _VOWELS)]
    last = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _LAST_VOWELS)]
    short = ("".join(parts) for parts in product(syllables, last))
    long = ("".join(parts) for parts in product(syllables, syllables, last))
    return list(islice(chain(short, long), count))
