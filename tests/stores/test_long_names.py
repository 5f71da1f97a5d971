"""Stores accept names of any length and any text, whatever the limits of an engine's indexes."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.model import Document, Edge, Filters, Link, draft_of
from recollect.query import parse
from recollect.stores.base import Store

NAMESPACE = "default"
EVERYTHING = Filters()
LONG = "".join(chr(0x4E00 + n * 7 % 20_000) for n in range(9_000))  # hardly compressible
LONG_VALUES: dict[str, dict[str, Any]] = {
    "id": {"id": LONG},
    "path": {"path": f"{LONG}.md"},
    "session": {"session": LONG, "position": 1},
    "title": {"title": LONG},
    "tag": {"tags": (LONG,)},
    "entity": {"metadata": {"entities": [LONG]}},
    "key of metadata": {"metadata": {LONG: LONG}},
    "link": {"links": (Link(LONG, LONG),)},
    "word": {"content": LONG},
    "namespace": {"namespace": LONG},
}


@pytest.mark.parametrize("field", LONG_VALUES)
def test_long_value_round_trips(store: Store, field: str) -> None:
    ((note,), _) = store.write(
        [draft_of({"content": "tea", "id": "short", "vector": [1.0, 0.0], **LONG_VALUES[field]})]
    )
    assert store.get([note.id], namespace=note.namespace) == [note]
    assert list(store.notes()) == [note]
    results = store.search_text(parse("tea"), 9, namespace=note.namespace, filters=EVERYTHING)
    assert [candidate.id for candidate in results] == [note.id] * (field != "word")
    assert store.write([draft_of({**LONG_VALUES[field], "id": note.id, "content": "milk"})]).notes[0].content == "milk"
    assert not any(finding.problem for finding in store.check())
    assert store.delete([note.id], namespace=note.namespace) == 1
    assert not any(finding.problem for finding in store.repair())


def test_long_names_with_a_common_prefix_differ(store: Store) -> None:
    names = [f"{LONG}{end}" for end in "abc"]
    store.write([draft_of({"id": name, "path": f"{name}.md", "content": name[-1]}) for name in names])
    notes = store.get([*names, *(f"{name}.md" for name in names), LONG], namespace=NAMESPACE)
    assert [note and note.content for note in notes] == [*"abc", *"abc", None]
    candidates = store.candidates(names[::-1], namespace=NAMESPACE, filters=EVERYTHING)
    assert [candidate.id for candidate in candidates] == names[::-1]
    prefixed = store.page(9, namespace=NAMESPACE, filters=Filters(path_prefix=f"{LONG}b"))
    assert [note.content for note in prefixed.notes] == ["b"]


def test_long_names_have_edges(store: Store) -> None:
    shared = {"entities": [LONG]}
    store.write(
        [
            draft_of({"id": "1", "path": f"{LONG}/a.md", "content": "x", "session": LONG, "position": 1}),
            draft_of({"id": "2", "content": "x", "session": LONG, "position": 2, "links": [(LONG, f"{LONG}/a")]}),
            draft_of({"id": "3", "content": "x", "metadata": shared}),
            draft_of({"id": "4", "content": "x", "metadata": shared, "links": [("related", LONG)]}),
            draft_of({"id": "5", "path": f"b/{LONG}.md", "content": "x"}),
        ]
    )
    assert store.edges(["1", "2", "3", "4", "5"], namespace=NAMESPACE) == [
        Edge("1", "2", "next", "out"),
        Edge("1", "2", LONG, "in"),
        Edge("2", "1", "previous", "out"),
        Edge("2", "1", LONG, "out"),
        Edge("3", "4", "entity", "out"),
        Edge("4", "5", "related", "out"),
        Edge("4", "3", "entity", "out"),
        Edge("5", "4", "related", "in"),
    ]
    assert store.edges(["1"], namespace=NAMESPACE, kinds=[LONG]) == [Edge("1", "2", LONG, "in")]
    assert store.unlink("2", Link(LONG, f"{LONG}/a"), namespace=NAMESPACE)
    assert store.page(9, namespace=NAMESPACE, filters=Filters(session=LONG)).notes == [
        note for note in store.notes() if note.id in "12"
    ]


def test_documents_may_have_long_names(store: Store) -> None:
    long = LONG[:5_000]
    documents = [Document(long, f"{long}{end}", long, [draft_of({"path": end, "content": "x"})]) for end in "ab"]
    store.write_documents(documents, namespace=NAMESPACE)
    assert store.documents(long, namespace=NAMESPACE) == {f"{long}a": long, f"{long}b": long}
    assert store.remove_documents(long, [f"{long}a"], namespace=NAMESPACE) == 1
    assert [note.path for note in store.notes()] == ["b"]


@pytest.mark.parametrize(
    "text", ["\0", "a\0b\x1a", "\x1aN\x1aS\x1a", "' \\ \" % %s $1 {} {{", "\ufffe\uffff🍵\U0010ffff"]
)
def test_any_text_round_trips(store: Store, text: str) -> None:
    fields = {"content": text, "title": f"{text} tea", "summary": text, "metadata": {text: [text, {text: text}]}}
    ((note,), _) = store.write([draft_of({**fields, "id": "1"})])
    assert (note.content, note.title, note.summary, note.metadata) == tuple(fields.values())
    assert list(store.notes()) == [note]
    (candidate,) = store.search_text(
        parse("tea"), 1, namespace=NAMESPACE, filters=Filters.of({"metadata": {text: [text, {text: text}]}})
    )
    assert (candidate.content, candidate.title, candidate.summary) == (text, f"{text} tea", text)
    assert store.write([draft_of({**fields, "id": "1"})]).notes == [note]
    assert not any(finding.problem for finding in store.check())
