"""After any sequence of changes, the lexical index returns the scores of FTS5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.query.expressions import AnyOf, Match
from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.postgres.connections import Connections
from recollect.stores.postgres.postings import TextChange, index_notes, score_notes
from tests.stores.postgres.server import Server

Fields = Sequence[str]

_text = st.lists(st.sampled_from("green tea teas brewing cup cups café 42 pot".split()), max_size=6).map(" ".join)
_fields = st.lists(_text, min_size=5, max_size=5)
_batches = st.lists(st.dictionaries(st.integers(1, 12), st.none() | _fields, min_size=1, max_size=6), max_size=5)
_QUERY = AnyOf((Match("term", "tea"), Match("phrase", "green tea"), Match("prefix", "cu"), Match("term", "42")))


@pytest.fixture(scope="module")
def connections(postgres: Server) -> Iterator[Connections]:
    name = postgres.create()
    with closing(Connections(postgres.address(name))) as connections:
        yield connections
    postgres.drop(name)


def write(connections: Connections, stored: dict[int, Fields], batch: dict[int, Fields | None]) -> None:
    """Write, change and delete notes as a store does."""
    changes = [TextChange(note, stored.get(note), fields) for note, fields in batch.items() if fields or note in stored]
    with connections.write(["tea"], create=True) as transaction:
        (namespace,) = transaction.namespaces.values()
        for note, before, after in changes:
            if before is None:
                transaction.connection.execute(
                    "INSERT INTO notes (key, namespace, id, importance, created_at, updated_at, metadata, tags, title, "
                    "summary, content) VALUES (%s, %s, %s, 0.5, 0, 0, '{}', '', '', '', '')",
                    [note, namespace, str(note)],
                )
            if after is not None:
                transaction.connection.execute(
                    "UPDATE notes SET path = %s, title = %s, summary = %s, tags = %s, content = %s WHERE key = %s",
                    [*(f"{after[0]} {note}", *after[1:]), note],
                )
        index_notes(transaction.connection, namespace, [_with_key(change) for change in changes])
        deleted = [note for note, _, after in changes if after is None]
        transaction.connection.execute("DELETE FROM notes WHERE key = ANY (%s)", [deleted])
    for note, _, after in changes:
        if after is None:
            del stored[note]
        else:
            stored[note] = list(map(str, after))


def _with_key(change: TextChange) -> TextChange:
    note, before, after = change
    return TextChange(
        note, *((f"{texts[0]} {note}", *texts[1:]) if texts is not None else None for texts in (before, after))
    )


@settings(max_examples=60)
@given(_batches)
def test_any_history_gives_the_index_of_fts5(connections: Connections, batches: list[dict[int, Fields | None]]) -> None:
    stored: dict[int, Fields] = {}
    for batch in batches:
        write(connections, stored, batch)
    fts5 = apsw.Connection(":memory:")
    fts5.execute("CREATE VIRTUAL TABLE w USING fts5 (a, b, c, d, e, tokenize = 'porter unicode61')")
    rows = [(note, f"{path} {note}", *rest) for note, (path, *rest) in stored.items()]
    fts5.executemany("INSERT INTO w (rowid, a, b, c, d, e) VALUES (?, ?, ?, ?, ?, ?)", rows)
    weights = ", ".join(map(str, FIELD_WEIGHTS.values()))
    statement = f"SELECT rowid, -bm25(w, {weights}) FROM w WHERE w MATCH ? ORDER BY rowid"  # noqa: S608 (our numbers)
    expected = fts5.execute(statement, ('"tea" OR "green tea" OR "cu" * OR "42"',)).fetchall()
    with connections.write(["tea"], create=True) as transaction:
        (namespace,) = transaction.namespaces.values()
        scores = score_notes(transaction.connection, namespace, _QUERY)
        words = transaction.connection.execute("SELECT note FROM words ORDER BY note").fetchall()
        counts = transaction.connection.execute("SELECT notes FROM namespaces").fetchall()
    assert list(zip(scores.notes.tolist(), scores.scores.tolist(), strict=True)) == expected
    assert words == [(note,) for note in sorted(stored)]
    assert counts == [(len(stored),)]
    write(connections, stored, dict.fromkeys(stored))  # leave the store empty
    remaining = connections.read(
        lambda t: t.connection.execute(
            "SELECT notes, tokens, (SELECT count(*) FROM postings) FROM namespaces"
        ).fetchall(),
        namespace="tea",
    )
    assert remaining == [(0, 0, 0)]


def test_changed_terms_raise_the_revision(connections: Connections) -> None:
    def revision() -> int:
        ((number,),) = connections.read(
            lambda t: t.connection.execute("SELECT revision FROM namespaces").fetchall(), namespace="tea"
        )
        return int(number)

    stored: dict[int, Fields] = {}
    write(connections, stored, {1: ["", "tea", "", "", ""]})
    before = revision()
    write(connections, stored, {1: None})
    assert revision() == before + 1
