"""Posting lists, changed block by block, equal a dictionary of postings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.stores.postgres.connections import Connections
from recollect.stores.postgres.postings import BLOCK_SIZE, Posting, Postings, update_postings
from recollect.stores.postgres.transaction import PostgresTransaction
from tests.stores.postgres.server import Server


@pytest.fixture(scope="module")
def connections(postgres: Server) -> Iterator[Connections]:
    name = postgres.create()
    with closing(Connections(postgres.address(name))) as connections:
        with connections.write(["tea"], create=True):
            pass
        yield connections
    postgres.drop(name)


@pytest.fixture
def empty_index(connections: Connections) -> Connections:
    with connections.write(["tea"]) as transaction:
        transaction.connection.execute("DELETE FROM postings")
    return connections


def rows(transaction: PostgresTransaction) -> list[tuple[str, int, int, bytes]]:
    stored = transaction.connection.execute("SELECT term, block, count, list FROM postings ORDER BY term, block")
    return [(term, block, count, data) for term, block, count, data in stored]


def stored_postings(transaction: PostgresTransaction) -> dict[str, list[Posting]]:
    """Return all postings; assert that no block is empty, too long or out of order."""
    lists: dict[str, list[Posting]] = {}
    for term, block, count, data in rows(transaction):
        read = Postings.of_blocks([(block, data)])
        postings = list(map(Posting, read.notes.tolist(), read.weights.tolist(), map(int, read.tokens.tolist())))
        assert 0 < len(postings) == count <= BLOCK_SIZE
        assert block <= postings[0].note
        assert not lists.get(term) or lists[term][-1].note < block
        assert postings == sorted(set(postings))
        lists.setdefault(term, []).extend(postings)
    return lists


def change(
    connections: Connections,
    added: dict[str, list[Posting]],
    removed: dict[str, list[int]] | None = None,
    first_new_key: int | None = None,
) -> None:
    with connections.write(["tea"]) as transaction:
        update_postings(
            transaction.connection, transaction.namespaces["tea"], added, removed or {}, first_new_key=first_new_key
        )


def postings(*notes: int) -> list[Posting]:
    return [Posting(note, float(note % 7 + 1), note % 90 + 1) for note in notes]


def test_long_list_is_split_into_blocks(empty_index: Connections) -> None:
    change(empty_index, {"tea": postings(*range(10, 510)), "cup": postings(11)}, first_new_key=10)
    blocks = empty_index.read(rows, namespace="tea")
    assert [(term, block, count) for term, block, count, _ in blocks] == [
        ("cup", 11, 1),
        ("tea", 10, 160),
        ("tea", 170, 160),
        ("tea", 330, 160),
        ("tea", 490, 20),
    ]
    assert empty_index.read(stored_postings, namespace="tea")["tea"] == postings(*range(10, 510))


def test_new_notes_are_appended(empty_index: Connections) -> None:
    change(empty_index, {"tea": postings(*range(1, 200))}, first_new_key=1)
    change(empty_index, {"tea": postings(*range(200, 300))}, first_new_key=200)
    change(empty_index, {"tea": postings(*range(300, 400))}, first_new_key=300)
    assert empty_index.read(stored_postings, namespace="tea") == {"tea": postings(*range(1, 400))}


def test_distant_keys_have_separate_blocks(empty_index: Connections) -> None:
    keys = [1, 2**32, 2**32 + 1, 2**40]
    change(empty_index, {"tea": postings(*keys)})
    assert empty_index.read(stored_postings, namespace="tea") == {"tea": postings(*keys)}
    change(empty_index, {"tea": postings(2**41)}, first_new_key=2**41)
    assert empty_index.read(stored_postings, namespace="tea") == {"tea": postings(*keys, 2**41)}


def test_empty_list_is_deleted(empty_index: Connections) -> None:
    change(empty_index, {"tea": postings(1, 2)})
    change(empty_index, {}, {"tea": [1, 2], "unknown": [1]})
    assert empty_index.read(rows, namespace="tea") == []
    change(empty_index, {}, {})


def test_changed_note_has_its_new_weight(empty_index: Connections) -> None:
    change(empty_index, {"tea": postings(1, 2, 3)})
    change(empty_index, {"tea": [Posting(2, 50.0, 60)]}, {"tea": [2]})
    assert empty_index.read(stored_postings, namespace="tea") == {
        "tea": [*postings(1), Posting(2, 50.0, 60), *postings(3)]
    }


_notes = st.sets(st.integers(1, 900), max_size=300)
_changes = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["tea", "cup"]), _notes, max_size=2),
        st.dictionaries(st.sampled_from(["tea", "cup"]), _notes, max_size=2),
    ),
    max_size=6,
)


@settings(max_examples=60)
@given(_changes)
def test_any_history_gives_the_expected_postings(
    connections: Connections, changes: list[tuple[dict[str, set[int]], dict[str, set[int]]]]
) -> None:
    with connections.write(["tea"]) as transaction:
        transaction.connection.execute("DELETE FROM postings")
    expected_postings: dict[str, dict[int, Posting]] = {"tea": {}, "cup": {}}
    for number, (added, removed) in enumerate(changes, start=1):
        new = {term: [Posting(note, float(number), note) for note in notes] for term, notes in added.items() if notes}
        change(connections, new, {term: list(notes) for term, notes in removed.items() if notes})
        for term, notes in removed.items():
            for note in notes:
                expected_postings[term].pop(note, None)
        for term, new_postings in new.items():
            expected_postings[term] |= {posting.note: posting for posting in new_postings}
    expected = {term: sorted(by_note.values()) for term, by_note in expected_postings.items() if by_note}
    assert connections.read(stored_postings, namespace="tea") == expected
