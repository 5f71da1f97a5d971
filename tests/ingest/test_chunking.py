from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError
from recollect.ingest import CHUNK_SIZE, chunk_text, split_sentences
from recollect.ingest.chunking import Chunk, chunk_blocks
from recollect.ingest.markdown import outline
from tests.ingest.strategies import markdown_text
from tests.strategies import any_text


def chunk_markdown(text: str, size: int = CHUNK_SIZE) -> list[Chunk]:
    return chunk_blocks(text, outline(text)[0], size=size)


def words(count: int, start: int = 0) -> str:
    """A sentence of ``count`` words of seven characters, the space included."""
    return " ".join(f"w{number:05d}" for number in range(start, start + count)) + "."


def without_spaces(text: str) -> str:
    return "".join(text.split())


def test_short_text_is_one_chunk() -> None:
    assert [chunk.text for chunk in chunk_text("\n\n  Ines.\n\nTea.\n\n")] == ["  Ines.\n\nTea."]


def test_blank_text_has_no_chunk() -> None:
    assert chunk_text("") == []
    assert chunk_text(" \n\t\n") == []


def test_paragraphs_are_packed_evenly() -> None:
    paragraphs = [words(60, 100 * number) for number in range(4)]  # 420 characters each
    assert [chunk.text for chunk in chunk_text("\n\n".join(paragraphs))] == [
        "\n\n".join(paragraphs[:2]),
        "\n\n".join(paragraphs[2:]),
    ]


def test_chunk_may_exceed_size_by_a_fifth() -> None:
    text = "A" * 1_199 + "."
    assert [len(chunk.text) for chunk in chunk_text(text)] == [1_200]
    assert [len(chunk.text) for chunk in chunk_text(text + ".")] == [1_200, 1]


def test_long_paragraph_is_split_between_sentences() -> None:
    sentences = [words(50, 100 * number).capitalize() for number in range(6)]  # 350 characters each
    chunks = chunk_text(" ".join(sentences))
    assert [chunk.text for chunk in chunks] == [" ".join(sentences[at : at + 2]) for at in (0, 2, 4)]


def test_long_sentence_is_split_between_words() -> None:
    text = words(400)
    chunks = chunk_text(text)
    assert " ".join(chunk.text for chunk in chunks) == text
    assert [len(chunk.text) for chunk in chunks] == [937, 937, 924]


def test_text_without_spaces_is_split_after_commas() -> None:
    text = "茶" * 900 + "，" + "水" * 900
    assert [len(chunk.text) for chunk in chunk_text(text)] == [901, 900]


def test_long_word_is_not_split_before_combining_marks() -> None:
    text = "x" * 1_199 + "e\u0301\u0302" + "y" * 10
    assert [len(chunk.text) for chunk in chunk_text(text)] == [1_199, 13]
    family = "x" * 1_198 + "\U0001f469\u200d\U0001f469" + "y" * 10
    assert [len(chunk.text) for chunk in chunk_text(family)] == [1_198, 13]
    assert [len(chunk.text) for chunk in chunk_text("\u0301" * 3_000)] == [1_184, 1_184, 632]


def test_sections_are_chunks() -> None:
    text = (
        f"# Ines\n{words(30)}\n## Tea\n{words(30)}\n### Green\n{words(30)}\n## Work\n{words(30)}\n# Olaf\n{words(30)}"
    )
    assert [(chunk.headings, chunk.text.split("\n")[0]) for chunk in chunk_markdown(text)] == [
        (("Ines",), "# Ines"),
        (("Ines", "Tea"), "## Tea"),
        (("Ines", "Tea", "Green"), "### Green"),
        (("Ines", "Work"), "## Work"),
        (("Olaf",), "# Olaf"),
    ]


def test_short_sections_join_neighbours() -> None:
    text = f"# Ines\n{words(30)}\n## Phone\n123\n## Mail\nx@y.z\n## Tea\n{words(30)}\n# Olaf\nNo tea.\n"
    assert [(chunk.headings, chunk.anchor) for chunk in chunk_markdown(text)] == [
        (("Ines",), ("Ines",)),
        (("Ines", "Tea"), ("Ines", "Tea")),
        (("Olaf",), ("Olaf",)),
    ]


def test_joined_sections_have_heading_of_parent() -> None:
    text = f"# Ines\n{words(140)}\n## Phone\n123\n## Mail\nx@y.z\n"
    first, second = chunk_markdown(text)
    assert first.text == f"# Ines\n{words(140)}"
    assert second == Chunk("## Phone\n123\n## Mail\nx@y.z", ("Ines",), ("Ines", "Phone"), second.start, len(text))


def test_bare_heading_joins_next_section() -> None:
    text = f"Before.\n# Ines\n## Tea\n{words(120)}\n\n{words(120)}\n## Milk\n{words(30)}"
    chunks = chunk_markdown(text)
    assert [chunk.headings for chunk in chunks] == [(), ("Ines", "Tea"), ("Ines", "Tea"), ("Ines", "Milk")]
    assert chunks[1].text == f"# Ines\n## Tea\n{words(120)}"


def test_bare_headings_alone_are_one_chunk() -> None:
    assert [(chunk.text, chunk.headings) for chunk in chunk_markdown("# Ines\n## Tea\n### Green")] == [
        ("# Ines\n## Tea\n### Green", ("Ines", "Tea", "Green")),
    ]
    assert [len(chunk_markdown("# Ines\n" * count)) for count in (2, 150)] == [1, 2]


def test_no_chunk_ends_with_a_heading() -> None:
    text = f"# Ines\n{'A' * 1_195}."
    assert chunk_markdown(text)[0].text.startswith("# Ines\nAAA")
    text = f"# Ines\n{words(90)} {words(90).capitalize()}"
    assert [len(chunk.text) for chunk in chunk_markdown(text)] == [637, 630]


def test_long_headings_are_split() -> None:
    text = f"# {words(130)}\n\n{words(160)}\n\n# {words(300)}"
    chunks = chunk_markdown(text)
    assert without_spaces("".join(chunk.text for chunk in chunks)) == without_spaces(text)
    assert chunks[0].text == f"# {words(130)}"


def test_headings_without_text_are_split() -> None:
    first, second = f"# {words(100)}", f"## {words(100)}\n### Tea"
    assert [chunk.text for chunk in chunk_markdown(f"{first}\n{second}")] == [first, second]


def test_last_heading_is_not_lost() -> None:
    text = f"# Ines\n## Tea\n{words(170)}\n### Green\n"
    assert [chunk.text[-9:] for chunk in chunk_markdown(text)][-1] == "### Green"


def test_long_lists_are_split_between_items() -> None:
    items = "".join(f"- item {number:02d} {'x' * 30}\n  more of it\n" for number in range(20))
    assert len(chunk_markdown(f"{words(20)}\n\n{items}")) == 2
    for chunk in chunk_markdown(items * 3):
        assert chunk.text.startswith("- item")
        assert chunk.text.endswith("more of it")


def test_long_code_is_split_between_lines() -> None:
    code = "".join(f"    value_{number:03d} = {number:03d}\n" for number in range(30))
    _, second = chunk_markdown(f"{words(100)}\n\n```\n{code}```\n")
    assert second.text == f"```\n{code}```"
    chunks = chunk_markdown(f"```\n{code * 3}```\n")
    assert all(chunk.text.startswith("    value_") for chunk in chunks[1:])


def test_long_tables_are_split_between_rows() -> None:
    chunks = chunk_markdown("| tea | note |\n|---|---|\n" + "| sencha | Good. Ines likes it. |\n" * 60)
    assert len(chunks) == 3
    assert all(chunk.text.startswith("| ") and chunk.text.endswith(" |") for chunk in chunks)


def test_chunk_size_is_checked() -> None:
    with pytest.raises(ArgumentError, match=r"^size: must be at least 20, got 19$"):
        chunk_text("tea", size=19)


sizes = st.sampled_from([20, 50, 120, 1_000])


@given(st.one_of(markdown_text, any_text), sizes)
def test_chunks_cover_any_text_within_limits(text: str, size: int) -> None:
    for chunks in (chunk_text(text, size=size), chunk_markdown(text.replace("\r", "\n"), size)):
        assert without_spaces("".join(chunk.text for chunk in chunks)) == without_spaces(text)
        assert all(0 < len(chunk.text) <= size + size // 5 for chunk in chunks)
        assert all(chunk.text in text.replace("\r", "\n") or chunk.text in text for chunk in chunks)
        assert all(chunk.headings == chunk.anchor[: len(chunk.headings)] for chunk in chunks)


@pytest.mark.parametrize(
    "text",
    ["a" * 500_000, "# a\n" * 20_000, "> " * 50_000, "- " * 50_000, "[" * 100_000, "." * 100_000, "\n" * 100_000 + "a"],
    ids=lambda text: text[:4],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    chunks = chunk_markdown(text)
    assert len(chunks) <= len(text) / 800 + 1
    assert sum(len(without_spaces(chunk.text)) for chunk in chunks) == len(without_spaces(text))


@pytest.mark.parametrize(
    "text",
    [
        "Ines drinks tea.|Olaf drinks coffee.",
        "Really?|Yes!|Good.",
        "Really?!|Yes.",
        "Dr. Vega met Mrs. Olsen at St. Mary.|They had tea.",
        "See Fig. 3 and No. 7, vol. 2.|Then go on.",
        "The answer is no.|We stay.",
        "It costs 3.50 or 1.200,00 euros.|Fair.",
        "Version 2.0.1 is out.|Get it.",
        "J. R. R. Tolkien wrote it.|I read it.",
        "We chose plan B.|It worked.",
        "The U.S. Mint and the U.S. Navy.|Both are old.",
        "She lives in the U.S.|She likes it.",
        "It opens at 9 a.m. Monday.|Come early.",
        "It opens at 9 a.m.|The shop is small.",
        "Bring tea, milk, etc. Ines will know.",
        "Bring tea, milk, etc.|We need it.",
        "Well... maybe.|Or not…|Who knows?",
        'He said "Stop!"|She did.',
        '"Too much?" she asked.|"Yes."',
        "(It rained.)|We stayed.",
        "That was in 2019.|Now it is over.",
        "Go to example.org or a.b.c now.|Do.",
        "e.g. tea, i.e. sencha.|Or z.B. Kaffee.",
        "Er kommt ca. um acht.|Das ist spät.",
        "お茶が好きです。|コーヒーは？|いいえ！",
        "「はい。」|そうです。",
        "One line\nand the same sentence.|Another.",
        "A heading without a mark\n\n|Then text.",
        "An end.\n\n|and a small letter",
        "1. First\n2. Second",
        "",
        "   ",
        "...",
    ],
)
def test_split_sentences(text: str) -> None:
    assert split_sentences(text.replace("|", " ")) == [part.strip() for part in text.split("|") if part.strip()]


@given(any_text)
def test_split_sentences_keeps_all_text(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
