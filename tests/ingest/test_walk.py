from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.errors import IngestError
from recollect.ingest.walk import walk
from tests.ingest.permissions import locked


def plant(root: Path, *names: str, text: str = "tea") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def names(source: Path) -> list[str]:
    found = walk(source)
    assert not found.problems
    return [file.name for file in found.files]


def test_files_that_can_be_read_in_the_same_order_always(tmp_path: Path) -> None:
    plant(tmp_path, "b.md", "a/z.TXT", "a/b/c.jsonl", "a.org", "c.png", "d", "Z.json", "a-b.rst")
    assert names(tmp_path) == ["Z.json", "a-b.rst", "a.org", "a/b/c.jsonl", "a/z.TXT", "b.md"]


def test_what_is_hidden_or_made_by_machines_is_left_out(tmp_path: Path) -> None:
    plant(tmp_path, ".a.md", ".git/a.md", ".obsidian/a.md", "x/node_modules/a.md", "__pycache__/a.md", "x/a.md")
    assert names(tmp_path) == ["x/a.md"]


def test_files_of_other_types_are_counted_by_extension(tmp_path: Path) -> None:
    plant(
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
    plant(tmp_path, ".gitignore", text="build/\nx/*.docx\n")
    os.mkfifo(tmp_path / "pipe.csv")
    assert walk(tmp_path).skipped == {".pdf": 2, "(no extension)": 2}


def test_a_file_says_its_size_and_when_it_was_changed(tmp_path: Path) -> None:
    plant(tmp_path, "a.md")
    os.utime(tmp_path / "a.md", ns=(5, 7_000_000_000))
    [file] = walk(tmp_path).files
    assert (file.path.read_text(), file.size, file.changed) == ("tea", 3, 7_000_000_000)


def test_one_file(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", ".hidden.md")
    found = walk(str(tmp_path / ".hidden.md"))
    assert (found.root, found.whole, [file.name for file in found.files]) == (tmp_path.resolve(), False, [".hidden.md"])


def test_ignore_rules_hold_below_their_folder_and_the_nearest_win(tmp_path: Path) -> None:
    plant(tmp_path, *(f"{folder}{name}.md" for folder in ("", "x/", "x/y/") for name in ("draft", "keep", "top", "z")))
    plant(tmp_path, "build/a.md", "x/build/a.md", "x/build.md", "y/a.md")
    plant(tmp_path, ".gitignore", text="# rules\n\ndraft.md\n/top.md\nbuild/\n/y/*\n")
    plant(tmp_path, ".recollectignore", text="\ufeffkeep.md\n")
    plant(tmp_path, "x/.gitignore", text="!draft.md\n")
    plant(tmp_path, "x/y/.recollectignore", text="z.md\n")
    assert names(tmp_path) == ["x/build.md", "x/draft.md", "x/top.md", "x/y/draft.md", "x/y/top.md", "x/z.md", "z.md"]


def test_the_second_file_of_rules_may_bring_back_what_the_first_left_out(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "b.md")
    plant(tmp_path, ".gitignore", text="*.md")
    plant(tmp_path, ".recollectignore", text="!a.md")
    assert names(tmp_path) == ["a.md"]


def test_rules_that_are_none_are_reported_and_the_others_kept(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "b.md")
    plant(tmp_path, ".gitignore", text="!\na.md\n")
    found = walk(tmp_path)
    assert [file.name for file in found.files] == ["b.md"]
    assert [str(problem) for problem in found.problems] == [".gitignore, line 1: is no rule that can be followed: '!'"]


def test_rules_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    plant(tmp_path, "a.md")
    (tmp_path / ".gitignore").mkdir()
    found = walk(tmp_path)
    assert [file.name for file in found.files] == ["a.md"]
    assert [str(problem) for problem in found.problems] == [".gitignore: cannot be read: Is a directory"]


def test_links_are_followed_but_never_twice(tmp_path: Path) -> None:
    plant(tmp_path, "root/b/c.md", "root/d.md", "outside/e.md")
    root = tmp_path / "root"
    (root / "a").symlink_to(root / "b")
    (root / "b/loop").symlink_to(root)
    (root / "far").symlink_to(tmp_path / "outside")
    (root / "link.md").symlink_to(root / "d.md")
    assert names(root) == ["b/c.md", "d.md", "far/e.md", "link.md"]


def test_links_that_lead_nowhere_are_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    found = walk(tmp_path)
    assert found.files == []
    assert [str(problem) for problem in found.problems] == [
        "gone.md: cannot be read: No such file or directory",
        "self.md: cannot be read: Too many levels of symbolic links",
    ]
    assert found.might_hold("gone.md")
    assert not found.might_hold("other.md")


def test_what_is_no_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert names(tmp_path) == []
    with pytest.raises(IngestError, match=r"pipe\.md is neither a folder nor a file that ends with \.md"):
        walk(tmp_path / "pipe.md")


def test_names_that_no_note_can_bear_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a\nb.md").write_text("tea")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/c\xff.md")).write_text("tea")
    (tmp_path / "d\u00a0e.md").write_text("tea")
    found = walk(tmp_path)
    assert [file.name for file in found.files] == ["d\u00a0e.md"]
    assert [str(problem) for problem in found.problems] == [
        "'a\\nb.md': its name holds characters that are no text; rename it",
        "c\ufffd.md: its name holds characters that are no text; rename it",
    ]
    with pytest.raises(IngestError, match=r"its name holds characters that are no text; rename it"):
        walk(tmp_path / "a\nb.md")


def test_folders_that_cannot_be_read_are_reported(shared_path: Path) -> None:
    plant(shared_path, "a.md", "x/b.md", "y/c.md")
    (shared_path / "y").chmod(0o444)  # its files can be listed, but not looked at
    with locked(shared_path / "x"):
        found = walk(shared_path)
    (shared_path / "y").chmod(0o755)
    assert [file.name for file in found.files] == ["a.md"]
    assert [str(problem) for problem in found.problems] == [
        "y/c.md: cannot be read: Permission denied",
        "x: cannot be read: Permission denied",
    ]
    assert [found.might_hold(name) for name in ("x/b.md", "x/y/z.md", "y/c.md", "xy.md")] == [True, True, True, False]


def test_a_root_that_cannot_be_read_is_an_error(shared_path: Path) -> None:
    with locked(shared_path), pytest.raises(IngestError, match="cannot be read: Permission denied"):
        walk(shared_path)


@pytest.mark.parametrize("name", ["missing", "missing.md", "a\0b"])
def test_a_source_that_does_not_exist_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(IngestError, match="cannot be read: "):
        walk(tmp_path / name)


def test_a_file_of_another_kind_is_an_error(tmp_path: Path) -> None:
    plant(tmp_path, "a.png")
    with pytest.raises(IngestError, match=r"a\.png is neither a folder nor a file that ends with \.md, "):
        walk(tmp_path / "a.png")
