"""Every thread reads texts as FTS5 does."""

from __future__ import annotations

import threading

import apsw
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import tokens
from recollect.stores.tokens import BREAK
from tests.strategies import any_text


@given(st.lists(any_text | st.sampled_from([BREAK, f"a{BREAK}b", "Cafés running"]), min_size=1, max_size=4))
def test_texts_read_at_once_are_read_as_each_alone(texts: list[str]) -> None:
    for read in (tokens.word_stream, tokens.stem_stream):
        apart = [word for text in texts for word in read([text]) if set(word) != {BREAK}]
        assert [word for word in read(texts) if set(word) != {BREAK}] == apart


@given(any_text)
def test_the_index_holds_the_stems_of_a_text(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (words, row)")
    connection.execute("INSERT INTO words VALUES (?)", (tokens.indexed(text),))
    assert {stem for (stem,) in connection.execute("SELECT term FROM stems")} == set(tokens.stem_stream([text]))
    connection.close()


def test_threads_read_alike() -> None:
    read: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: read.append(tokens.stem_stream(["Running cafés"] * 200))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [["run", "cafe", BREAK] * 199 + ["run", "cafe"]] * 8
