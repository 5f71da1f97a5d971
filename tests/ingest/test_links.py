from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

import recollect
from recollect import Link, Memory
from recollect.ingest.links import LinkResolver, find_tags_and_links, resolve_file_link, resolve_links
from recollect.model import NoteName
from tests.ingest.strategies import markdown_text
from tests.strategies import any_text

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


def superseding_note(supersedes: str) -> str:
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
def test_supersedes_by_any_name(memory: Memory, vault: Path, target: str, name: str, prefix: str) -> None:
    (vault / "projects" / "m-old.md").write_text(OLD)
    (vault / "projects" / name).write_text(superseding_note(target))
    report = memory.ingest(vault, prefix=prefix)
    assert report.problems == ()
    superseded = [
        (neighbour.note.path, neighbour.direction)
        for neighbour in memory.neighbours(f"{prefix}projects/{name}")
        if neighbour.kind == "supersedes"
    ]
    assert superseded == [(f"{prefix}projects/m-old.md", "out")]
    hits = memory.search("how many jars for the market?")
    assert [hit.path for hit in hits] == [f"{prefix}projects/{name}", f"{prefix}projects/m-old.md"]
    assert memory.ingest(vault, prefix=prefix).files_unchanged == 2


def test_supersedes_several_notes(memory: Memory, vault: Path) -> None:
    (vault / "a.md").write_text('---\nsupersedes: ["[[Second plan]]", "[[Third plan]]"]\n---\n# Best plan\n\nGo.')
    (vault / "b.md").write_text("---\nsupersedes: Third plan\n---\n# Second plan\n\nStay.")
    (vault / "c.md").write_text("---\nrelated: Best plan\n---\n# Third plan\n\nWait.")
    assert memory.ingest(vault).problems == ()
    assert [memory.get(f"{name}.md").links for name in "abc"] == [  # type: ignore[union-attr]
        (Link("supersedes", "b.md"), Link("supersedes", "c.md")),
        (Link("supersedes", "c.md"),),
        (Link("related", "a.md"),),
    ]


def test_unresolved_target_is_reported_until_it_exists(memory: Memory, vault: Path) -> None:
    (vault / "new.md").write_text(superseding_note('"[[Honey of 2025]]"'))
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


def test_supersedes_stored_notes(memory: Memory, vault: Path) -> None:
    memory.add("Eight jars.", id="n1", title="Honey of 2025")
    memory.add("Nine jars.", id="n2", metadata={"aliases": "Nine, IX"})
    (vault / "new.md").write_text(superseding_note("[Honey of 2025, ix]"))
    assert memory.ingest(vault).problems == ()
    assert memory.get("new.md").links == (Link("supersedes", "n1"), Link("supersedes", "n2"))  # type: ignore[union-attr]


def test_ingest_texts_resolves_links(memory: Memory) -> None:
    report = memory.ingest_texts({"new.md": superseding_note("Honey of 2025")})
    assert [problem.name for problem in report.problems] == ["new.md"]
    report = memory.ingest_texts({"new.md": superseding_note("Honey of 2025"), "old.md": OLD})
    assert (report.files_read, report.problems) == (2, ())
    assert memory.get("new.md").links == (Link("supersedes", "old.md"),)  # type: ignore[union-attr]


def test_supersedes_note_of_the_same_name(memory: Memory, vault: Path) -> None:
    for folder in ("a", "archive"):
        (vault / folder).mkdir()
    (vault / "a" / "honey.md").write_text('---\nsupersedes: "[[honey]]"\n---\n# Honey\n\nTwelve jars.')
    (vault / "archive" / "honey.md").write_text("# Honey\n\nEight jars.")
    assert memory.ingest(vault).problems == ()
    assert memory.get("a/honey.md").links == (Link("supersedes", "archive/honey.md"),)  # type: ignore[union-attr]


def test_records_supersede_records(memory: Memory, vault: Path) -> None:
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


def test_link_resolver_prefers_shortest_path() -> None:
    names = [NoteName("1", "x/y/tea.md", "Tea"), NoteName("2", "z/tea.md", "Tea"), NoteName("3", "", "Milk")]
    resolver = LinkResolver(names)
    assert resolver.resolve("TEA", "log.md") == ("TEA", ["z/tea.md", "x/y/tea.md"])  # as a store resolves it
    assert resolver.resolve("y/tea", "log.md") == ("x/y/tea.md", ["x/y/tea.md"])
    assert resolver.resolve("tea.md", "x/y/log.md") == ("x/y/tea.md", [])
    assert resolver.resolve("../z/tea", "x/log.md") == ("z/tea.md", [])
    assert resolver.resolve("milk", "log.md") == ("3", ["3"])
    assert resolver.resolve("tea", "z/tea.md", own="z/tea.md") == ("x/y/tea.md", ["x/y/tea.md"])


def test_link_resolver_counts_chunks_of_a_file_once() -> None:
    names = [NoteName("", path, "Key box") for path in ("box.md#code", "box.md", "old/box-2.md#a", "old/box-2.md#b")]
    resolver = LinkResolver(names)
    assert resolver.resolve("Key box", "log.md") == ("box.md", ["box.md", "old/box-2.md#a", "old/box-2.md#b"])
    assert resolver.resolve("box", "log.md") == ("box", [])


@pytest.mark.parametrize(("key", "kind"), [("superseded_by", "superseded-by"), ("replaced-by", "superseded-by")])
def test_superseded_by(memory: Memory, vault: Path, key: str, kind: str) -> None:
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


def test_replaces_is_an_alias_of_supersedes(memory: Memory, vault: Path) -> None:
    (vault / "old.md").write_text(OLD)
    (vault / "new.md").write_text('---\nreplaces: "[[Honey of 2025]]"\n---\nTwelve jars from [[Ines]].')
    assert memory.ingest(vault).problems == ()
    new = memory.get("new.md")
    assert new is not None
    assert new.links == (Link("supersedes", "old.md"), Link("wikilink", "Ines"))


def test_ambiguous_target_is_reported_until_path_is_given(memory: Memory, vault: Path) -> None:
    text = "# Key box\n\n" + "The code is 4711. " * 100  # several chunks with the same title
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


def test_ambiguous_target_message_is_limited() -> None:
    names = [NoteName(f"{n}", f"{n}.md", "Tea") for n in range(7)]
    _, (message,) = resolve_links(
        [{"path": "x.md", "links": (Link("supersedes", "tea"),)}], LinkResolver(names), "x.md"
    )
    assert message.startswith(
        "supersedes: 7 notes are called 'tea': '0.md', '1.md', '2.md', '3.md', '4.md' and 2 more;"
    )


def test_note_that_supersedes_itself_is_reported(memory: Memory, vault: Path) -> None:
    (vault / "self.md").write_text('---\nsupersedes: "[[Self]]"\n---\n# Self\n\nMe.')
    assert [str(problem) for problem in memory.ingest(vault).problems] == [
        "self.md: supersedes: 'Self' is the note itself; the link is ignored: name another note, or remove it"
    ]


def test_supersession_cycle_is_reported(memory: Memory, vault: Path) -> None:
    (vault / "a.md").write_text("# Cement A\n\nMixed 1 to 3.")
    (vault / "b.md").write_text('---\nsupersedes: "[[Cement A]]"\n---\n# Cement B\n\nMixed 1 to 4.')
    assert memory.ingest(vault).problems == ()
    (vault / "a.md").write_text('---\nsupersedes: "[[Cement B]]"\n---\n# Cement A\n\nMixed 1 to 3.')
    (problem,) = memory.ingest(vault).problems
    assert problem.name == "a.md"
    assert problem.message.endswith(": 'a.md', 'b.md'; remove one of the links")
    (vault / "c.md").write_text("---\nsuperseded-by: a\n---\n# Cement C\n\nMixed 1 to 5.")  # leads into the cycle
    assert memory.ingest(vault).problems == ()


def reference_names(text: str, kind: str) -> list[str]:
    return [reference.name for reference in find_tags_and_links(text) if reference.kind == kind]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#tea and #green-tea, #tea/sencha. #snake_case!", ["tea", "green-tea", "tea/sencha", "snake_case"]),
        ("#1984 #19-84 #_ #y1984 #2024/tea", ["y1984", "2024/tea"]),
        ("(#tea) [x](#top) a#b \\#c ##d # e", ["tea"]),
        ("#お茶、#緑茶！ #🍵 #👩‍👩‍👧", ["お茶", "🍵", "👩‍👩‍👧"]),
        ("#tea/ #/", ["tea"]),
        ("`#no` ``a ` #no`` #yes `#open", ["yes"]),
        ("\\` #yes", ["yes"]),
        ("\\`` #no ` #yes", ["yes"]),
        ("a`b`#no <b #no> <!-- #no --> #yes", ["yes"]),
        ("#yes <!-- #no", ["yes"]),
        ("<b `c> #no` #yes", ["yes"]),
        ("<b `c` #no> #yes", ["yes"]),
        ("#" + "a" * 501, []),
        ("a\n#b\n#c", ["b", "c"]),
    ],
)
def test_find_tags(text: str, tags: list[str]) -> None:
    assert reference_names(text, "tag") == tags


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[Ines]] [[people/Olaf|him]] [[Tea#Green|tea]] ![[cup.png]]", ["Ines", "people/Olaf", "Tea", "cup.png"]),
        ("[[#here]] [[]] [[ ]] \\[[no]] [[a[b]] `[[no]]` [[new\nline]]", []),
        ("| [[Ines\\|her]] |", ["Ines"]),
        ("[[[Ines]]]", ["Ines"]),
        (f"[[{'a' * 501}]]", []),
    ],
)
def test_find_wikilinks(text: str, targets: list[str]) -> None:
    assert reference_names(text, "wikilink") == targets


@pytest.mark.parametrize(
    ("text", "destinations"),
    [
        ('[a](b.md) [c](<d e.md>) [f]( g.md "title") ![h](i(1).md) []()', ["b.md", "d e.md", "g.md", "i(1).md", ""]),
        ("[a]: b.md\n  [c]: <d.md> 'e'\n    [f]: g.md\nx [h]: i.md", ["b.md", "d.md"]),
        ("`[a](b.md)`", []),
    ],
)
def test_find_links(text: str, destinations: list[str]) -> None:
    assert reference_names(text, "link") == destinations


def test_tags_and_links_are_in_text_order() -> None:
    text = "... [a](b.md) #c [[d]] #e"
    assert [reference.name for reference in find_tags_and_links(text, 3)] == ["b.md", "c", "d", "e"]
    assert [reference.start for reference in find_tags_and_links(text, 3)] == [6, 14, 17, 23]


@pytest.mark.parametrize(
    ("destination", "target"),
    [
        ("olaf.md", "people/olaf.md"),
        ("../tea.md", "tea.md"),
        ("./x/../olaf.md?a=b#c", "people/olaf.md"),
        ("/tea.MD", "tea.MD"),
        ("green%20tea.markdown", "people/green tea.markdown"),
        ("../../outside.md", None),
        ("ines.md#work", None),
        ("https://example.org/tea.md", None),
        ("//example.org/tea.md", None),
        ("mailto:x@y.md", None),
        ("tea.png", None),
        ("#work", None),
        ("", None),
        ("a%0Ab.md", None),
        ("a" * 500 + ".md", None),
    ],
)
def test_resolve_file_link(destination: str, target: str | None) -> None:
    link = resolve_file_link(destination, "people/ines.md", "home/")
    assert link == (None if target is None else ("link", "home/" + target))


@given(markdown_text | any_text)
def test_find_tags_and_links_in_any_text(text: str) -> None:
    for reference in find_tags_and_links(text):
        assert text.startswith(("#", "[", "]", " "), reference.start)
        resolve_file_link(reference.name, "ines.md")
