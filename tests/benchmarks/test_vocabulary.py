from __future__ import annotations

import apsw
from benchmarks.peers.generating import WORDS
from benchmarks.peers.vocabulary import made_up_words

from recollect.query.terms import DUTCH, ENGLISH, LADDER


def test_words_are_distinct_and_letters_only() -> None:
    words = made_up_words(WORDS)
    assert len(set(words)) == len(words) == WORDS
    assert all(word.isalpha() and word.isascii() and word.islower() for word in words)


def test_no_word_is_a_stopword() -> None:
    assert not {*ENGLISH, *DUTCH, *LADDER} & set(made_up_words(WORDS))


def test_stemming_leaves_each_word_alone() -> None:
    words = made_up_words(WORDS)
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, row)")
    connection.execute("INSERT INTO texts VALUES (?)", (" ".join(words),))
    assert sorted(words) == [term for (term,) in connection.execute("SELECT term FROM terms ORDER BY term")]
