from __future__ import annotations

import pytest
from hypothesis import given

from recollect.ingest.mentions import mentions_in, resolved_link
from tests.ingest.generated import markdown_text
from tests.strategies import any_text


def found(text: str, kind: str) -> list[str]:
    return [mention.name for mention in mentions_in(text) if mention.kind == kind]


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
def test_tags(text: str, tags: list[str]) -> None:
    assert found(text, "tag") == tags


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
def test_wikilinks(text: str, targets: list[str]) -> None:
    assert found(text, "wikilink") == targets


@pytest.mark.parametrize(
    ("text", "destinations"),
    [
        ('[a](b.md) [c](<d e.md>) [f]( g.md "title") ![h](i(1).md) []()', ["b.md", "d e.md", "g.md", "i(1).md", ""]),
        ("[a]: b.md\n  [c]: <d.md> 'e'\n    [f]: g.md\nx [h]: i.md", ["b.md", "d.md"]),
        ("`[a](b.md)`", []),
    ],
)
def test_links(text: str, destinations: list[str]) -> None:
    assert found(text, "link") == destinations


def test_mentions_come_in_the_order_of_the_text() -> None:
    text = "... [a](b.md) #c [[d]] #e"
    assert [mention.name for mention in mentions_in(text, 3)] == ["b.md", "c", "d", "e"]
    assert [mention.at for mention in mentions_in(text, 3)] == [6, 14, 17, 23]


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
def test_links_are_resolved_against_the_root(destination: str, target: str | None) -> None:
    link = resolved_link(destination, "people/ines.md", "home/")
    assert link == (None if target is None else ("link", "home/" + target))


@given(markdown_text | any_text)
def test_any_text_can_be_read(text: str) -> None:
    for mention in mentions_in(text):
        assert text.startswith(("#", "[", "]", " "), mention.at)
        resolved_link(mention.name, "ines.md")
