"""A memory is copied by one call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import recollect
from recollect import ArgumentError, ArgumentTypeError, StoreError
from recollect.embedders import FunctionEmbedder


def embedder(*, may_be_used: bool = True) -> FunctionEmbedder:
    def vectors(texts: list[str]) -> list[list[float]]:
        assert may_be_used, "nothing is embedded again"
        return [[len(text), 1.0] for text in texts]

    return FunctionEmbedder(vectors, name="lengths", dimension=2)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nSee [[bike]].\n\n## Green\n\nSencha.\n")
    (folder / "bike.md").write_text("# Bike\n\nNew brakes.\n")
    return folder


def test_copied_documents_are_not_ingested_again(tmp_path: Path, vault: Path) -> None:
    with recollect.open(tmp_path / "one.db", embedder=embedder()) as memory:
        memory.ingest(vault)
        memory.add("By hand.", links=["bike"])
    report = recollect.copy(tmp_path / "one.db", tmp_path / "two.db")
    assert report.verified
    assert report.verified.same
    assert report.copied.documents == 2
    with recollect.open(tmp_path / "two.db", embedder=embedder(may_be_used=False)) as memory:
        again = memory.ingest(vault)
        assert (again.files_read, again.files_unchanged, again.problems) == (0, 2, ())
    (vault / "bike.md").write_text("# Bike\n\nOld brakes.\n")
    (vault / "tea.md").unlink()
    with recollect.open(tmp_path / "two.db", embedder=embedder()) as memory:
        assert memory.ingest(vault).problems == ()
        assert [note.content for note in memory.notes() if note.path.startswith("bike")] == ["# Bike\n\nOld brakes."]
        assert not any(note.path.startswith("tea") for note in memory.notes())


def test_copy_does_not_change_source(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "one.db", embedder=None) as memory:
        memory.add("tea")
    before = (tmp_path / "one.db").read_bytes()
    (tmp_path / "one.db").chmod(0o444)
    recollect.copy(str(tmp_path / "one.db"), os.fspath(tmp_path / "two.db"), verify=False)
    assert (tmp_path / "one.db").read_bytes() == before


def test_copy_while_source_is_open(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "one.db", embedder=None) as memory:
        memory.add("tea", namespace="work")
        reports: list[tuple[int, int, str]] = []
        report = recollect.copy(
            tmp_path / "one.db",
            tmp_path / "two.db",
            namespaces=["work"],
            progress=lambda *report: reports.append(report),
        )
        memory.add("milk")
    assert reports[1] == (1, 1, "notes")
    assert report.to_dict()["copied"]["added"] == 1


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        recollect.copy(tmp_path / "one.db", tmp_path / "two.db")
    assert not (tmp_path / "two.db").exists()
    with pytest.raises(ArgumentError, match="^source: no store opens 'redis://one'; give the"):
        recollect.copy("redis://one", tmp_path / "two.db")
    with pytest.raises(ArgumentTypeError, match="^source: must be the path of a file, got int"):
        recollect.copy(3, tmp_path / "two.db")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^namespaces: must be a list"):
        recollect.copy(tmp_path / "one.db", tmp_path / "two.db", namespaces="work")
