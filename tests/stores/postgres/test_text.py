"""Text round-trips through PostgreSQL, NUL included."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.postgres.text import MAX_TERM_BYTES, escape, index_term, lexeme, unescape
from recollect.stores.tokens import stems_of
from tests.stores.postgres.server import Server


@pytest.fixture(scope="module")
def connection(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.address("empty"), autocommit=True) as opened:
        yield opened


any_text = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\0\x1aNS'\\\"")), max_size=20)


@given(any_text)
def test_escaped_text_round_trips(connection: psycopg.Connection, text: str) -> None:
    ((stored,),) = connection.execute("SELECT %s::text", [escape(text)]).fetchall()
    assert unescape(stored) == text


@given(any_text.filter(lambda text: text and "\0" not in text))
def test_lexeme_is_quoted(connection: psycopg.Connection, text: str) -> None:
    rows = connection.execute(
        "SELECT tsvector_to_array(%s::tsvector), numnode(%s::tsquery)", [lexeme(7, text), lexeme(7, text)]
    ).fetchall()
    assert rows == [([f"7\x1f{text}"], 1)]


def test_long_terms_differ(connection: psycopg.Connection) -> None:
    longest, too_long = "é" * (MAX_TERM_BYTES // 2), "é" * MAX_TERM_BYTES
    assert index_term(longest) == longest
    assert index_term(too_long) != index_term(too_long + "é")
    assert index_term(too_long).startswith(longest)
    connection.execute("SELECT %s::tsvector", [lexeme(2**31 - 1, index_term(too_long))])


def test_term_truncates_like_fts5() -> None:
    assert index_term("a" * 40_000) == index_term("a" * 32_768 + "b") != index_term("a" * 32_767 + "b")


def test_threads_tokenize_concurrently() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(stems_of, ["Green teas"] * 30)) == [["green", "tea"]] * 30
