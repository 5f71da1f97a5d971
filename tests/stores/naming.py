"""Who names whom, by brute force: every title against every text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.query.terms import DUTCH, ENGLISH

BEARERS = 64
NAMERS = 1000


def folded(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
    return re.findall(r"(?:[^\W_]|\ue000)+", plain.lower())


def names_of(title: str) -> set[tuple[str, ...]]:
    """Return the ways in which a note with this title may be named."""
    if "\ue000" in title:  # a sign for private use
        return set()
    names = {tuple(folded(title))}
    if brackets := re.fullmatch(r"(.*)\([^()]*\)\s*", title, re.DOTALL):
        names.add(tuple(folded(brackets[1])))
    stopwords = ENGLISH | DUTCH
    return {
        name
        for name in names
        if (len(name) == 1 and len(name[0]) >= 4 and not name[0].isdigit() and name[0] not in stopwords)
        or (2 <= len(name) <= 12 and not stopwords.issuperset(name))
    }


def holds(text: str, name: Sequence[str]) -> bool:
    words = folded(text)
    return any(tuple(words[start : start + len(name)]) == tuple(name) for start in range(len(words)))


def mentions(notes: Mapping[str, Mapping[str, Any]], bearers: int = BEARERS) -> set[tuple[str, str]]:
    """Return who names whom among the notes of one namespace, each with its title, summary and content."""
    borne = {key: names_of(note.get("title", "")) for key, note in notes.items()}
    count = Counter(name for names in borne.values() for name in names)
    return {
        (namer, named)
        for named, names in borne.items()
        for name in names
        if count[name] <= bearers
        for namer, note in notes.items()
        if name not in borne[namer] and any(holds(note.get(part, ""), name) for part in ("summary", "content"))
    }


def sharing(notes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return which notes list the same entities."""
    listed = {
        key: {" ".join(name.split()).casefold() for name in note.get("metadata", {}).get("entities", ())}
        for key, note in notes.items()
    }
    return {(one, other) for one in notes for other in notes if one != other and listed[one] & listed[other]}
