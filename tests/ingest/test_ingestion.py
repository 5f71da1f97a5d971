from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.errors import ArgumentError, IngestError, StoreFullError
from recollect.ingest import DocumentStore, IngestReport, Problem, ingest
from recollect.ingest import ingestion as ingestion_module
from recollect.model import Document, Draft, NoteName, WriteCounts
from tests.ingest.permissions import without_read_permission


class FakeStore:
    """A store in memory that records its batches and rejects documents with the word poison."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[tuple[str, str], dict[str, Draft]]] = {}
        self.fingerprints: dict[str, dict[tuple[str, str], str]] = {}
        self.batches: list[list[str]] = []
        self.error: type[Exception] = IngestError

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        stored = self.fingerprints.get(namespace, {})
        return {name: fingerprint for (folder, name), fingerprint in stored.items() if folder == root}

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        self.batches.append([document.name for document in documents])
        for document in documents:
            if any("poison" in draft["content"] for draft in document.drafts):
                raise self.error("poison is not stored")
        notes = self.notes.setdefault(namespace, {})
        added = updated = unchanged = removed = 0
        for document in documents:
            key = (document.root, document.name)
            before = notes.get(key, {})
            after: dict[str, Draft] = {}
            for draft in document.drafts:
                name = draft.get("path") or draft["id"]
                old = before.get(name)
                after[name] = {**(old or {}), **draft}
                if old is None:
                    added += 1
                elif old == after[name]:
                    unchanged += 1
                else:
                    updated += 1
            removed += len(before.keys() - after.keys())
            notes[key] = after
            self.fingerprints.setdefault(namespace, {})[key] = document.fingerprint
        return WriteCounts(added, updated, unchanged, removed)

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        for name in names:
            del self.fingerprints[namespace][root, name]
        return sum(len(self.notes[namespace].pop((root, name))) for name in names)

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        return iter(NoteName("", path, "") for path in self.paths(namespace))

    def supersession_cycles(
        self,
        paths: Sequence[str],  # noqa: ARG002
        namespace: str,  # noqa: ARG002
    ) -> list[tuple[Sequence[str], str]]:
        return []

    def paths(self, namespace: str = "default") -> list[str]:
        return sorted(path for notes in self.notes.get(namespace, {}).values() for path in notes)

    def note(self, path: str) -> Draft:
        return next(notes[path] for notes in self.notes["default"].values() if path in notes)


STORE: type[DocumentStore] = FakeStore


def write(root: Path, name: str, text: str, modified: int = 1_700_000_000) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (modified, modified))
    return path


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def test_ingest_folder(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "tea.md", "# Tea\nGood.")
    write(tmp_path, "people/ines.txt", "Ines.")
    write(tmp_path, "chat.jsonl", '{"speaker": "Ines", "text": "Tea?"}\n{"speaker": "Olaf", "text": "No."}')
    report = ingest(tmp_path, store, prefix="home/")
    assert report == IngestReport(files_read=3, notes_added=4)
    assert store.paths() == ["home/chat.jsonl#0", "home/chat.jsonl#1", "home/people/ines.txt", "home/tea.md"]
    assert store.note("home/tea.md")["created_at"].isoformat() == "2023-11-14T22:13:20+00:00"
    assert "namespace" not in store.note("home/tea.md")
    assert store.batches == [["chat.jsonl", "people/ines.txt", "tea.md"]]
    assert list(store.documents(str(tmp_path.resolve()), "default")) == ["chat.jsonl", "people/ines.txt", "tea.md"]


def test_ingest_reads_only_changed_files(tmp_path: Path, store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b.md", "B.")
    ingest(tmp_path, store)
    write(tmp_path, "b.md", "C.", modified=1_700_000_001)
    opened: list[str] = []
    read_bytes = Path.read_bytes

    def record_and_read(path: Path) -> bytes:
        opened.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", record_and_read)
    assert ingest(tmp_path, store) == IngestReport(files_read=1, files_unchanged=1, notes_updated=1)
    assert opened == ["b.md"]
    assert ingest(tmp_path, store) == IngestReport(files_unchanged=2)


def test_ingest_touched_file_keeps_notes(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "---\nimportance: high\n---\nA.")
    assert len(ingest(tmp_path, store).problems) == 1
    before = dict(store.note("a.md"))
    write(tmp_path, "a.md", "---\nimportance: high\n---\nA.", modified=1_800_000_000)
    assert ingest(tmp_path, store) == IngestReport(files_read=1, notes_unchanged=1)
    assert store.note("a.md") == before
    assert ingest(tmp_path, store) == IngestReport(files_unchanged=1)


def test_ingest_keeps_created_at_of_changed_file(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, store)
    write(tmp_path, "a.md", "A!", modified=1_800_000_000)
    assert ingest(tmp_path, store).notes_updated == 1
    assert store.note("a.md")["content"] == "A!"
    assert store.note("a.md")["created_at"].year == 2023


def test_ingest_removes_notes_of_deleted_files(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b/c.md", "C.")
    ingest(tmp_path, store)
    (tmp_path / "b/c.md").unlink()
    assert ingest(tmp_path, store) == IngestReport(files_unchanged=1, files_removed=1, notes_removed=1)
    assert store.paths() == ["a.md"]
    (tmp_path / ".gitignore").write_text("a.md")
    assert ingest(tmp_path, store).files_removed == 1
    assert store.paths() == []


def test_ingest_removes_deleted_records(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{"text": "B."}')
    ingest(tmp_path, store)
    write(tmp_path, "a.jsonl", '{"text": "A."}')
    assert ingest(tmp_path, store) == IngestReport(files_read=1, notes_unchanged=1, notes_removed=1)
    write(tmp_path, "a.jsonl", "")
    empty = Problem("a.jsonl", None, "skipped: it is empty", skipped=True)
    assert ingest(tmp_path, store) == IngestReport(files_read=1, notes_removed=1, problems=(empty,))


def test_ingest_single_file_removes_no_others(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b.md", "B.")
    ingest(tmp_path, store)
    (tmp_path / "b.md").unlink()
    write(tmp_path, "a.md", "A!", modified=1)
    assert ingest(tmp_path / "a.md", store) == IngestReport(files_read=1, notes_updated=1)
    assert store.paths() == ["a.md", "b.md"]


def test_ingest_missing_folder_raises_and_removes_nothing(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "x/a.md", "A.")
    ingest(tmp_path / "x", store)
    (tmp_path / "x").rename(tmp_path / "y")
    with pytest.raises(IngestError, match="x cannot be read: No such file or directory"):
        ingest(tmp_path / "x", store)
    assert store.paths() == ["a.md"]


def test_ingest_unreadable_folder_keeps_notes(shared_path: Path, store: FakeStore) -> None:
    write(shared_path, "x/a.md", "A.")
    write(shared_path, "b.md", "B.")
    write(shared_path, "c.md", "C.")
    ingest(shared_path, store)
    (shared_path / "c.md").unlink()
    with without_read_permission(shared_path / "x"):
        report = ingest(shared_path, store)
    problem = Problem("x", None, "cannot be read: Permission denied", skipped=True)
    assert report == IngestReport(
        files_unchanged=1, files_removed=1, files_failed=1, notes_removed=1, problems=(problem,)
    )
    assert store.paths() == ["b.md", "x/a.md"]


def test_ingest_unreadable_files_keep_notes(shared_path: Path, store: FakeStore) -> None:
    for name in ("front.md", "binary.md", "large.md", "locked.md", "fine.md"):
        write(shared_path, name, "Tea.")
    ingest(shared_path, store)
    write(shared_path, "front.md", "---\na: b: c\n---\n")
    (shared_path / "binary.md").write_bytes(b"a\0b")
    write(shared_path, "large.md", "a" * 10_000_001)
    write(shared_path, "locked.md", "Secret.", modified=1)
    write(shared_path, "fine.md", "Milk.", modified=1)
    with without_read_permission(shared_path / "locked.md"):
        report = ingest(shared_path, store)
    assert [str(problem) for problem in report.problems] == [
        "binary.md: contains NUL characters: it is not a text file; the earlier version stays",
        "front.md, line 2: the front matter is not YAML: mapping values are not allowed here; "
        "the earlier version stays",
        "large.md: has 10,000,001 bytes, more than 10,000,000; split it; the earlier version stays",
        "locked.md: cannot be read: Permission denied; the earlier version stays",
    ]
    assert all(problem.skipped for problem in report.problems)
    assert (report.files_read, report.notes_updated, report.files_removed, report.files_failed) == (1, 1, 0, 4)
    assert store.note("binary.md")["content"] == "Tea."
    assert len(ingest(shared_path, store).problems) == 3


def test_ingest_reports_guessed_encoding(tmp_path: Path, store: FakeStore) -> None:
    (tmp_path / "a.txt").write_bytes("für".encode("cp1252"))
    report = ingest(tmp_path, store)
    assert report.problems == (Problem("a.txt", None, "not UTF-8; read as Windows-1252", skipped=False),)
    assert store.note("a.txt")["content"] == "für"


def test_ingest_reports_bad_lines(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{')
    [problem] = ingest(tmp_path, store).problems
    assert (problem.name, problem.line, problem.skipped) == ("a.jsonl", 2, True)
    assert store.paths() == ["a.jsonl#line-1"]


@pytest.mark.parametrize("error", [IngestError, lambda text: ArgumentError("content", text)])
def test_ingest_writes_others_if_one_document_fails(tmp_path: Path, store: FakeStore, error: Any) -> None:
    for name, text in (("a", "A."), ("b", "poison"), ("c", "C.")):
        write(tmp_path, f"{name}.md", text)
    store.error = error
    report = ingest(tmp_path, store)
    assert (report.files_read, report.files_failed, report.notes_added) == (2, 1, 2)
    [problem] = report.problems
    assert (problem.name, problem.skipped) == ("b.md", True)
    assert problem.message.endswith("poison is not stored")
    assert store.batches == [["a.md", "b.md", "c.md"], ["a.md"], ["b.md"], ["c.md"]]


def test_ingest_stops_if_the_store_fails(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "poison")
    store.error = StoreFullError
    with pytest.raises(StoreFullError):
        ingest(tmp_path, store)


def test_ingest_reports_invalid_values(tmp_path: Path, store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: Any, **__: Any) -> None:
        raise ArgumentError("position", "must be at most 7, got 8")

    write(tmp_path, "a.md", "A.")
    monkeypatch.setattr(ingestion_module, "read_file", reject)
    assert ingest(tmp_path, store).problems == (
        Problem("a.md", None, "position: must be at most 7, got 8", skipped=True),
    )


def test_ingest_writes_batches(tmp_path: Path, store: FakeStore) -> None:
    for number in range(70):
        write(tmp_path, f"{number:03d}.md", "Tea.")
    write(tmp_path, "x.jsonl", "\n".join(['{"text": "A."}'] * 64))
    write(tmp_path, "y.txt", "word " * 60_000)
    write(tmp_path, "z.jsonl", '{"text": "' + "a" * 300_000 + '"}')
    write(tmp_path, "zz.md", "Last.")
    ingest(tmp_path, store)
    assert [len(batch) for batch in store.batches] == [64, 7, 1, 1, 1]


def test_ingest_batches_empty_files(tmp_path: Path, store: FakeStore) -> None:
    for number in range(65):
        write(tmp_path, f"{number:03d}.md", "")
    report = ingest(tmp_path, store)
    assert (report.files_read, report.notes_added, len(report.problems)) == (65, 0, 65)
    assert [len(batch) for batch in store.batches] == [64, 1]
    assert ingest(tmp_path, store) == IngestReport(files_unchanged=65)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.txt", " \n", "it is empty"),
        ("a.md", "", "it is empty"),
        ("a.md", "---\ntitle: Tea\n---\n\n", "it has front matter and no text; write something below the front matter"),
        ("a.json", "[]", "it contains no notes"),
    ],
)
def test_ingest_skips_files_without_text(tmp_path: Path, store: FakeStore, name: str, text: str, reason: str) -> None:
    write(tmp_path, name, text)
    report = ingest(tmp_path, store)
    assert report.notes_added == 0
    assert report.problems == (Problem(name, None, f"skipped: {reason}", skipped=True),)


def test_ingest_reports_records_without_text(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{"text": " ", "tags": ["x"]}\n{"content": "", "title": "B"}')
    report = ingest(tmp_path, store)
    assert report.notes_added == 2
    assert [str(problem) for problem in report.problems] == [
        "a.jsonl, line 2: record: has no text: content, title and summary are blank or only punctuation"
    ]


def test_ingest_counts_unsupported_files(tmp_path: Path, store: FakeStore) -> None:
    for name in ("a.md", "b.pdf", "c.csv", "d.csv"):
        write(tmp_path, name, "Tea.")
    assert ingest(tmp_path, store) == IngestReport(files_read=1, notes_added=1, skipped={".csv": 2, ".pdf": 1})
    assert list(ingest(tmp_path, store).skipped) == [".csv", ".pdf"]


def test_ingest_continues_after_interruption(tmp_path: Path, store: FakeStore) -> None:
    for number in range(70):
        write(tmp_path, f"{number:03d}.md", "Tea.")

    def interrupt(done: int, _total: int, _name: str) -> None:
        if done == 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path, store, progress=interrupt)
    assert len(store.paths()) == 64
    assert ingest(tmp_path, store) == IngestReport(files_read=6, files_unchanged=64, notes_added=6)


def test_ingest_progress_counts_each_file_once(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, store)
    write(tmp_path, "b.md", "poison")
    write(tmp_path, "c.md", "C.")
    write(tmp_path, "d.md", "---\na: b: c\n---\n")
    seen: list[tuple[int, int, str]] = []
    ingest(tmp_path, store, progress=lambda *state: seen.append(state))
    assert seen == [(1, 4, "a.md"), (2, 4, "d.md"), (3, 4, "b.md"), (4, 4, "c.md")]


def test_ingest_with_another_prefix_moves_notes(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A. [b](b.md)")
    ingest(tmp_path, store)
    report = ingest(tmp_path, store, prefix="home/")
    assert report == IngestReport(files_read=1, notes_added=1, notes_removed=1)
    assert store.note("home/a.md")["links"] == (("link", "home/b.md"),)
    assert store.note("home/a.md")["created_at"].year == 2023


def test_ingest_after_reader_change_reads_all_files(
    tmp_path: Path, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, store)
    write(tmp_path, "a.md", "A.", modified=1_800_000_000)
    monkeypatch.setattr(ingestion_module, "READERS_VERSION", "another")
    assert ingest(tmp_path, store) == IngestReport(files_read=1, notes_unchanged=1)
    assert store.note("a.md")["created_at"].year == 2023


def test_ingest_separates_namespaces(tmp_path: Path, store: FakeStore) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, store, namespace="work")
    assert ingest(tmp_path, store).notes_added == 1
    assert store.paths("work") == store.paths() == ["a.md"]


def test_ingest_empty_folder(tmp_path: Path, store: FakeStore) -> None:
    assert ingest(tmp_path, store) == IngestReport()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 7}, "source: must be the path of a file or a folder, got int"),
        ({"prefix": "a\nb"}, "prefix: must be one line"),
        ({"namespace": ""}, "namespace: must not be empty"),
    ],
)
def test_ingest_checks_arguments(tmp_path: Path, store: FakeStore, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        ingest(**{"source": tmp_path, "store": store, **options})


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return recollect.open(tmp_path / "memory.db", embedder=None)


def test_ingest_texts_equals_ingest_of_files(memory: Memory, tmp_path: Path) -> None:
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
    with recollect.open(tmp_path / "other.db", embedder=None) as second_memory:
        second_memory.ingest(vault, prefix="v/")
        fields = ("path", "title", "content", "tags")
        from_texts, from_files = (
            {tuple(getattr(note, name) for name in fields) for note in source.notes()}
            for source in (memory, second_memory)
        )
    assert from_texts == from_files


def test_ingest_texts_replaces_notes(memory: Memory) -> None:
    memory.ingest_texts({"a.md": "Tea.", "b.md": "Milk."})
    again = memory.ingest_texts({"a.md": "Coffee.", "b.md": "Milk."})
    assert (again.files_read, again.files_unchanged, again.notes_updated) == (1, 1, 1)
    assert {note.content for note in memory.notes()} == {"Coffee.", "Milk."}
    gone = memory.ingest_texts({"a.md": ""})
    assert (gone.notes_removed, memory.count()) == (1, 1)
    moved = memory.ingest_texts({"b.md": "Milk."}, prefix="new/")
    assert (moved.files_read, [note.path for note in memory.notes()]) == (1, ["new/b.md"])


def test_ingest_texts_reports_unreadable_texts(memory: Memory) -> None:
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
    assert [(problem.name, problem.skipped) for problem in report.problems if problem.skipped] == [
        ("a.png", True),
        ("n.md", True),
        ("p.md", True),
        ("mine.md", True),
    ]
    assert memory.get("mine.md").content == "Mine."  # type: ignore[union-attr]
    assert memory.get("good.md") is not None
    assert memory.ingest_texts({"mine.md": "Theirs."}, adopt=True).notes_updated == 1


def test_ingest_texts_reports_bad_records(memory: Memory) -> None:
    report = memory.ingest_texts({"a.jsonl": '{"content": "Tea."}\n{"content": 3}\n'})
    assert report.notes_added == 1
    assert [problem.line for problem in report.problems] == [2]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a.md"], "texts: must map names"),
        ({"a\n.md": ""}, "texts: must be one line"),
        ({"a.md": 3}, "texts\\['a.md'\\]"),
    ],
)
def test_ingest_texts_checks_arguments(memory: Memory, texts: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        memory.ingest_texts(texts)


def test_ingest_texts_separates_namespaces(memory: Memory) -> None:
    memory.ingest_texts({"a.md": "Tea."}, namespace="work")
    assert (memory.count(), memory.count(namespace="work")) == (0, 1)
    assert memory.ingest_texts({"a.md": "Tea."}).files_read == 1


def test_ingest_texts_writes_batches(memory: Memory) -> None:
    report = memory.ingest_texts({f"{number}.txt": f"Tea {number}." for number in range(150)})
    assert (report.files_read, memory.count()) == (150, 150)
