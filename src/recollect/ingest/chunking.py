"""Split a long text into chunks that an embedding model can read as a whole, and a paragraph into sentences.

Chunks are spans of the text without gaps, so that no text is lost. First, very short sections are grouped with a
neighbour. Then each group is split into chunks of about equal length: between blocks such as paragraphs if possible,
else between list items or lines, sentences, or words, and only a very long word is split inside. The time is linear in
the length of the text.

No library is used. Text splitters (LangChain, LlamaIndex, semantic-text-splitter) lose the headings or the spans that
note paths and links need, and sentence models (spaCy, NLTK) cost hundreds of megabytes or a download.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError

CHUNK_SIZE = 1_000
"""The target length of a chunk in characters. Models of the MiniLM family read 256 tokens, which are about 1,100
characters of English; the title of the note takes some of them."""

MIN_SECTION_CHARS = 120  # a shorter section joins a neighbour
MIN_CHUNK_SIZE = 20

_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*+\n)+")  # the end of a paragraph, and the empty lines below

_Splitter = Callable[[str], Iterable[int]]
"""Returns the offsets at which a text can be split, without its start and end."""

BlockKind = Literal["heading", "prose", "list", "table", "code"]


class Block(NamedTuple):
    """A part of a text that is not split if it fits into a chunk: a heading, paragraph, list, table or code block."""

    start: int
    end: int  # the offset at which the next block starts
    kind: BlockKind = "prose"
    level: int = 0  # the level of a heading, from 1; 0 for other blocks
    label: str = ""  # the text of a heading


class Chunk(NamedTuple):
    """A part of a text, with the headings above it.

    >>> Chunk("Prefers sencha.", ("Ines", "Tea"), ("Ines", "Tea"), 0, 15).headings
    ('Ines', 'Tea')
    """

    text: str
    headings: tuple[str, ...]
    """The headings that all sections of the chunk share, outermost first."""
    anchor: tuple[str, ...]
    """The headings of the chunk's first section, outermost first; the note's path is made of them."""
    start: int
    end: int


class _Section(NamedTuple):
    """Blocks without a heading between them, and the headings directly above these blocks."""

    headings: tuple[str, ...]  # the heading of the section and the headings above it, outermost first
    blocks: list[Block]


def chunk_text(text: str, *, size: int = CHUNK_SIZE) -> list[Chunk]:
    r"""Return the chunks of a plain text: as many paragraphs, else sentences, as fit into about ``size`` characters.

    No chunk has more than 1.2 times ``size`` characters.

    >>> [chunk.text for chunk in chunk_text("Ines likes tea. Olaf does not.\n\nThe end.", size=20)]
    ['Ines likes tea.', 'Olaf does not.\n\nThe end.']
    """
    starts = [0, *(match.end() for match in _EMPTY_LINES.finditer(text))]
    spans = zip(starts, [*starts[1:], len(text)], strict=True)
    return chunk_blocks(text, [Block(start, end) for start, end in spans if end > start], size=size)


def chunk_blocks(text: str, blocks: Sequence[Block], *, size: int = CHUNK_SIZE) -> list[Chunk]:
    """Return the chunks of ``text``; ``blocks`` cover the text without gaps."""
    target = arguments.count("size", size)
    if target < MIN_CHUNK_SIZE:
        raise ArgumentError("size", f"must be at least {MIN_CHUNK_SIZE}, got {target}")
    limit = target + target // 5  # 1.2 times the target
    chunks: list[Chunk] = []
    for group in _groups(_sections(blocks), target):
        anchor = headings = group[0].headings
        # Drop the innermost headings until all sections of the group share the headings.
        while any(section.headings[: len(headings)] != headings for section in group):
            headings = headings[:-1]
        for start, end in _spans(text, [block for section in group for block in section.blocks], target, limit):
            if trimmed := _trim_empty_lines(text[start:end]):
                chunks.append(Chunk(trimmed, headings, anchor, start, end))
    return chunks


def _sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    """Yield the sections of a text. A heading directly above a deeper heading is part of the deeper one's section."""
    open_headings: list[Block] = []
    section = _Section((), [])
    for block in blocks:
        if block.kind == "heading":
            # If the last block of a section is a heading, then all its blocks are headings.
            ends_with_heading = bool(section.blocks) and section.blocks[-1].kind == "heading"
            continues_section = ends_with_heading and block.level > open_headings[-1].level
            if section.blocks and not continues_section:
                yield section
                section = _Section((), [])
            while open_headings and open_headings[-1].level >= block.level:
                open_headings.pop()
            open_headings.append(block)
            section = _Section(tuple(heading.label for heading in open_headings), section.blocks)
        section.blocks.append(block)
    if section.blocks:
        yield section


def _groups(sections: Iterable[_Section], target: int) -> Iterator[list[_Section]]:
    """Yield groups of neighbouring sections, so that a short section does not become a chunk of its own.

    A section joins the group before it if both fit into one chunk, one of the two is short, and the section is a
    subsection or a sibling of the group's first section.
    """
    min_length = min(MIN_SECTION_CHARS, target // 4)
    group: list[_Section] = []
    for section in sections:
        if group:
            first, headings = group[0].headings, section.headings
            group_start, start, end = group[0].blocks[0].start, section.blocks[0].start, section.blocks[-1].end
            is_related = headings[: len(first)] == first or headings[:-1] == first[:-1]  # a subsection or a sibling
            shorter_length = min(start - group_start, end - start)  # of the group and the section
            if is_related and end - group_start <= target and shorter_length < min_length:
                group.append(section)
                continue
            yield group
        group = [section]
    if group:
        yield group


def _spans(text: str, blocks: Sequence[Block], target: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most ``limit`` characters that cover the blocks, of lengths as equal as possible."""
    start, end = blocks[0].start, blocks[-1].end
    if end - start <= limit:
        yield start, end
        return
    equal_length = (end - start) / math.ceil((end - start) / target)
    previous_end = start
    for part_end in _part_ends(text, blocks, limit):
        if previous_end > start and (previous_end - start >= equal_length or part_end - start > limit):
            yield start, previous_end
            start = previous_end
        previous_end = part_end
    yield start, previous_end


def _part_ends(text: str, blocks: Iterable[Block], limit: int) -> Iterator[int]:
    """Yield the end of each part that is not split further: a block or, if it is longer than ``limit``, a part of it.

    A heading and the beginning of the next block are one part, so that no chunk ends with a heading. But above
    a block that must be split, headings longer than half of ``limit`` are a part of their own.
    """
    start = 0
    heading_length = 0  # the length of the headings that belong to the next part
    for block in blocks:
        if not heading_length:
            start = block.start
        if block.end - start <= limit:
            heading_length = block.end - start if block.kind == "heading" else 0
            if not heading_length:
                yield block.end
            continue
        available = limit - heading_length
        if available < limit // 2:
            yield block.start
            available = limit
        heading_length = 0
        yield from _split(text, block.start, block.end, _SPLITTERS[block.kind], available)
    if heading_length:
        yield start + heading_length


def _split(text: str, start: int, end: int, splitters: Sequence[_Splitter], limit: int) -> Iterator[int]:
    """Yield the ends of the parts of a span. Each splitter splits those parts that are still longer than ``limit``."""
    if end - start <= limit:
        yield end
    elif not splitters:
        yield from _split_word(text, start, end, limit)
    else:
        part_start = start
        for offset in (*splitters[0](text[start:end]), end - start):
            yield from _split(text, part_start, start + offset, splitters[1:], limit)
            part_start = start + offset


def _split_word(text: str, start: int, end: int, limit: int) -> Iterator[int]:
    """Yield the ends of parts of a long word, if possible not between a letter and its combining marks."""
    while end - start > limit:
        cut = start + limit
        for _ in range(min(16, limit - 1)):  # a letter with more than 16 marks is split
            # Emoji are joined by U+200D, and end with U+FE0E or U+FE0F (variation selectors).
            is_mark = unicodedata.combining(text[cut]) or text[cut] in "\u200d\ufe0e\ufe0f"
            if not is_mark and text[cut - 1] != "\u200d":
                break
            cut -= 1
        yield cut
        start = cut
    yield end


def _split_after(pattern: re.Pattern[str]) -> _Splitter:
    """Return a splitter that splits a text after each match of the pattern."""
    return lambda text: [match.end() for match in pattern.finditer(text) if match.end() < len(text)]


def _trim_empty_lines(text: str) -> str:
    """Remove empty lines around a chunk, but not the indentation of its first line, which may be significant."""
    stripped = text.lstrip()
    indentation = text[: len(text) - len(stripped)].rpartition("\n")[2]
    return (indentation + stripped).rstrip()


_CLOSERS = "\"'”’»›)\\]*_"  # may follow the last punctuation mark of a sentence
_BOUNDARY = re.compile(
    rf"(?<![.!?…])(?P<marks>[.!?…]++)[{_CLOSERS}]*+(?=\s)\s*+"  # punctuation, closing marks, white space
    r"|(?<![。！？｡])[。！？｡]++[」』”’）】〕》]*+\s*+"  # the same in Chinese and Japanese, where no space follows
    r"|\n[^\S\n]*\n\s*+"  # an empty line
)
"""Where a sentence may end. Possessive quantifiers keep the time linear."""
_BEFORE_WORD = re.compile(r"[\s(\[\"'“‘„«]")  # may precede a word
_OPENERS = "\"'“‘„«‹([*_¿¡"  # may precede the first word of a sentence
_WORD_CHARS = 24  # how many characters before and after a boundary are read; no abbreviation is longer

_NEVER_LAST = frozenset(
    """
    adm approx apr aug bldg brig bzgl bzw ca capt cf col d.h dec dept dipl dr e.g eds evtl feb fr geb gen ggf gov
    hon hr i.e inkl jan jul jun lt maj mio mr mrs ms mt nov oct prof rep rev sen sep sept sgt st str tel u.a univ
    vgl vs z.b
    """.split()
)
"""Abbreviations that never end a sentence."""

_BEFORE_NUMBERS = frozenset("art ch eq fig figs mar no nos nr op p pp sec tab vol".split())
"""Words that are abbreviations if a number follows; then they do not end a sentence."""

_SOMETIMES_LAST = frozenset("a.m al ave bros co corp est etc inc jr ltd p.m ph.d resp sr usw".split())
"""Abbreviations that end a sentence if one of :data:`_FIRST_WORDS` follows."""

_FIRST_WORDS = frozenset(
    """
    a aber after all als am an and as at auch auf because before bei both but by da danach das dass der die dies
    diese each ein eine er es every for from für he her here heute hier his how however i ich if ihr im in ist it
    its kein later man mit most my nach nein next no now nun nur ob oder on one or our she sie since so some that
    the their then there these they this those to today und uns vom von war warum was we wenn wer what when where
    while who why wie wir with wo yes you your zu zum
    """.split()
)
"""Frequent first words of English and German sentences."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, without surrounding white space.

    A full stop after an abbreviation, an initial or an item's number does not end a sentence. In doubt, two sentences
    stay together.

    >>> split_sentences('Dr. Vega paid 3.50 for tea. "Too much?" she asked. It was J. R. Smith vs. the U.S. Mint.')
    ['Dr. Vega paid 3.50 for tea.', '"Too much?" she asked.', 'It was J. R. Smith vs. the U.S. Mint.']
    >>> split_sentences("お茶が好きです。コーヒーは？いいえ！")
    ['お茶が好きです。', 'コーヒーは？', 'いいえ！']
    """
    starts = [0, *_sentence_ends(text)]
    sentences = (text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [sentence for sentence in sentences if sentence]


def _sentence_ends(text: str) -> list[int]:
    """Return the offsets at which a sentence ends and the next begins; white space belongs to the earlier sentence."""
    return [
        match.end()
        for match in _BOUNDARY.finditer(text)
        if match.end() < len(text) and (match["marks"] is None or _ends_sentence(text, match))
    ]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether the punctuation marks of a match end a sentence, by the words before and after them."""
    if match[0].count("\n") > 1:
        return True  # an empty line always ends a sentence
    following = text[match.end() : match.end() + _WORD_CHARS].lstrip(_OPENERS)
    if following[:1].islower():
        return False
    if match["marks"] != ".":
        return True
    before = text[max(0, match.start() - _WORD_CHARS) : match.start()]
    word = _BEFORE_WORD.split(before)[-1].lower()
    if word.isdecimal():
        # "1." at the start of a line numbers an item; elsewhere a number may well be a sentence's last word.
        is_item_number = not before.rpartition("\n")[2].strip(word + " \t>*-")
        return not is_item_number
    if word in _NEVER_LAST or (word in _BEFORE_NUMBERS and following[:1].isdecimal()):
        return False
    is_acronym = all(len(part) == 1 and part.isalpha() for part in word.split("."))  # "u.s", or an initial
    if word in _SOMETIMES_LAST or is_acronym:
        return re.split(r"\W", following, maxsplit=1)[0].lower() in _FIRST_WORDS
    return True


_paragraph_ends = _split_after(_EMPTY_LINES)
_item_ends = _split_after(re.compile(r"\n(?=[^\S\n]{0,3}(?:[-*+]|\d{1,9}[.)])\s)"))  # before a bullet or number
_line_ends = _split_after(re.compile(r"\n"))
_word_ends = _split_after(re.compile(r"\s++|[，、；：]"))  # white space, or a comma of a script without spaces

_SPLITTERS: dict[BlockKind, tuple[_Splitter, ...]] = {
    "heading": (_sentence_ends, _word_ends),
    "prose": (_sentence_ends, _word_ends),
    "list": (_item_ends, _paragraph_ends, _line_ends, _sentence_ends, _word_ends),
    "table": (_line_ends, _sentence_ends, _word_ends),
    "code": (_paragraph_ends, _line_ends, _word_ends),
}
"""The splitters for a block of each kind that is longer than a chunk, the coarsest first."""
