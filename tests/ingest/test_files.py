from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.errors import IngestError
from recollect.ingest.files import scan_files
from tests.ingest.permissions import without_read_permission


def write_files(root: Path, *names: str, text: str = "tea") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def file_names(source: Path) -> list[str]:
    scan = scan_files(source)
    assert not scan.problems
    return [file.name for file in scan.files]


def test_scan_sorts_files_by_name(tmp_path: Path) -> None:
    write_files(tmp_path, "b.md", "a/z.TXT", "a/b/c.jsonl", "a.org", "c.png", "d", "Z.json", "a-b.rst")
    assert file_names(tmp_path) == ["Z.json", "a-b.rst", "a.org", "a/b/c.jsonl", "a/z.TXT", "b.md"]


def test_scan_ignores_hidden_and_generated_folders(tmp_path: Path) -> None:
    write_files(tmp_path, ".a.md", ".git/a.md", ".obsidian/a.md", "x/node_modules/a.md", "__pycache__/a.md", "x/a.md")
    assert file_names(tmp_path) == ["x/a.md"]


def test_scan_counts_unsupported_files_by_extension(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        "a.md",
        "b.PDF",
        "x/c.pdf",
        "x/d.docx",
        "Makefile",
        "Minutes. Of the day",
        ".hidden.pdf",
        "build/e.pdf",
    )
    write_files(tmp_path, ".gitignore", text="build/\nx/*.docx\n")
    os.mkfifo(tmp_path / "pipe.csv")
    assert scan_files(tmp_path).skipped == {".pdf": 2, "(no extension)": 2}


def test_scan_reports_size_and_modification_time(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md")
    os.utime(tmp_path / "a.md", ns=(5, 7_000_000_000))
    [file] = scan_files(tmp_path).files
    assert (file.path.read_text(), file.size, file.modified) == ("tea", 3, 7_000_000_000)


def test_scan_single_file(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", ".hidden.md")
    scan = scan_files(str(tmp_path / ".hidden.md"))
    assert (scan.root, scan.complete, [file.name for file in scan.files]) == (tmp_path.resolve(), False, [".hidden.md"])


def test_ignore_rules_of_inner_folders_win(tmp_path: Path) -> None:
    write_files(
        tmp_path, *(f"{folder}{name}.md" for folder in ("", "x/", "x/y/") for name in ("draft", "keep", "top", "z"))
    )
    write_files(tmp_path, "build/a.md", "x/build/a.md", "x/build.md", "y/a.md")
    write_files(tmp_path, ".gitignore", text="# rules\n\ndraft.md\n/top.md\nbuild/\n/y/*\n")
    write_files(tmp_path, ".recollectignore", text="\ufeffkeep.md\n")
    write_files(tmp_path, "x/.gitignore", text="!draft.md\n")
    write_files(tmp_path, "x/y/.recollectignore", text="z.md\n")
    assert file_names(tmp_path) == [
        "x/build.md",
        "x/draft.md",
        "x/top.md",
        "x/y/draft.md",
        "x/y/top.md",
        "x/z.md",
        "z.md",
    ]


def test_recollectignore_overrides_gitignore(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", "b.md")
    write_files(tmp_path, ".gitignore", text="*.md")
    write_files(tmp_path, ".recollectignore", text="!a.md")
    assert file_names(tmp_path) == ["a.md"]


def test_invalid_ignore_patterns_are_reported(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", "b.md")
    write_files(tmp_path, ".gitignore", text="!\na.md\n")
    scan = scan_files(tmp_path)
    assert [file.name for file in scan.files] == ["b.md"]
    assert [str(problem) for problem in scan.problems] == [".gitignore, line 1: is not a valid pattern: '!'"]


def test_unreadable_ignore_files_are_reported(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md")
    (tmp_path / ".gitignore").mkdir()
    scan = scan_files(tmp_path)
    assert [file.name for file in scan.files] == ["a.md"]
    assert [str(problem) for problem in scan.problems] == [".gitignore: cannot be read: Is a directory"]


def test_scan_follows_symbolic_links_once(tmp_path: Path) -> None:
    write_files(tmp_path, "root/b/c.md", "root/d.md", "outside/e.md")
    root = tmp_path / "root"
    (root / "a").symlink_to(root / "b")
    (root / "b/loop").symlink_to(root)
    (root / "far").symlink_to(tmp_path / "outside")
    (root / "link.md").symlink_to(root / "d.md")
    assert file_names(root) == ["b/c.md", "d.md", "far/e.md", "link.md"]


def test_scan_reports_broken_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    scan = scan_files(tmp_path)
    assert scan.files == []
    assert [str(problem) for problem in scan.problems] == [
        "gone.md: cannot be read: No such file or directory",
        "self.md: cannot be read: Too many levels of symbolic links",
    ]
    assert scan.may_contain("gone.md")
    assert not scan.may_contain("other.md")


def test_scan_ignores_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert file_names(tmp_path) == []
    with pytest.raises(IngestError, match=r"pipe\.md is neither a folder nor a file that ends with \.md"):
        scan_files(tmp_path / "pipe.md")


def test_scan_reports_invalid_names(tmp_path: Path) -> None:
    (tmp_path / "a\nb.md").write_text("tea")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xff.md")).write_text("tea")
    (tmp_path / "d\u00a0e.md").write_text("tea")
    scan = scan_files(tmp_path)
    assert [file.name for file in scan.files] == ["d\u00a0e.md"]
    assert [str(problem) for problem in scan.problems] == [
        "'a\\nb.md': its name has characters that are not text; rename it",
        "c\ufffd.md: its name has characters that are not text; rename it",
    ]
    with pytest.raises(IngestError, match=r"its name has characters that are not text; rename it"):
        scan_files(tmp_path / "a\nb.md")


def test_scan_reports_unreadable_folders(shared_path: Path) -> None:
    write_files(shared_path, "a.md", "x/b.md", "y/c.md")
    (shared_path / "y").chmod(0o444)  # its files can be listed, but not opened
    with without_read_permission(shared_path / "x"):
        scan = scan_files(shared_path)
    (shared_path / "y").chmod(0o755)
    assert [file.name for file in scan.files] == ["a.md"]
    assert [str(problem) for problem in scan.problems] == [
        "y/c.md: cannot be read: Permission denied",
        "x: cannot be read: Permission denied",
    ]
    assert [scan.may_contain(name) for name in ("x/b.md", "x/y/z.md", "y/c.md", "xy.md")] == [True, True, True, False]


def test_scan_unreadable_root_raises(shared_path: Path) -> None:
    with without_read_permission(shared_path), pytest.raises(IngestError, match="cannot be read: Permission denied"):
        scan_files(shared_path)


@pytest.mark.parametrize("name", ["missing", "missing.md", "a\0b"])
def test_scan_missing_source_raises(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match="cannot be read: "):
        scan_files(tmp_path / name)


def test_scan_unsupported_file_raises(tmp_path: Path) -> None:
    write_files(tmp_path, "a.png")
    with pytest.raises(IngestError, match=r"a\.png is neither a folder nor a file that ends with \.md, "):
        scan_files(tmp_path / "a.png")
