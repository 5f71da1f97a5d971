from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import ArgumentError, Memory
from recollect.ingest import texts as texts_module


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return recollect.open(tmp_path / "memory.db", embedder=None)


def test_texts_are_read_as_files_of_their_names_would_be(memory: Memory, tmp_path: Path) -> None:
    texts = {
        "people/ines.md": "---\ntags: [tea]\n---\n# Ines\n\nLikes sencha.",
        "log.jsonl": '{"content": "One."}\n{"content": "Two."}\n',
        "plain.txt": "A kettle.",
    }
    report = memory.ingest_texts(texts, prefix="v/")
    assert (report.files_read, report.notes_added, report.problems) == (3, 4, ())
    vault = tmp_path / "vault"
    for name, text in texts.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    with recollect.open(tmp_path / "other.db", embedder=None) as other:
        other.ingest(vault, prefix="v/")
        same = ("path", "title", "content", "tags")
        ours, theirs = (
            {tuple(getattr(note, name) for name in same) for note in each.notes()} for each in (memory, other)
        )
    assert ours == theirs


def test_a_text_replaces_the_one_before_it(memory: Memory) -> None:
    memory.ingest_texts({"a.md": "Tea.", "b.md": "Milk."})
    again = memory.ingest_texts({"a.md": "Coffee.", "b.md": "Milk."})
    assert (again.files_read, again.files_unchanged, again.notes_updated) == (1, 1, 1)
    assert {note.content for note in memory.notes()} == {"Coffee.", "Milk."}
    gone = memory.ingest_texts({"a.md": ""})
    assert (gone.notes_removed, memory.count()) == (1, 1)
    moved = memory.ingest_texts({"b.md": "Milk."}, prefix="new/")
    assert (moved.files_read, [note.path for note in memory.notes()]) == (1, ["new/b.md"])


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(memory: Memory) -> None:
    memory.add("Mine.", path="mine.md")
    report = memory.ingest_texts(
        {
            "a.png": "?",
            "n.md": "a\0b",
            "x\u2028.md": "Tea.",
            "p.md": "---\n: [\n---\nTea.",
            "mine.md": "Theirs.",
            "good.md": "Good.",
        }
    )
    assert [(each.name, each.skipped) for each in report.problems if each.skipped] == [
        ("a.png", True),
        ("n.md", True),
        ("p.md", True),
        ("mine.md", True),
    ]
    assert memory.get("mine.md").content == "Mine."  # type: ignore[union-attr]
    assert memory.get("good.md") is not None
    assert memory.ingest_texts({"mine.md": "Theirs."}, adopt=True).notes_updated == 1


def test_a_record_that_is_none_is_told(memory: Memory) -> None:
    report = memory.ingest_texts({"a.jsonl": '{"content": "Tea."}\n{"content": 3}\n'})
    assert report.notes_added == 1
    assert [problem.line for problem in report.problems] == [2]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["a.md"], "texts: must map names"),
        ({"a\n.md": ""}, "texts: must be one line"),
        ({"a.md": 3}, "texts\\['a.md'\\]"),
    ],
)
def test_what_is_no_text(memory: Memory, texts: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        memory.ingest_texts(texts)


def test_namespaces_are_apart(memory: Memory) -> None:
    memory.ingest_texts({"a.md": "Tea."}, namespace="work")
    assert (memory.count(), memory.count(namespace="work")) == (0, 1)
    assert memory.ingest_texts({"a.md": "Tea."}).files_read == 1


def test_many_texts_go_in_batches(memory: Memory) -> None:
    report = memory.ingest_texts({f"{number}.txt": f"Tea {number}." for number in range(150)})
    assert (report.files_read, memory.count()) == (150, 150)


def test_a_reader_that_refuses_a_value(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ArgumentError("position", "must be at most 7, got 8")

    monkeypatch.setattr(texts_module, "read_file_text", refuse)
    (problem,) = memory.ingest_texts({"a.md": "Tea."}).problems
    assert (problem.message, problem.skipped) == ("position: must be at most 7, got 8", True)
