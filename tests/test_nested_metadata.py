"""Too deeply nested data is refused; notes stored before the limit can still be read and changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import recollect
from recollect import ArgumentError, Memory
from recollect.arguments import MAX_DEPTH, exceeds_max_depth, with_deep_stack
from recollect.stores import open_store
from tests.strategies import nested

T = TypeVar("T")
STORED_DEPTH = 900
"""The depth of a note that was stored before the limit existed."""


def with_small_stack(function: Callable[[], T], free_frames: int = 300) -> T:
    """Call a function when only ``free_frames`` more calls can be nested before the recursion limit."""
    depth, frame = 0, sys._getframe()
    while frame.f_back:
        depth, frame = depth + 1, frame.f_back

    def call(recursions: int) -> T:
        return call(recursions - 1) if recursions else function()

    return call(max(0, sys.getrecursionlimit() - depth - free_frames))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Open a memory with a note that is nested deeper than the limit."""
    store = open_store(tmp_path / "memory.db")
    store.write([{"id": "old", "content": "Tea.", "metadata": {"a": nested(STORED_DEPTH), "entities": ["Ines"]}}])
    store.close()
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        yield memory


@pytest.mark.parametrize("value", [1, "[[[", {}, nested(MAX_DEPTH), {"a": nested(MAX_DEPTH - 1)}, [nested(9)] * 9])
def test_flat_data_does_not_exceed_max_depth(value: Any) -> None:
    assert not exceeds_max_depth(value)


def test_exceeds_max_depth() -> None:
    itself: dict[str, Any] = {}
    itself["a"] = (itself,)
    for value in (
        nested(MAX_DEPTH + 1),
        {"a": nested(MAX_DEPTH)},
        [1, (nested(MAX_DEPTH - 1),)],
        nested(100_000),
        itself,
    ):
        assert exceeds_max_depth(value)


def test_shared_values_are_visited_once() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH - 1):
        value = [value, value]
    assert not exceeds_max_depth(value)
    assert exceeds_max_depth([value])


def test_with_deep_stack_runs_in_new_thread() -> None:
    text = "[" * 500 + "]" * 500
    with pytest.raises(RecursionError):
        with_small_stack(lambda: json.loads(text))
    assert with_small_stack(lambda: with_deep_stack(lambda: len(json.loads(text)))) == 1


def test_with_deep_stack_propagates_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 / 0)


@pytest.mark.parametrize("mode", [None, "refuse", "redact"])
@pytest.mark.parametrize("depth", [64, 490, 990, 5_000])
def test_deep_metadata_is_refused(tmp_path: Path, mode: Any, depth: int) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None, secrets=mode) as memory:
        with pytest.raises(
            ArgumentError, match="^metadata: must not be nested deeper than 64 levels; make it flatter$"
        ):
            memory.add("Tea.", metadata={"a": nested(depth)})
        assert memory.add("Tea.", metadata={"a": nested(MAX_DEPTH - 1)}).metadata == {"a": nested(MAX_DEPTH - 1)}


@pytest.mark.parametrize("mode", [None, "refuse", "redact"])
def test_ingest_reports_deeply_nested_files(tmp_path: Path, mode: Any) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    deep = "[" * 100 + "]" * 100
    (vault / "a.md").write_text(f"---\nx: {deep}\n---\nTea.")
    (vault / "b.jsonl").write_text(f'{{"text": "Milk."}}\n{{"text": "x", "metadata": {{"a": {deep}}}}}')
    (vault / "c.md").write_text("Sugar.")
    with recollect.open(tmp_path / "memory.db", embedder=None, secrets=mode) as memory:
        report = memory.ingest(vault)
        assert [note.content for note in memory.notes()] == ["Milk.", "Sugar."]
    problem = "metadata: must not be nested deeper than 64 levels; make it flatter"
    assert [(item.name, item.line, item.message) for item in report.problems] == [
        ("a.md", None, problem),
        ("b.jsonl", 2, problem),
    ]


def test_deep_stored_note_can_be_read_and_changed(memory: Memory) -> None:
    def use() -> list[Any]:
        note = memory.update("old", title="Old", content="Green tea.")
        (hit,) = memory.search("green")
        (line,) = memory.export()
        filtered = memory.search("green", filters={"metadata": {"a": [1]}})
        return [note.title, note.metadata.keys(), hit.id, line.count("["), len(filtered)]

    assert with_small_stack(use) == ["Old", {"a", "entities"}, "old", STORED_DEPTH + 3, 0]


def test_deep_stored_note_cannot_be_added_again(memory: Memory) -> None:
    note = memory.get("old")
    assert note is not None
    with pytest.raises(ArgumentError, match="^metadata: must not be nested deeper than 64 levels"):
        memory.add_many([note])
    assert memory.update("old", metadata={"a": 1}).metadata == {"a": 1}
