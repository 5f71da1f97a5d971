from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, IngestError, StoreFullError
from recollect.ingest import IngestReport, Library, Problem, WriteCounts, ingest
from recollect.ingest import ingestion as ingestion_module
from recollect.model import Document, Draft
from tests.ingest.permissions import locked


class Shelf:
    """A library in memory that keeps the contract, counts its batches, and refuses what mentions poison."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[tuple[str, str], dict[str, Draft]]] = {}
        self.fingerprints: dict[str, dict[tuple[str, str], str]] = {}
        self.batches: list[list[str]] = []
        self.error: type[Exception] = IngestError

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        known = self.fingerprints.get(namespace, {})
        return {name: fingerprint for (where, name), fingerprint in known.items() if where == root}

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
                was = before.get(name)
                after[name] = {**(was or {}), **draft}
                if was is None:
                    added += 1
                elif was == after[name]:
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

    def paths(self, namespace: str = "default") -> list[str]:
        return sorted(path for notes in self.notes.get(namespace, {}).values() for path in notes)

    def note(self, path: str) -> Draft:
        return next(notes[path] for notes in self.notes["default"].values() if path in notes)


LIBRARY: type[Library] = Shelf


def write(root: Path, name: str, text: str, changed: int = 1_700_000_000) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (changed, changed))
    return path


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_a_folder_becomes_notes(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "tea.md", "# Tea\nGood.")
    write(tmp_path, "people/ines.txt", "Ines.")
    write(tmp_path, "chat.jsonl", '{"speaker": "Ines", "text": "Tea?"}\n{"speaker": "Olaf", "text": "No."}')
    report = ingest(tmp_path, shelf, prefix="home/")
    assert report == IngestReport(files_read=3, notes_added=4)
    assert shelf.paths() == ["home/chat.jsonl#0", "home/chat.jsonl#1", "home/people/ines.txt", "home/tea.md"]
    assert shelf.note("home/tea.md")["created_at"].isoformat() == "2023-11-14T22:13:20+00:00"
    assert "namespace" not in shelf.note("home/tea.md")
    assert shelf.batches == [["chat.jsonl", "people/ines.txt", "tea.md"]]
    assert list(shelf.documents(str(tmp_path.resolve()), "default")) == ["chat.jsonl", "people/ines.txt", "tea.md"]


def test_what_did_not_change_is_not_read(tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b.md", "B.")
    ingest(tmp_path, shelf)
    write(tmp_path, "b.md", "C.", changed=1_700_000_001)
    opened: list[str] = []
    read_bytes = Path.read_bytes

    def noted(path: Path) -> bytes:
        opened.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, files_unchanged=1, notes_updated=1)
    assert opened == ["b.md"]
    assert ingest(tmp_path, shelf) == IngestReport(files_unchanged=2)


def test_a_file_that_was_only_touched_keeps_its_notes(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "---\nimportance: high\n---\nA.")
    assert len(ingest(tmp_path, shelf).problems) == 1
    before = dict(shelf.note("a.md"))
    write(tmp_path, "a.md", "---\nimportance: high\n---\nA.", changed=1_800_000_000)
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, notes_unchanged=1)
    assert shelf.note("a.md") == before
    assert ingest(tmp_path, shelf) == IngestReport(files_unchanged=1)


def test_notes_keep_the_day_they_were_first_seen(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, shelf)
    write(tmp_path, "a.md", "A!", changed=1_800_000_000)
    assert ingest(tmp_path, shelf).notes_updated == 1
    assert shelf.note("a.md")["content"] == "A!"
    assert shelf.note("a.md")["created_at"].year == 2023


def test_files_that_are_gone_are_removed(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b/c.md", "C.")
    ingest(tmp_path, shelf)
    (tmp_path / "b/c.md").unlink()
    assert ingest(tmp_path, shelf) == IngestReport(files_unchanged=1, files_removed=1, notes_removed=1)
    assert shelf.paths() == ["a.md"]
    (tmp_path / ".gitignore").write_text("a.md")
    assert ingest(tmp_path, shelf).files_removed == 1
    assert shelf.paths() == []


def test_notes_that_are_gone_from_a_file_are_removed(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{"text": "B."}')
    ingest(tmp_path, shelf)
    write(tmp_path, "a.jsonl", '{"text": "A."}')
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, notes_unchanged=1, notes_removed=1)
    write(tmp_path, "a.jsonl", "")
    empty = Problem("a.jsonl", None, "is skipped: it is empty", skipped=True)
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, notes_removed=1, problems=(empty,))


def test_one_file_removes_no_others(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A.")
    write(tmp_path, "b.md", "B.")
    ingest(tmp_path, shelf)
    (tmp_path / "b.md").unlink()
    write(tmp_path, "a.md", "A!", changed=1)
    assert ingest(tmp_path / "a.md", shelf) == IngestReport(files_read=1, notes_updated=1)
    assert shelf.paths() == ["a.md", "b.md"]


def test_a_folder_that_is_gone_is_an_error_and_removes_nothing(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "x/a.md", "A.")
    ingest(tmp_path / "x", shelf)
    (tmp_path / "x").rename(tmp_path / "y")
    with pytest.raises(IngestError, match="x cannot be read: No such file or directory"):
        ingest(tmp_path / "x", shelf)
    assert shelf.paths() == ["a.md"]


def test_a_folder_that_cannot_be_looked_into_keeps_its_notes(shared_path: Path, shelf: Shelf) -> None:
    write(shared_path, "x/a.md", "A.")
    write(shared_path, "b.md", "B.")
    write(shared_path, "c.md", "C.")
    ingest(shared_path, shelf)
    (shared_path / "c.md").unlink()
    with locked(shared_path / "x"):
        report = ingest(shared_path, shelf)
    problem = Problem("x", None, "cannot be read: Permission denied", skipped=True)
    assert report == IngestReport(
        files_unchanged=1, files_removed=1, files_failed=1, notes_removed=1, problems=(problem,)
    )
    assert shelf.paths() == ["b.md", "x/a.md"]


def test_files_that_cannot_be_read_are_reported_and_keep_their_notes(shared_path: Path, shelf: Shelf) -> None:
    for name in ("front.md", "binary.md", "large.md", "locked.md", "fine.md"):
        write(shared_path, name, "Tea.")
    ingest(shared_path, shelf)
    write(shared_path, "front.md", "---\na: b: c\n---\n")
    (shared_path / "binary.md").write_bytes(b"a\0b")
    write(shared_path, "large.md", "a" * 10_000_001)
    write(shared_path, "locked.md", "Secret.", changed=1)
    write(shared_path, "fine.md", "Milk.", changed=1)
    with locked(shared_path / "locked.md"):
        report = ingest(shared_path, shelf)
    assert [str(problem) for problem in report.problems] == [
        "binary.md: holds NUL characters, so it is no text; the earlier version stays",
        "front.md, line 2: the front matter is not YAML: mapping values are not allowed here; "
        "the earlier version stays",
        "large.md: has 10,000,001 bytes, more than 10,000,000; split it; the earlier version stays",
        "locked.md: cannot be read: Permission denied; the earlier version stays",
    ]
    assert all(problem.skipped for problem in report.problems)
    assert (report.files_read, report.notes_updated, report.files_removed, report.files_failed) == (1, 1, 0, 4)
    assert shelf.note("binary.md")["content"] == "Tea."
    assert len(ingest(shared_path, shelf).problems) == 3


def test_guesses_are_reported(tmp_path: Path, shelf: Shelf) -> None:
    (tmp_path / "a.txt").write_bytes("für".encode("cp1252"))
    report = ingest(tmp_path, shelf)
    assert report.problems == (Problem("a.txt", None, "not UTF-8; read as Windows-1252", skipped=False),)
    assert shelf.note("a.txt")["content"] == "für"


def test_bad_lines_are_reported(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{')
    [problem] = ingest(tmp_path, shelf).problems
    assert (problem.name, problem.line, problem.skipped) == ("a.jsonl", 2, True)
    assert shelf.paths() == ["a.jsonl#line-1"]


@pytest.mark.parametrize("error", [IngestError, lambda text: ArgumentError("content", text)])
def test_one_bad_document_is_found_and_the_others_written(tmp_path: Path, shelf: Shelf, error: Any) -> None:
    for name, text in (("a", "A."), ("b", "poison"), ("c", "C.")):
        write(tmp_path, f"{name}.md", text)
    shelf.error = error
    report = ingest(tmp_path, shelf)
    assert (report.files_read, report.files_failed, report.notes_added) == (2, 1, 2)
    [problem] = report.problems
    assert (problem.name, problem.skipped) == ("b.md", True)
    assert problem.message.endswith("poison is not stored")
    assert shelf.batches == [["a.md", "b.md", "c.md"], ["a.md"], ["b.md"], ["c.md"]]


def test_what_is_no_documents_fault_ends_the_ingest(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "poison")
    shelf.error = StoreFullError
    with pytest.raises(StoreFullError):
        ingest(tmp_path, shelf)


def test_a_value_that_no_note_can_have_is_reported(
    tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ArgumentError("position", "must be at most 7, got 8")

    write(tmp_path, "a.md", "A.")
    monkeypatch.setattr(ingestion_module, "read_file_text", refuse)
    assert ingest(tmp_path, shelf).problems == (
        Problem("a.md", None, "position: must be at most 7, got 8", skipped=True),
    )


def test_documents_are_written_in_batches(tmp_path: Path, shelf: Shelf) -> None:
    for number in range(70):
        write(tmp_path, f"{number:03d}.md", "Tea.")
    write(tmp_path, "x.jsonl", "\n".join(['{"text": "A."}'] * 64))
    write(tmp_path, "y.txt", "word " * 60_000)
    write(tmp_path, "z.jsonl", '{"text": "' + "a" * 300_000 + '"}')
    write(tmp_path, "zz.md", "Last.")
    ingest(tmp_path, shelf)
    assert [len(batch) for batch in shelf.batches] == [64, 7, 1, 1, 1]


def test_empty_files_do_not_pile_up(tmp_path: Path, shelf: Shelf) -> None:
    for number in range(65):
        write(tmp_path, f"{number:03d}.md", "")
    report = ingest(tmp_path, shelf)
    assert (report.files_read, report.notes_added, len(report.problems)) == (65, 0, 65)
    assert [len(batch) for batch in shelf.batches] == [64, 1]
    assert ingest(tmp_path, shelf) == IngestReport(files_unchanged=65)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.txt", " \n", "it is empty"),
        ("a.md", "", "it is empty"),
        ("a.md", "---\ntitle: Tea\n---\n\n", "it has front matter and no text; write something below the front matter"),
        ("a.json", "[]", "it holds no notes"),
    ],
)
def test_a_file_without_text_is_skipped_with_the_reason(
    tmp_path: Path, shelf: Shelf, name: str, text: str, why: str
) -> None:
    write(tmp_path, name, text)
    report = ingest(tmp_path, shelf)
    assert report.notes_added == 0
    assert report.problems == (Problem(name, None, f"is skipped: {why}", skipped=True),)


def test_a_record_without_text_is_reported_by_its_line(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.jsonl", '{"text": "A."}\n{"text": " ", "tags": ["x"]}\n{"content": "", "title": "B"}')
    report = ingest(tmp_path, shelf)
    assert report.notes_added == 2
    assert [str(problem) for problem in report.problems] == [
        "a.jsonl, line 2: record: has no text: content, title and summary are blank or only punctuation"
    ]


def test_files_of_other_types_are_counted(tmp_path: Path, shelf: Shelf) -> None:
    for name in ("a.md", "b.pdf", "c.csv", "d.csv"):
        write(tmp_path, name, "Tea.")
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, notes_added=1, skipped={".csv": 2, ".pdf": 1})
    assert list(ingest(tmp_path, shelf).skipped) == [".csv", ".pdf"]


def test_an_interrupted_ingest_keeps_what_was_written_and_the_next_goes_on(tmp_path: Path, shelf: Shelf) -> None:
    for number in range(70):
        write(tmp_path, f"{number:03d}.md", "Tea.")

    def interrupt(done: int, _total: int, _name: str) -> None:
        if done == 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path, shelf, progress=interrupt)
    assert len(shelf.paths()) == 64
    assert ingest(tmp_path, shelf) == IngestReport(files_read=6, files_unchanged=64, notes_added=6)


def test_progress_counts_every_file_once(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, shelf)
    write(tmp_path, "b.md", "poison")
    write(tmp_path, "c.md", "C.")
    write(tmp_path, "d.md", "---\na: b: c\n---\n")
    seen: list[tuple[int, int, str]] = []
    ingest(tmp_path, shelf, progress=lambda *state: seen.append(state))
    assert seen == [(1, 4, "a.md"), (2, 4, "d.md"), (3, 4, "b.md"), (4, 4, "c.md")]


def test_another_prefix_moves_the_notes(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A. [b](b.md)")
    ingest(tmp_path, shelf)
    report = ingest(tmp_path, shelf, prefix="home/")
    assert report == IngestReport(files_read=1, notes_added=1, notes_removed=1)
    assert shelf.note("home/a.md")["links"] == (("link", "home/b.md"),)
    assert shelf.note("home/a.md")["created_at"].year == 2023


def test_another_method_reads_all_again_and_keeps_dates(
    tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, shelf)
    write(tmp_path, "a.md", "A.", changed=1_800_000_000)
    monkeypatch.setattr(ingestion_module, "METHOD", "another")
    assert ingest(tmp_path, shelf) == IngestReport(files_read=1, notes_unchanged=1)
    assert shelf.note("a.md")["created_at"].year == 2023


def test_namespaces_are_apart(tmp_path: Path, shelf: Shelf) -> None:
    write(tmp_path, "a.md", "A.")
    ingest(tmp_path, shelf, namespace="work")
    assert ingest(tmp_path, shelf).notes_added == 1
    assert shelf.paths("work") == shelf.paths() == ["a.md"]


def test_an_empty_folder(tmp_path: Path, shelf: Shelf) -> None:
    assert ingest(tmp_path, shelf) == IngestReport()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": 7}, "source: must be the path of a file or a folder, got int"),
        ({"prefix": "a\nb"}, "prefix: must be one line"),
        ({"namespace": ""}, "namespace: must not be empty"),
    ],
)
def test_arguments_are_checked(tmp_path: Path, shelf: Shelf, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        ingest(**{"source": tmp_path, "library": shelf, **options})
