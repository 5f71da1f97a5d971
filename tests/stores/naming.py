"""Mentions by brute force: every title against every text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS

MAX_TITLE_NOTES = 64


def folded(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return re.findall(r"(?:[^\W_]|\ue000)+", plain.lower())


def names_of(title: str) -> set[tuple[str, ...]]:
    """Return the token sequences that mention a note with this title."""
    if "\ue000" in title:  # a private-use character
        return set()
    names = {tuple(folded(title))}
    if brackets := re.fullmatch(r"(.*)\([^()]*\)\s*", title, re.DOTALL):
        names.add(tuple(folded(brackets[1])))
    stopwords = ENGLISH_STOPWORDS | DUTCH_STOPWORDS
    return {
        name
        for name in names
        if (len(name) == 1 and len(name[0]) >= 4 and not name[0].isdigit() and name[0] not in stopwords)
        or (2 <= len(name) <= 12 and not stopwords.issuperset(name))
    }


def contains(text: str, name: Sequence[str]) -> bool:
    words = folded(text)
    return any(tuple(words[start : start + len(name)]) == tuple(name) for start in range(len(words)))


def mentions(notes: Mapping[str, Mapping[str, Any]], max_title_notes: int = MAX_TITLE_NOTES) -> set[tuple[str, str]]:
    """Return the pairs (mentioning note, mentioned note) of one namespace."""
    names_by_id = {key: names_of(note.get("title", "")) for key, note in notes.items()}
    count = Counter(name for names in names_by_id.values() for name in names)
    return {
        (source, target)
        for target, names in names_by_id.items()
        for name in names
        if count[name] <= max_title_notes
        for source, note in notes.items()
        if name not in names_by_id[source]
        and any(contains(note.get(part, ""), name) for part in ("summary", "content"))
    }


def notes_with_common_entity(notes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return the pairs of notes with a common entity."""
    entities = {
        key: {" ".join(name.split()).casefold() for name in note.get("metadata", {}).get("entities", ())}
        for key, note in notes.items()
    }
    return {
        (source, target)
        for source in notes
        for target in notes
        if source != target and entities[source] & entities[target]
    }
