"""Stopwords, and the terms for the fallback ladder: the queries that are tried if the user's query finds nothing."""

from __future__ import annotations

import regex

from recollect import arguments
from recollect.text import collapse_whitespace, well_formed

ENGLISH_STOPWORDS = frozenset(
    """
    a about above across actually after again against all along am among an and any are around at be because
    becoming been before behind being below beside between beyond bit but by can combined could detail details
    did do does doing down during each every find for from get give had has have having he her hers him his how
    i idea ideas if im in information inside into is it items its ive keep keeping kind kinds lately like list
    look looking make making many may me might mine must my near need needs no none nor of off on onto or our
    ours out over past planning please really recent recently recommend recommendation recommendations record
    records regarding relationship relationships seen shall she should show so some suggest suggestion
    suggestions sure tell than thanks that the their theirs them these they thinking this those through tip tips
    to tonight toward towards trouble type types under until up upcoming upon us useful was watch we were what
    when where which who whom whose why will with within without would yet you your yours
    """.split()
)

DUTCH_STOPWORDS = frozenset(
    """
    aan alleen als ben bent bij binnen boven buiten dan dat de deze die dit doen doet door een elk elke en geen
    haar hadden hebben heeft hem hen het hij hoe hun iedere ik ja je jij jouw jullie kan kunnen maar met mij
    mijn moet moeten na naar nee niet omdat onder ons onze ook op tegen toch tussen uit van veel voor waar
    waarom wanneer want waren wat weinig welk welke wie wij word worden wordt zal zich zij zijn zou
    """.split()
)
STOPWORDS = ENGLISH_STOPWORDS | DUTCH_STOPWORDS | {"and", "or", "not"}
"""Words that the parser drops from a query without quotes and operators."""

LADDER_STOPWORDS = frozenset(
    """
    a about advice again an and any are becoming been bit but can choose combined current de decide deciding een
    en feeling find for from getting had has have having help helpful het how idea ideas interesting is items
    ive keep keeping kind kinds lately look looking make making many might need needs noticed of or planning
    recent recently recommend recommendation recommendations seen should show some soon suggest suggestion
    suggestions sure the thinking tips together tonight trouble trying type types upcoming useful want was watch
    weekend what when where who why with would you
    """.split()
)
"""Words that the fallback ladder does not search for."""
_PUNCTUATION_AND_SYMBOLS = regex.compile(r"[\p{P}\p{S}]+")
_MIN_TOKEN_CHARS = 3


def sanitise(text: str) -> str:
    """Return ``text`` with punctuation and symbols replaced by spaces, and white space collapsed; case is kept.

    >>> sanitise("What's C++ (in short)?")
    'What s C in short'
    """
    arguments.text("text", text)
    return collapse_whitespace(_PUNCTUATION_AND_SYMBOLS.sub(" ", well_formed(text)))


def query_tokens(text: str) -> list[str]:
    """Return the distinct words of ``text`` in lower case, without ladder stopwords and words under three characters.

    >>> query_tokens("how do I deploy kubernetes clusters, and deploy again?")
    ['deploy', 'kubernetes', 'clusters']
    """
    words = sanitise(text).lower().split(" ")
    return list(dict.fromkeys(word for word in words if len(word) >= _MIN_TOKEN_CHARS and word not in LADDER_STOPWORDS))


def strongest_term(text: str) -> str | None:
    """Return the longest word of :func:`query_tokens`, of equally long words the first; ``None`` if there are no words.

    >>> strongest_term("how do I deploy kubernetes clusters")
    'kubernetes'
    """
    return max(query_tokens(text), key=len, default=None)
