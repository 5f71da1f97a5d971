"""Ordinary questions: sentences in which a capitalised AND, OR or NOT stresses a word and is no operator."""

from __future__ import annotations

import re
from itertools import pairwise

from recollect.query.normalisation import normalise
from recollect.query.stopwords import STOPWORDS

__all__ = ["is_question", "operators_as_words"]

_AUXILIARIES = frozenset(
    """
    am are be been can could did do does had has have is may might must shall should was were will would
    """.split()
)
_QUESTION_WORDS = frozenset(
    """
    how what when where which who whom whose why
    hoe waar waarom wanneer wat welk welke wie
    """.split()
)
_OPERATOR = re.compile(r"(?<![^ ])(AND|OR|NOT)(?![^ ])")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_question(text: str) -> bool:
    """Return whether ``text`` is an ordinary question, or a sentence that stresses a NOT.

    It is one if it has no quotes, and either

    - begins with a question word or an auxiliary verb, or ends with a question mark, and holds another function word
      besides the operators and the word that it begins with; or
    - has an auxiliary verb right before a NOT.

    >>> is_question("why do we NOT use MongoDB?"), is_question("we do NOT use MongoDB")
    (True, True)
    >>> is_question("coffee NOT decaf"), is_question("coffee NOT decaf?"), is_question("what NOT decaf")
    (False, False, False)
    """
    plain = normalise(text)
    if '"' in plain:
        return False
    words = [word for word in _WORD.findall(plain) if word not in ("AND", "OR")]
    if any(after == "NOT" and before.lower() in _AUXILIARIES for before, after in pairwise(words)):
        return True
    first, *others = [word.lower() for word in words if word != "NOT"] or [""]
    asks = first in _QUESTION_WORDS or first in _AUXILIARIES or plain.endswith("?")
    return asks and any(word in STOPWORDS for word in others)


def operators_as_words(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an ordinary question with its operators in lower case, and the operators; any other text as it is.

    >>> operators_as_words("why do we NOT use MongoDB?")
    ('why do we not use MongoDB?', ('NOT',))
    >>> operators_as_words("alpha AND beta")
    ('alpha AND beta', ())
    """
    found = tuple(dict.fromkeys(_OPERATOR.findall(normalise(text))))
    if not found or not is_question(text):
        return text, ()
    return _OPERATOR.sub(lambda operator: operator[0].lower(), normalise(text)), found
