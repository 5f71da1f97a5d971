from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.query import expand_aliases, parse
from recollect.retrieval.snippets import WIDTH, snippet
from tests.strategies import any_text, query_text


def marked(content: str, query: str, width: int = WIDTH) -> str:
    """Return the snippet with its highlights in brackets."""
    found = snippet(content, parse(query), width)
    text = found.text
    for start, end in reversed(found.highlights):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def test_a_short_text_is_shown_whole() -> None:
    assert marked("Prefers green\ntea.", "GREEN teas") == "Prefers [green] [tea]."
    assert marked("Prefers green tea.", "coffee") == "Prefers green tea."
    assert marked("", "tea") == ""


def test_words_match_up_to_their_endings() -> None:
    assert marked("deploying, deployed, deploys", "deployment") == "[deploying], [deployed], [deploys]"
    assert marked("teapot and steam", "tea") == "teapot and steam"
    assert marked("teapot and steam", "tea*") == "[teapot] and steam"
    assert marked("a café au lait", "cafés") == "a [café] au lait"


def test_names_match_as_they_are_written() -> None:
    assert marked("on B-17 and B-22, b17", "B-17") == "on [B-17] and B-22, b17"
    assert marked("calls `parse_config()` twice", "parse_config()") == "calls `[parse_config]()` twice"
    assert marked("node.js or nodejs", "node.js") == "[node.js] or nodejs"


def test_a_phrase_is_one_piece() -> None:
    assert marked("the tea, the green teas and green", '"the green tea"') == "the tea, [the green teas] and green"


def test_aliases_match_by_their_own_words() -> None:
    found = snippet("a bike and a cycle", expand_aliases(parse("bicycle"), {"bicycle": ["bike"]}))
    assert [found.text[start:end] for start, end in found.highlights] == ["bike"]


def test_what_is_excluded_is_not_highlighted() -> None:
    assert marked("deploy on friday", "deploy NOT friday") == "[deploy] on friday"


def test_the_best_stretch_of_a_long_text() -> None:
    text = "filler words here " * 40 + "the tea is here, green tea from Uji " + "more words there " * 40
    shown = marked(text, "green tea uji", width=80)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "[green] [tea] from [Uji]" in shown


def test_the_end_of_a_long_text() -> None:
    assert marked("x " * 200 + "tea", "tea", width=40).endswith("x [tea]")


def test_a_text_without_spaces_is_cut_anyway() -> None:
    found = snippet("x" * 1000, parse("tea"), 50)
    assert found.text == "x" * 50 + "…"
    assert len(snippet("y" * 500 + " tea " + "z" * 500, parse("tea"), 50).text) <= 52


@given(any_text, query_text, st.integers(10, 300))
def test_highlights_lie_inside(content: str, query: str, width: int) -> None:
    found = snippet(content, parse(query), width)
    assert len(found.text) <= width + 2
    assert "\n" not in found.text
    last = 0
    for start, end in found.highlights:
        assert last <= start < end <= len(found.text)
        last = end
