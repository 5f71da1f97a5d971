"""Expired notes are never returned, and the next read or write deletes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import ArgumentError, Memory, Note, NoteNotFoundError, RecollectWarning, presets
from recollect.memory import MAX_EXPIRED_PER_READ
from recollect.retrieval.options import Mode
from tests.frozen_clock import HOUR, NOON, FrozenClock


def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0, text.count("e") / 10, text.count("a") / 10] for text in texts]


def open_memory(folder: Path, **options: Any) -> Memory:
    return recollect.open(folder / "memory.db", **{"embedder": embed, **options})


def fill(memory: Memory) -> None:
    memory.add_many(
        [
            {"id": "a", "path": "a.md", "title": "Green tea", "content": "Tea.", "session": "s", "position": 0},
            {
                "id": "b",
                "path": "b.md",
                "title": "Tea fair",
                "content": "Green tea on Friday, with Ines.",
                "session": "s",
                "position": 1,
                "expires_at": NOON + HOUR,
            },
            {"id": "c", "path": "c.md", "content": "Tea fair? Green!", "links": ["b"], "session": "s", "position": 2},
        ]
    )


def count_rows(folder: Path) -> int:
    connection = apsw.Connection(str(folder / "memory.db"))
    count: int = connection.execute("SELECT count(*) FROM notes").get
    connection.close()
    return count


OPERATIONS: dict[str, Any] = {
    "get": lambda memory: memory.get("a"),
    "notes": lambda memory: list(memory.notes()),
    "search": lambda memory: memory.search("fig"),
    "compare": lambda memory: memory.compare("fig", ["default"]),
    "neighbours": lambda memory: memory.neighbours("a"),
    "export": lambda memory: list(memory.export()),
    "stats": lambda memory: memory.stats(),
    "backup": lambda memory: memory.backup(Path(memory.stats().store.location).with_name("copy.db")),
    "add": lambda memory: memory.add("Mug."),
    "update": lambda memory: memory.update("a", title="x"),
    "delete": lambda memory: memory.delete("nobody"),
    "link": lambda memory: memory.link("a", "c"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_next_operation_deletes_expired_note(tmp_path: Path, frozen_clock: FrozenClock, name: str) -> None:
    with open_memory(tmp_path) as memory:
        fill(memory)
        assert count_rows(tmp_path) == 3
        frozen_clock.time += HOUR
        OPERATIONS[name](memory)
        assert count_rows(tmp_path) == 2 + (name == "add")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("mode", ["auto", "bm25", "semantic"])
def test_search_hides_expired_note(tmp_path: Path, frozen_clock: FrozenClock, mode: Mode, read_only: bool) -> None:
    with open_memory(tmp_path) as memory:
        fill(memory)
    with open_memory(tmp_path, read_only=read_only) as memory:
        assert "b" in {hit.id for hit in memory.search("green tea on Friday", mode=mode)}
        frozen_clock.time += HOUR
        for preset in presets():
            for query in ("green tea on Friday", "fair", "frdiay", "tea NOT mug", '"green tea"', "b.md", "Ines"):
                results = memory.search(query, mode=mode, preset=preset, question_date="2026-04-18", now=NOON)
                data = json.dumps(results.to_dict())
                assert "b" not in {hit.id for hit in results}
                assert "with Ines" not in data
        assert count_rows(tmp_path) == (3 if read_only else 2)


def test_expired_note_is_hidden_from_readers(tmp_path: Path, frozen_clock: FrozenClock) -> None:
    with open_memory(tmp_path) as memory:
        fill(memory)
    frozen_clock.time += HOUR
    with open_memory(tmp_path, read_only=True) as memory:
        assert memory.get("b") is None
        assert [note.id for note in memory.notes()] == ["a", "c"]
        assert [item.note.id for item in memory.neighbours("c")] == ["a"]
        with pytest.raises(NoteNotFoundError):
            memory.neighbours("b.md")
        assert [json.loads(line)["id"] for line in memory.export()] == ["a", "c"]
        stats = memory.stats()
        assert (stats.store.notes, stats.store.expiring, stats.unembedded) == ({"default": 2}, 0, 0)
        assert not any(finding.problem for finding in memory.doctor())


def test_expiry_ignores_question_date(tmp_path: Path, frozen_clock: FrozenClock) -> None:
    assert frozen_clock.time == NOON
    with open_memory(tmp_path) as memory:
        fill(memory)
        assert "b" in {hit.id for hit in memory.search("fair", now="2030-01-01", question_date="2030-01-01")}


def test_search_does_not_wait_for_busy_store(tmp_path: Path, frozen_clock: FrozenClock) -> None:
    with open_memory(tmp_path) as memory:
        fill(memory)
        frozen_clock.time += HOUR
        locker = apsw.Connection(str(tmp_path / "memory.db"))
        locker.execute("BEGIN IMMEDIATE")
        assert "b" not in {hit.id for hit in memory.search("green tea")}
        assert memory.get("b") is None
        locker.execute("ROLLBACK")
        locker.close()
        assert count_rows(tmp_path) == 3
        memory.search("green tea")
        assert count_rows(tmp_path) == 2


def test_one_read_deletes_limited_number(tmp_path: Path, frozen_clock: FrozenClock) -> None:
    with open_memory(tmp_path, embedder=None) as memory:
        memory.add_many({"content": "Tea.", "expires_at": NOON + HOUR} for _ in range(MAX_EXPIRED_PER_READ + 5))
        frozen_clock.time += HOUR
        assert list(memory.search("tea")) == []
        assert count_rows(tmp_path) == 5
        memory.add("Mug.")
        assert count_rows(tmp_path) == 1


class TestWriting:
    def test_past_expiry_is_refused(self, tmp_path: Path, frozen_clock: FrozenClock) -> None:
        problem = (
            r"^expires_at: must lie in the future, got 2026-04-18T12:00:00\+00:00; leave it out, or delete the note$"
        )
        with open_memory(tmp_path, embedder=None) as memory:
            with pytest.raises(ArgumentError, match=problem):
                memory.add("Tea.", expires_at=frozen_clock.time)
            with pytest.raises(ArgumentError, match=problem):
                memory.add_many(["Mug.", Note(content="Tea.", expires_at=frozen_clock.time)])
            note = memory.add("Tea.", expires_at="2026-04-18T12:00:00.000001Z")
            with pytest.raises(ArgumentError, match=problem):
                memory.update(note, expires_at=frozen_clock.time)
            assert list(memory.notes()) == [note]

    def test_expiry_can_be_changed_and_removed(self, tmp_path: Path, frozen_clock: FrozenClock) -> None:
        with open_memory(tmp_path, embedder=None) as memory:
            note = memory.add("Tea.", expires_at=NOON + HOUR)
            assert memory.update(note, expires_at=NOON + 2 * HOUR).expires_at == NOON + 2 * HOUR
            frozen_clock.time += HOUR
            assert memory.update(note, title="Tea", expires_at=None).expires_at == NOON + 2 * HOUR
            assert memory.update(note, expires_at="never").expires_at is None
            frozen_clock.time += 5 * HOUR
            assert memory.get(note) is not None

    def test_expired_note_frees_its_path(self, tmp_path: Path, frozen_clock: FrozenClock) -> None:
        with open_memory(tmp_path) as memory:
            fill(memory)
            frozen_clock.time += HOUR
            with pytest.raises(NoteNotFoundError):
                memory.update("b", expires_at="never")
            assert memory.add("Anew.", path="b.md").title == ""


class TestExportAndLoad:
    def test_export_keeps_expiry(self, tmp_path: Path, frozen_clock: FrozenClock) -> None:
        assert frozen_clock.time == NOON
        with open_memory(tmp_path) as memory, recollect.open(tmp_path / "copy.db", embedder=embed) as copy:
            fill(memory)
            lines = list(memory.export())
            assert copy.load(lines) == 3
            assert list(copy.export()) == lines
            copied = copy.get("b")
            assert copied is not None
            assert copied.expires_at == NOON + HOUR

    @pytest.mark.parametrize(("count", "subject"), [(1, "one note was"), (3, "3 notes were")])
    def test_load_skips_expired_notes(
        self, tmp_path: Path, frozen_clock: FrozenClock, count: int, subject: str
    ) -> None:
        steps: list[tuple[int, int, str]] = []
        with open_memory(tmp_path) as memory, recollect.open(tmp_path / "copy.db", embedder=embed) as copy:
            memory.add("Tea.", id="a")
            memory.add_many({"content": "Fair.", "expires_at": NOON + HOUR} for _ in range(count))
            lines = list(memory.export())
            frozen_clock.time += HOUR
            with pytest.warns(RecollectWarning, match=f"^{subject} skipped as expired$"):
                assert copy.load(lines, progress=lambda *step: steps.append(step)) == 1
            assert [note.id for note in copy.notes()] == ["a"]
            assert steps == [(count + 1, count + 1, "")]


class TestIngest:
    def test_front_matter_sets_expiry(self, tmp_path: Path, frozen_clock: FrozenClock) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "fair.md").write_text("---\nexpires: 2026-04-18 13:00\n---\nThe fair is on.")
        (vault / "kept.md").write_text("---\nexpires_at: never\n---\nTea.")
        (vault / "over.md").write_text(f"---\nexpires: 2026-04-17\n---\n{'The other fair. ' * 300}")
        (vault / "odd.md").write_text("---\nexpires: soon\n---\nA riddle.")
        lines = [
            {"content": "x", "expires": "2026-04-19"},
            {"content": "y", "expires": "2026-04-17", "expires_at": 1_776_600_000},
            {"speaker": "Ines", "text": "Tea?", "expires_at": "2026-04-17"},
            {"content": "z", "expires_at": "never"},
        ]
        (vault / "list.jsonl").write_text("\n".join(map(json.dumps, lines)))
        with open_memory(tmp_path, embedder=None) as memory:
            report = memory.ingest(vault)
            assert [str(problem) for problem in report.problems] == [
                "list.jsonl: 1 of its notes expired and was left out",
                "odd.md, line 2: expires: must be an ISO-8601 date or time, got 'soon' (str); it is kept as metadata",
                "over.md: 5 of its notes expired and were left out",
            ]
            assert report.notes_added == 6
            expiry_by_path = {note.path: note.expires_at for note in memory.notes()}
            assert expiry_by_path == {
                "fair.md": NOON + HOUR,
                "kept.md": None,
                "odd.md": None,
                "list.jsonl#line-1": datetime(2026, 4, 19, tzinfo=UTC),
                "list.jsonl#line-2": datetime(2026, 4, 19, 12, tzinfo=UTC),
                "list.jsonl#line-4": None,
            }
            frozen_clock.time += HOUR
            report = memory.ingest(vault)
            assert (report.files_unchanged, report.notes_added, report.problems) == (5, 0, ())
            assert memory.get("fair.md") is None
            (vault / "fair.md").write_text("---\nexpires: 2026-05-18\n---\nThe fair is on.")
            assert memory.ingest(vault).notes_added == 1
