"""A directory that is kept up by writes knows what one knows that is read anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Link
from recollect.stores.milvus import directory as directory_module
from recollect.stores.milvus.directory import Directories, Directory, Entry
from recollect.stores.milvus.rows import Header
from recollect.stores.milvus.schema import NEVER

_name = st.sampled_from(["a", "b", "c.md", "x/a.md", "x#1", ""])
_entry = st.builds(
    lambda key, note, path, session, expires, links, entities, words, whole: Entry(
        Header(
            key=key,
            id=f"n{note}",
            path=path,
            title="",
            session=session,
            position=None,
            document=None,
            expires=expires,
            links=tuple(Link("related", target) for target in links),
            entities=tuple(entities),
        ),
        f" {' '.join(words)} ",
        len(words),
        whole,
    ),
    st.integers(1, 4),
    st.integers(1, 4),
    _name,
    _name,
    st.sampled_from([NEVER, 5, 9]),
    st.sets(st.sampled_from(["a", "b", "x/a"])),
    st.sets(st.sampled_from(["tea", "kyoto"])),
    st.lists(st.sampled_from(["tea", "green", ".", "X61"]), max_size=5),
    st.booleans(),
)


def unique(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries of which no two have the same key, id or path, as in a store."""
    kept: list[Entry] = []
    for entry in entries:
        header = entry.header
        if not any(
            header.key == each.header.key
            or header.id == each.header.id
            or (header.path and header.path == each.header.path)
            for each in kept
        ):
            kept.append(entry)
    return kept


def known(directory: Directory) -> dict[str, Any]:
    many = ("names", "sessions", "entities", "linking", "linking_name", "linking_as")
    return {
        "notes": directory.notes,
        "tokens": directory.tokens,
        "total": directory.total,
        "abridged": directory.abridged,
        "expiring": directory.expiring,
        "ids": directory.ids,
        "paths": directory.paths,
        "words": dict(directory.words()),
        **{name: getattr(directory, name)._notes for name in many},
    }


@given(st.lists(_entry, max_size=6), st.lists(_entry, max_size=6), st.sets(st.integers(1, 5)))
def test_writes_lead_to_what_a_walk_finds(before: list[Entry], after: list[Entry], gone: set[int]) -> None:
    first, last = unique(before), unique(after)
    directory = Directory(7, first)
    # As a batch does: whatever has to give way to another is gone or changed as well.
    others = {entry.header.key for entry in first} - {entry.header.key for entry in last}
    directory.apply(others | gone, last)
    assert known(directory) == known(Directory(7, last))


def entry(key: int, words: str = "", **header: Any) -> Entry:
    blank = Header(key, f"n{key}", "", "", "", None, None, NEVER, (), ())
    return Entry(blank._replace(**header), f" {words} ", len(words.split()), whole=True)


def test_who_holds_a_word() -> None:
    directory = Directory(7, [entry(2, "tea cup"), entry(1, "tea"), entry(3, "cup")])
    assert directory.holding("tea") == 2
    assert directory.holding("milk") == 0
    assert [part.tolist() for part in directory.occurrences(["tea"])[:3]] == [[1, 2], [1, 1], [1, 2]]
    assert [part.tolist() for part in directory.occurrences(["tea", "cup"])[:2]] == [[1, 2, 3], [1, 2, 1]]
    assert directory.occurrences(["milk"]).notes.tolist() == []
    assert directory.begun(("t", "X")) == ["tea"]
    assert directory.holds(2, ["tea", "cup"])
    assert not directory.holds(1, ["tea", "cup"])
    besides = directory.holding_besides([2])
    assert [besides(word) for word in ("tea", "cup", "milk")] == [1, 1, 0]


def test_two_notes_of_one_name() -> None:
    directory = Directory(7, [entry(1, id="a", path="b"), entry(2, id="a", path="b")])
    directory.apply([1], ())
    assert directory.ids == {"a": 2}
    assert directory.paths == {"b": 2}


def test_what_is_due_is_hidden() -> None:
    directory = Directory(7, [entry(1, expires=5), entry(2, expires=6), entry(3)])
    assert directory.hidden(4) == set()
    assert directory.hidden(5) == {1}
    assert directory.hidden(NEVER - 1) == {1, 2}


def test_what_is_derived_is_kept_until_something_changes() -> None:
    directory = Directory(7)
    made: list[int | None] = []

    def derive(before: int | None) -> int:
        made.append(before)
        return len(made)

    assert [directory.kept("it", derive), directory.kept("it", derive)] == [1, 1]
    directory.apply([99], ())
    assert directory.kept("it", derive) == 1
    directory.apply((), [entry(1)])
    assert directory.kept("it", derive) == 2
    assert made == [None, 1]


def test_changes_are_told() -> None:
    directory = Directory(7, [entry(1)])
    told = directory.told_of_changes()
    directory.apply([1, 8], [entry(2)])
    assert told == {1, 2}


class Walked:
    """Reads like a reader of a store that has nothing but a note in each namespace."""

    lite = True

    def __init__(self) -> None:
        self.walks: list[int] = []
        self.at = 0

    def revision(self, _: int) -> int:
        return self.at

    def walk(self, home: int, _: Sequence[str]) -> list[dict[str, Any]]:
        self.walks.append(home)
        header = json.dumps(entry(home).header)
        return [{"key": home, "header": header, "words": " tea ", "tokens": 1, "whole": True}]


def test_a_directory_is_read_again_where_others_wrote() -> None:
    directories, reader = Directories(), Walked()
    whom: Any = reader
    assert directories.known(whom, 7) is None
    first = directories.at(whom, 7)
    assert directories.known(whom, 7) is first
    assert directories.at(whom, 7) is first
    directories.apply(7, (), (), (), before=0, revision=1)
    reader.at = 1
    assert directories.at(whom, 7) is first
    directories.apply(7, (), (), (), before=4, revision=5)
    directories.apply(7, (), (), (), before=1, revision=2)
    second = directories.at(whom, 7)
    assert second is not first
    reader.at = 2
    assert directories.known(whom, 7) is None
    assert directories.at(whom, 7) is not second
    directories.forget()
    directories.at(whom, 7)
    assert reader.walks == [7] * 4


@pytest.mark.parametrize("limit", ["MOST_NOTES", "MOST_NAMESPACES"])
def test_those_that_were_not_asked_for_the_longest_make_room(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, limit, 2)
    directories, reader = Directories(), Walked()
    whom: Any = reader
    for namespace in (1, 2, 1, 3, 1, 3, 2):
        assert list(directories.at(whom, namespace).notes) == [namespace]
    assert reader.walks == [1, 2, 3, 2]


def test_one_walks_and_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    directories, reader = Directories(), Walked()
    whom: Any = reader
    begun, go_on = Event(), Event()
    walk = reader.walk

    def slowly(home: int, fields: Sequence[str]) -> list[dict[str, Any]]:
        begun.set()
        assert go_on.wait(60)
        return walk(home, fields)

    monkeypatch.setattr(reader, "walk", slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(directories.at, whom, 7)
        assert begun.wait(60)
        monkeypatch.setattr(reader, "walk", walk)
        assert list(directories.at(whom, 8).notes) == [8]  # another namespace does not wait
        second = pool.submit(directories.at, whom, 7)
        go_on.set()
        assert first.result() is second.result()
    assert reader.walks == [8, 7]


def test_one_that_is_let_go_of_meanwhile_is_used_to_the_end() -> None:
    directories, reader = Directories(), Walked()
    whom: Any = reader
    known = directories.at(whom, 7)
    revision = reader.revision

    def forgetting(namespace: int) -> int:
        directories.forget()
        return revision(namespace)

    whom.revision = forgetting
    assert directories.known(whom, 7) is known
    whom.revision = revision
    assert directories.known(whom, 7) is None
