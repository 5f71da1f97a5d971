"""Links of front matter by path, file name, title and alias, in whatever order the files come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import Link, Memory
from recollect.ingest import ingest
from recollect.ingest.references import NameIndex, resolve_links
from recollect.model import NoteName
from tests.ingest.test_ingestion import Shelf

OLD = "---\naliases: [Jars, Pots]\n---\n# Honey of 2025\n\nEight jars for the market."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        yield memory


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "projects").mkdir(parents=True)
    return folder


def newer(supersedes: str) -> str:
    return f"---\nsupersedes: {supersedes}\n---\n# Honey of 2026\n\nTwelve jars for the market."


@pytest.mark.parametrize("prefix", ["", "notes/"])
@pytest.mark.parametrize("name", ["a.md", "z.md"])
@pytest.mark.parametrize(
    "target",
    [
        '"[[Honey of 2025]]"',
        "[[Honey of 2025]]",
        "honey OF 2025",
        '"[[Honey of 2025|last year]]"',
        '"[[Honey of 2025#Prices]]"',
        '["[[Honey of 2025]]"]',
        '"[[Jars]]"',
        "pots",
        "m-old",
        "projects/m-old.md",
        "projects/m-old",
        "m-old.md",
        "/projects/m-old.md",
    ],
)
def test_a_note_is_superseded_whatever_it_is_called_by(
    memory: Memory, vault: Path, target: str, name: str, prefix: str
) -> None:
    (vault / "projects" / "m-old.md").write_text(OLD)
    (vault / "projects" / name).write_text(newer(target))
    report = memory.ingest(vault, prefix=prefix)
    assert report.problems == ()
    found = [
        (each.note.path, each.direction)
        for each in memory.neighbours(f"{prefix}projects/{name}")
        if each.kind == "supersedes"
    ]
    assert found == [(f"{prefix}projects/m-old.md", "out")]
    hits = memory.search("how many jars for the market?")
    assert [hit.path for hit in hits] == [f"{prefix}projects/{name}", f"{prefix}projects/m-old.md"]
    assert memory.ingest(vault, prefix=prefix).files_unchanged == 2


def test_several_notes_are_superseded_and_files_may_name_each_other(memory: Memory, vault: Path) -> None:
    (vault / "a.md").write_text('---\nsupersedes: ["[[Second plan]]", "[[Third plan]]"]\n---\n# Best plan\n\nGo.')
    (vault / "b.md").write_text("---\nsupersedes: Third plan\n---\n# Second plan\n\nStay.")
    (vault / "c.md").write_text("---\nrelated: Best plan\n---\n# Third plan\n\nWait.")
    assert memory.ingest(vault).problems == ()
    assert [memory.get(f"{name}.md").links for name in "abc"] == [  # type: ignore[union-attr]
        (Link("supersedes", "b.md"), Link("supersedes", "c.md")),
        (Link("supersedes", "c.md"),),
        (Link("related", "a.md"),),
    ]


def test_what_is_not_found_is_reported_until_it_comes(memory: Memory, vault: Path) -> None:
    (vault / "new.md").write_text(newer('"[[Honey of 2025]]"'))
    (vault / "more.md").write_text("---\nrelated: Nowhere\n---\nTea.")
    for read in (2, 1):
        report = memory.ingest(vault)
        assert report.files_read == read
        assert [str(problem) for problem in report.problems] == [
            "new.md: supersedes: there is no note with the path, file name, title or alias 'Honey of 2025'; "
            "correct it, or ingest that note too"
        ]
        assert not report.problems[0].skipped
    (vault / "old.md").write_text(OLD)
    report = memory.ingest(vault)
    assert (report.files_read, report.notes_added, report.notes_updated, report.problems) == (2, 1, 1, ())
    assert Link("supersedes", "old.md") in memory.get("new.md").links  # type: ignore[union-attr]
    assert memory.ingest(vault).files_unchanged == 3


def test_notes_that_were_there_before_are_found(memory: Memory, vault: Path) -> None:
    memory.add("Eight jars.", id="n1", title="Honey of 2025")
    memory.add("Nine jars.", id="n2", metadata={"aliases": "Nine, IX"})
    (vault / "new.md").write_text(newer("[Honey of 2025, ix]"))
    assert memory.ingest(vault).problems == ()
    assert memory.get("new.md").links == (Link("supersedes", "n1"), Link("supersedes", "n2"))  # type: ignore[union-attr]


def test_texts_without_files_are_looked_up_alike(memory: Memory) -> None:
    report = memory.ingest_texts({"new.md": newer("Honey of 2025")})
    assert [problem.name for problem in report.problems] == ["new.md"]
    report = memory.ingest_texts({"new.md": newer("Honey of 2025"), "old.md": OLD})
    assert (report.files_read, report.problems) == (2, ())
    assert memory.get("new.md").links == (Link("supersedes", "old.md"),)  # type: ignore[union-attr]


def test_a_new_version_may_bear_the_name_of_the_old_one(memory: Memory, vault: Path) -> None:
    for folder in ("a", "archive"):
        (vault / folder).mkdir()
    (vault / "a" / "honey.md").write_text('---\nsupersedes: "[[honey]]"\n---\n# Honey\n\nTwelve jars.')
    (vault / "archive" / "honey.md").write_text("# Honey\n\nEight jars.")
    assert memory.ingest(vault).problems == ()
    assert memory.get("a/honey.md").links == (Link("supersedes", "archive/honey.md"),)  # type: ignore[union-attr]


def test_records_may_supersede_each_other(memory: Memory, vault: Path) -> None:
    (vault / "notes.jsonl").write_text(
        '{"text": "Eight jars.", "title": "Honey"}\n'
        '{"text": "Twelve jars.", "title": "Honey", "links": [{"kind": "supersedes", "target": "Honey"}]}\n'
        '{"text": "No jars.", "links": [{"kind": "supersedes", "target": "notes.jsonl#line-2"}]}'
    )
    assert memory.ingest(vault).problems == ()
    notes = list(memory.notes())
    assert [note.links for note in notes] == [
        (),
        (Link("supersedes", "notes.jsonl#line-1"),),
        (Link("supersedes", "notes.jsonl#line-2"),),
    ]


def test_a_library_that_cannot_list_its_notes_will_do(tmp_path: Path) -> None:
    shelf = Shelf()
    (tmp_path / "old.md").write_text(OLD)
    (tmp_path / "new.md").write_text(newer("[Jars, Nowhere]"))
    report = ingest(tmp_path, shelf)
    assert [problem.name for problem in report.problems] == ["new.md"]


def test_of_several_the_shortest_path_is_meant() -> None:
    index = NameIndex([NoteName("1", "x/y/tea.md", "Tea"), NoteName("2", "z/tea.md", "Tea"), NoteName("3", "", "Milk")])
    assert index.find("TEA", "log.md") == "TEA"  # as a store finds it
    assert index.find("y/tea", "log.md") == "x/y/tea.md"
    assert index.find("tea.md", "x/y/log.md") == "x/y/tea.md"
    assert index.find("../z/tea", "x/log.md") == "z/tea.md"
    assert index.find("milk", "log.md") == "3"
    assert index.find("tea", "z/tea.md", own="z/tea.md") == "x/y/tea.md"


@pytest.mark.parametrize(("key", "kind"), [("superseded_by", "superseded-by"), ("replaced-by", "superseded-by")])
def test_the_old_note_may_name_the_new_one(memory: Memory, vault: Path, key: str, kind: str) -> None:
    (vault / "new.md").write_text("# Honey of 2026\n\nTwelve jars for the market.")
    (vault / "old.md").write_text(
        f'---\n{key}: "[[Honey of 2026]]"\n---\n# Honey of 2025\n\nEight jars for the market.'
    )
    assert memory.ingest(vault).problems == ()
    old = memory.get("old.md")
    assert old is not None
    assert (old.links, old.metadata) == ((Link(kind, "new.md"),), {})
    assert [hit.path for hit in memory.search("how many jars for the market?")] == ["new.md", "old.md"]
    (vault / "old.md").write_text(f"---\n{key}: Nowhere\n---\nEight jars.")
    (problem,) = memory.ingest(vault).problems
    assert problem.message.startswith("superseded-by: there is no note with the path, file name, title or alias 'Now")


def test_replaces_is_another_name_of_supersedes(memory: Memory, vault: Path) -> None:
    (vault / "old.md").write_text(OLD)
    (vault / "new.md").write_text('---\nreplaces: "[[Honey of 2025]]"\n---\nTwelve jars.')
    assert memory.ingest(vault).problems == ()
    assert memory.get("new.md").links == (Link("supersedes", "old.md"),)  # type: ignore[union-attr]


def test_a_name_of_several_notes_is_a_warning_until_the_path_is_written(memory: Memory, vault: Path) -> None:
    text = "# Key box\n\n" + "The code is 4711. " * 100  # several pieces of the same title
    for name in ("box.md", "projects/old-box.md"):
        (vault / name).write_text(text)
    memory.ingest(vault)
    (vault / "new.md").write_text('---\nsupersedes: "[[Key box]]"\n---\n# Key box\n\nThe code is 0815.')
    for _ in range(2):
        assert [str(problem) for problem in memory.ingest(vault).problems] == [
            "new.md: supersedes: 2 notes are called 'Key box': 'box.md', 'projects/old-box.md'; 'box.md', which has "
            "the shortest path, was taken; write the path of the one that you mean"
        ]
    assert memory.get("new.md").links == (Link("supersedes", "box.md"),)  # type: ignore[union-attr]
    (vault / "new.md").write_text("---\nsupersedes: projects/old-box.md\n---\n# Key box\n\nThe code is 0815.")
    assert memory.ingest(vault).problems == ()


def test_many_notes_of_one_name_are_not_all_listed() -> None:
    names = [NoteName(f"{n}", f"{n}.md", "Tea") for n in range(7)]
    _, (message,) = resolve_links([{"path": "x.md", "links": (Link("supersedes", "tea"),)}], NameIndex(names), "x.md")
    assert message.startswith(
        "supersedes: 7 notes are called 'tea': '0.md', '1.md', '2.md', '3.md', '4.md' and 2 more;"
    )


def test_a_note_that_names_itself_is_told_so(memory: Memory, vault: Path) -> None:
    (vault / "self.md").write_text('---\nsupersedes: "[[Self]]"\n---\n# Self\n\nMe.')
    assert [str(problem) for problem in memory.ingest(vault).problems] == [
        "self.md: supersedes: 'Self' is the note itself; the link is ignored: name another note, or remove it"
    ]


def test_a_circle_is_reported_also_where_one_end_was_ingested_before(memory: Memory, vault: Path) -> None:
    (vault / "a.md").write_text("# Cement A\n\nMixed 1 to 3.")
    (vault / "b.md").write_text('---\nsupersedes: "[[Cement A]]"\n---\n# Cement B\n\nMixed 1 to 4.')
    assert memory.ingest(vault).problems == ()
    (vault / "a.md").write_text('---\nsupersedes: "[[Cement B]]"\n---\n# Cement A\n\nMixed 1 to 3.')
    (problem,) = memory.ingest(vault).problems
    assert problem.name == "a.md"
    assert problem.message.endswith(": 'a.md', 'b.md'; remove one of the links")
    (vault / "c.md").write_text("---\nsuperseded-by: a\n---\n# Cement C\n\nMixed 1 to 5.")  # leads into the circle
    assert memory.ingest(vault).problems == ()
