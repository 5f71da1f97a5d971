"""The word index of a namespace and its vocabulary, for those who misspelt a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query import parse
from recollect.query.expressions import Expression, Match, expression
from recollect.stores import tokens
from recollect.stores.postgres.postings import Postings
from recollect.stores.postgres.scoring import matching_notes
from recollect.stores.spelling import MAX_LENGTH, SPELLING_CHARACTERS, SPELLING_NOTES, Vocabulary, build_vocabulary

__all__ = ["WordIndex", "index_vocabulary"]

_KEYS_ASKED_FOR = 1024


def index_vocabulary(connection: Connection[TupleRow], namespace: int, _: Vocabulary | None) -> Vocabulary:
    """Return the stems of a namespace that the connection's transaction sees; what was known before is of no help."""
    return build_vocabulary(connection.execute(_STEMS, [namespace, MAX_LENGTH]).fetchall())


_STEMS = """
SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND length(term) <= %s GROUP BY term
"""


class WordIndex:
    """The word index of a namespace, as one transaction sees it."""

    def __init__(self, connection: Connection[TupleRow], namespace: int) -> None:
        """Look at it on a connection."""
        self._connection = connection
        self._namespace = namespace

    def has_word(self, word: str) -> bool:
        """Return whether a note holds a word, given as the index reads it."""
        return self._matches(Match("term", word))

    def has_match(self, text: str) -> bool:
        """Return whether a search for the word finds a note."""
        node = expression(parse(text))
        return node is not None and self._matches(node)

    def _matches(self, node: Expression) -> bool:
        """Return whether a note matches that has not expired: mostly the first that is asked for has not."""
        keys = matching_notes(self._connection, self._namespace, node).tolist()
        return any(
            self._connection.execute(_LIVING, [keys[start : start + _KEYS_ASKED_FOR]]).fetchone()
            for start in range(0, len(keys), _KEYS_ASKED_FOR)
        )

    def spellings(self, stem: str) -> Counter[str]:
        """Return how the first notes that hold a stem spell its words."""
        return Counter(word for text in self._texts(stem) for word in tokens.spellings(text, stem))

    def _texts(self, stem: str) -> Iterator[str]:
        """Yield the fields in which the first notes hold a stem, as far as they are looked at."""
        blocks = self._connection.execute(_FIRST, [self._namespace, stem, SPELLING_NOTES], binary=True).fetchall()
        notes = Postings.of_blocks(blocks).notes[:SPELLING_NOTES].tolist()
        fields = (field for row in self._connection.execute(_FIELDS, [notes]) for field in row if field)
        holding = (text for text in map(tokens.indexed, fields) if stem in tokens.stems_of(text))
        for text in islice(holding, SPELLING_NOTES):
            yield text[:SPELLING_CHARACTERS]


_LIVING = "SELECT 1 FROM living WHERE key = ANY (%s::bigint[]) LIMIT 1"

_FIRST = "SELECT block, list FROM postings WHERE namespace = %s AND term = %s ORDER BY block LIMIT %s"

_FIELDS = "SELECT path, title, summary, tags, content FROM notes WHERE key = ANY (%s::bigint[]) ORDER BY key"
