"""Text becomes sentences.

A full stop is not always an end: it also stands behind abbreviations and initials, in numbers and in ellipses. When in
doubt two sentences stay together: for a chunk it matters more that nothing is torn apart than that all is separated.
"""

from __future__ import annotations

import re

__all__ = ["sentence_ends", "split_sentences"]

_CLOSERS = "\"'”’»›)\\]*_"
_BOUNDARY = re.compile(
    rf"(?<![.!?…])(?P<marks>[.!?…]++)[{_CLOSERS}]*+(?=\s)\s*+"  # a run of marks is looked at once, so that it is linear
    r"|(?<![。！？｡])[。！？｡]++[」』”’）】〕》]*+\s*+"
    r"|\n[^\S\n]*\n\s*+"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘„«]*\Z")
_OPENERS = "\"'“‘„«‹([*_¿¡"

_NEVER_LAST = frozenset(
    """
    adm approx apr aug bldg brig bzgl bzw ca capt cf col d.h dec dept dipl dr e.g eds evtl feb fr geb gen ggf gov
    hon hr i.e inkl jan jul jun lt maj mio mr mrs ms mt nov oct prof rep rev sen sep sept sgt st str tel u.a univ
    vgl vs z.b
    """.split()
)
"""Abbreviations that something always follows."""

_BEFORE_NUMBERS = frozenset("art ch eq fig figs mar no nos nr op p pp sec tab vol".split())
"""Abbreviations if a number follows, and often whole words if none does."""

_SOMETIMES_LAST = frozenset("a.m al ave bros co corp est etc inc jr ltd p.m ph.d resp sr usw".split())
"""Abbreviations that end a sentence if what follows is one of the usual first words."""

_FIRST_WORDS = frozenset(
    """
    a aber after all als am an and as at auch auf because before bei both but by da danach das dass der die dies
    diese each ein eine er es every for from für he her here heute hier his how however i ich if ihr im in ist it
    its kein later man mit most my nach nein next no now nun nur ob oder on one or our she sie since so some that
    the their then there these they this those to today und uns vom von war warum was we wenn wer what when where
    while who why wie wir with wo yes you your zu zum
    """.split()
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, without the white space around them.

    >>> split_sentences('Dr. Vega paid 3.50 for tea. "Too much?" she asked. It was J. R. Smith vs. the U.S. Mint.')
    ['Dr. Vega paid 3.50 for tea.', '"Too much?" she asked.', 'It was J. R. Smith vs. the U.S. Mint.']
    >>> split_sentences("お茶が好きです。コーヒーは？いいえ！")
    ['お茶が好きです。', 'コーヒーは？', 'いいえ！']
    """
    starts = [0, *sentence_ends(text)]
    sentences = (text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [sentence for sentence in sentences if sentence]


def sentence_ends(text: str) -> list[int]:
    """Return where in ``text`` a sentence ends and the next begins; white space belongs to the one before it.

    >>> sentence_ends("Tea. Coffee.")
    [5]
    """
    return [
        found.end()
        for found in _BOUNDARY.finditer(text)
        if found.end() < len(text) and (found["marks"] is None or _ends(text, found))
    ]


def _ends(text: str, found: re.Match[str]) -> bool:
    """Return whether the marks that were found end a sentence, by the words before and after them."""
    if "\n" in found[0] and found[0].count("\n") > 1:
        return True  # an empty line ends whatever stands before it
    following = text[found.end() : found.end() + 24].lstrip(_OPENERS)
    if following[:1].islower():
        return False
    if found["marks"] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(0, found.start() - 24), found.start())
    word = before[0].lower() if before else ""
    if word.isdecimal():
        # "1." at the start of a line numbers an item; elsewhere a number may well be a sentence's last word.
        line = text.rfind("\n", max(0, found.start() - 24), found.start()) + 1
        return bool(text[max(line, found.start() - 24) : found.start()].strip(word + " \t>*-"))
    if word in _NEVER_LAST or (word in _BEFORE_NUMBERS and following[:1].isdecimal()):
        return False
    if word in _SOMETIMES_LAST or (len(word) == 1 and word.isalpha()) or _is_acronym(word):
        first = re.match(r"\w*", following)
        return first is not None and first[0].lower() in _FIRST_WORDS
    return True


def _is_acronym(word: str) -> bool:
    """Return whether ``word`` is made of single letters with full stops between: ``u.s``."""
    return len(word) > 2 and all(len(part) == 1 and part.isalpha() for part in word.split("."))
