"""Text that PostgreSQL cannot hold, held."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.postgres.text import LONGEST_TERM, escaped, lexeme, quoted, term, unescaped
from recollect.stores.tokens import stems_of
from tests.stores.postgres.server import Server


@pytest.fixture(scope="module")
def connection(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.address("empty"), autocommit=True) as opened:
        yield opened


any_text = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\0\x1aNS'\\\"")), max_size=20)


@given(any_text)
def test_any_text_comes_back_as_it_was(connection: psycopg.Connection, text: str) -> None:
    ((stored,),) = connection.execute("SELECT %s::text", [escaped(text)]).fetchall()
    assert unescaped(stored) == text


@given(any_text.filter(lambda text: text and "\0" not in text))
def test_a_quoted_lexeme_is_one_lexeme(connection: psycopg.Connection, text: str) -> None:
    rows = connection.execute(
        "SELECT tsvector_to_array(%s::tsvector), numnode(%s::tsquery)", [quoted(text), quoted(text)]
    ).fetchall()
    assert rows == [([text], 1)]


def test_a_word_that_is_too_long_is_told_from_others_that_begin_alike(connection: psycopg.Connection) -> None:
    whole, cut = "é" * (LONGEST_TERM // 2), "é" * LONGEST_TERM
    assert term(whole) == whole
    assert term(cut) != term(cut + "é")
    assert term(cut).startswith(whole)
    connection.execute("SELECT %s::tsvector", [lexeme(2**31 - 1, term(cut))])


def test_of_a_word_fts5_reads_the_first_32768_bytes() -> None:
    assert term("a" * 40_000) == term("a" * 32_768 + "b") != term("a" * 32_767 + "b")


def test_each_thread_has_a_tokenizer_of_its_own() -> None:
    with ThreadPoolExecutor(3) as crew:
        assert list(crew.map(stems_of, ["Green teas"] * 30)) == [["green", "tea"]] * 30
