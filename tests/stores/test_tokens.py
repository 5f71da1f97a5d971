"""Tokens equal those of FTS5, in every thread."""

from __future__ import annotations

import threading

import apsw
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import tokens
from recollect.stores.tokens import BREAK
from tests.strategies import any_text


@given(st.lists(any_text | st.sampled_from([BREAK, f"a{BREAK}b", "Cafés running"]), min_size=1, max_size=4))
def test_streams_of_several_texts_equal_single_streams(texts: list[str]) -> None:
    for stream in (tokens.word_stream, tokens.stem_stream):
        expected = [word for text in texts for word in stream([text]) if set(word) != {BREAK}]
        assert [word for word in stream(texts) if set(word) != {BREAK}] == expected


@given(any_text)
def test_stem_stream_equals_fts5_index(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (words, row)")
    connection.execute("INSERT INTO words VALUES (?)", (tokens.indexed(text),))
    assert {stem for (stem,) in connection.execute("SELECT term FROM stems")} == set(tokens.stem_stream([text]))
    connection.close()


def test_threads_tokenize_alike() -> None:
    streams: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: streams.append(tokens.stem_stream(["Running cafés"] * 200))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert streams == [["run", "cafe", BREAK] * 199 + ["run", "cafe"]] * 8
