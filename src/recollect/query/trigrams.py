"""Find notes whose path resembles a misspelt name, by the Jaccard similarity of padded trigrams.

The slug of a note is the last segment of its path. In the parameters of the public functions, notes are ``chunks`` and
words are ``tokens``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.text import split_words

TRIGRAM_THRESHOLD = 0.3  # the smallest Jaccard similarity that counts as a match


class TrigramMatch(NamedTuple):
    """A note whose slug is similar to one of the words that were searched.

    >>> TrigramMatch("n1", "clients/bosch.md", 1.0).to_dict()
    {'id': 'n1', 'path': 'clients/bosch.md', 'similarity': 1.0}
    """

    id: str
    path: str
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        """Return the match as JSON-ready data."""
        return self._asdict()


def slug_text(path: str) -> str:
    """Return the words of a path's slug in lower case, without ``.md``, separated by spaces.

    >>> slug_text("wiki/people/Oude-Reimer.md")
    'oude reimer'
    """
    name = arguments.text("path", path).lower().rpartition("/")[2]
    return " ".join(split_words(name.removesuffix(".md")))


def trigrams(text: str) -> set[str]:
    """Return the trigrams of all words of ``text``, after padding each word with ``$`` on both sides.

    >>> sorted(trigrams("Tea"))
    ['$te', 'ea$', 'tea']
    """
    padded = (f"${word}$" for word in split_words(arguments.text("text", text)))
    return {word[start : start + 3] for word in padded for start in range(len(word) - 2)}


def jaccard(a: AbstractSet[str], b: AbstractSet[str]) -> float:
    """Return the Jaccard similarity: the size of the intersection over the size of the union; 0 for two empty sets.

    >>> jaccard({"a", "b"}, {"b", "c"})
    0.3333333333333333
    """
    for argument, value in (("a", a), ("b", b)):
        if not isinstance(value, AbstractSet):
            raise ArgumentTypeError(argument, f"must be a set of trigrams, got {type(value).__name__}")
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


class TrigramIndex:
    """The trigrams of the slugs of notes, computed once for many searches.

    >>> TrigramIndex([{"id": "n2", "path": "tools/kubernetes.md"}]).search(["kubernets"], 5)
    [TrigramMatch(id='n2', path='tools/kubernetes.md', similarity=0.5833333333333334)]
    """

    def __init__(self, chunks: Iterable[Any]) -> None:
        """Index notes; notes with an empty or repeated id are ignored."""
        self._slugs: dict[str, tuple[str, set[str]]] = {}  # the path and the slug's trigrams, by the note's id
        for index, chunk in enumerate(arguments.sequence("chunks", chunks)):
            note_id, path = _id_and_path(f"chunks[{index}]", chunk)
            if note_id and note_id not in self._slugs:
                self._slugs[note_id] = path, trigrams(slug_text(path))

    def search(self, tokens: Iterable[str], limit: int) -> list[TrigramMatch]:
        """Return the notes whose slug is similar to one of the words, as :func:`trigram_search` does."""
        max_results = arguments.count("limit", limit)
        words = enumerate(arguments.sequence("tokens", tokens))
        trigrams_of_words = {frozenset(trigrams(arguments.text(f"tokens[{index}]", word))) for index, word in words}
        matches = []
        for note_id, (path, slug_trigrams) in self._slugs.items():
            # This computes jaccard(), but without checking the arguments.
            sizes = ((len(slug_trigrams & other), len(slug_trigrams) + len(other)) for other in trigrams_of_words)
            similarity = max((shared / (total - shared) for shared, total in sizes if shared), default=0.0)
            if similarity >= TRIGRAM_THRESHOLD:
                matches.append(TrigramMatch(note_id, path, similarity))
        matches.sort(key=lambda match: (-match.similarity, match.path))
        return matches[:max_results]


def trigram_search(chunks: Iterable[Any], tokens: Iterable[str], limit: int) -> list[TrigramMatch]:
    """Return at most ``limit`` notes whose slug is similar to one of the words, most similar first, then by path.

    A note is a :class:`~recollect.Candidate` or a mapping with ``id`` and ``path``. Its similarity is the highest
    :func:`jaccard` between the trigrams of its :func:`slug_text` and the trigrams of one word. Notes with a similarity
    below :data:`TRIGRAM_THRESHOLD`, or with an empty or repeated id, are left out.

    >>> notes = [{"id": "n1", "path": "clients/bosch.md"}, {"id": "n2", "path": "tools/kubernetes.md"}]
    >>> trigram_search(notes, ["kubernets"], 5)
    [TrigramMatch(id='n2', path='tools/kubernetes.md', similarity=0.5833333333333334)]
    """
    return TrigramIndex(chunks).search(tokens, limit)


def _id_and_path(argument: str, chunk: Any) -> tuple[str, str]:
    is_mapping = isinstance(chunk, Mapping)
    note_id, path = (chunk.get(name) if is_mapping else getattr(chunk, name, None) for name in ("id", "path"))
    return arguments.text(f"{argument}.id", note_id), arguments.text(f"{argument}.path", path or "")
