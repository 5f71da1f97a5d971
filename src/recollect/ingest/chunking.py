"""Split a long text into chunks that a model reads as a whole, and a paragraph into sentences.

Chunks are spans of the text without gaps, so that no text is lost. Very short sections join their neighbours; then each
group of sections is split: between paragraphs where they fit, else between items and lines, else between sentences,
between words, and at last inside a word. All of it takes time linear in the length of the text.

Both splitters are written by hand. Those of libraries (LangChain, LlamaIndex, semantic-text-splitter) lose the headings
or the spans that note paths and links need, and sentence models (spaCy, NLTK) cost hundreds of megabytes or a download.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError

CHUNK_SIZE = 1_000
"""The target length of a chunk in characters. Models of the MiniLM family read 256 tokens, title included: about 1,100
characters of English."""

MIN_SECTION_CHARS = 120  # a shorter section joins a neighbour
MIN_CHUNK_SIZE = 20

_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*+\n)+")

_Splitter = Callable[[str], Iterable[int]]
"""Returns the offsets at which a text can be split."""

BlockKind = Literal["heading", "prose", "list", "table", "code"]


class Block(NamedTuple):
    """A part of a text that is split only if it has to be: a heading, paragraph, list, table or code block."""

    start: int
    end: int
    """Where the next block starts."""
    kind: BlockKind = "prose"
    level: int = 0
    """A heading's level, from 1."""
    label: str = ""
    """The text of a heading."""


class Chunk(NamedTuple):
    """A part of a text, with the headings above it.

    >>> Chunk("Prefers sencha.", ("Ines", "Tea"), ("Ines", "Tea"), 0, 15).headings
    ('Ines', 'Tea')
    """

    text: str
    headings: tuple[str, ...]
    """The headings that the whole chunk is under, outermost first."""
    anchor: tuple[str, ...]
    """The headings that the beginning of the chunk is under."""
    start: int
    end: int


class _Section(NamedTuple):
    """A heading and what follows it, up to the next heading of any level."""

    path: tuple[str, ...]
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
    """Return the chunks of ``text``, whose ``blocks`` cover it without gaps."""
    target = arguments.count("size", size)
    if target < MIN_CHUNK_SIZE:
        raise ArgumentError("size", f"must be at least {MIN_CHUNK_SIZE}, got {target}")
    limit = target + target // 5
    chunks: list[Chunk] = []
    for group in _groups(_sections(blocks), target):
        headings = group[0].path
        while any(section.path[: len(headings)] != headings for section in group):
            headings = headings[:-1]
        for start, end in _spans(text, [block for section in group for block in section.blocks], target, limit):
            if trimmed := _trim_empty_lines(text[start:end]):
                chunks.append(Chunk(trimmed, headings, group[0].path, start, end))
    return chunks


def _sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    """Yield the sections; a heading that is followed directly by a deeper one is part of the deeper one's section."""
    above: list[Block] = []
    section = _Section((), [])
    for block in blocks:
        if block.kind == "heading":
            is_bare = bool(section.blocks) and section.blocks[-1].kind == "heading"
            if section.blocks and not (is_bare and block.level > above[-1].level):
                yield section
                section = _Section((), [])
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            section = _Section(tuple(heading.label for heading in above), section.blocks)
        section.blocks.append(block)
    if section.blocks:
        yield section


def _groups(sections: Iterable[_Section], target: int) -> Iterator[list[_Section]]:
    """Group short sections with a neighbour under the same parent."""
    short = min(MIN_SECTION_CHARS, target // 4)
    group: list[_Section] = []
    for section in sections:
        if group:
            first = group[0].path
            group_start, start, end = group[0].blocks[0].start, section.blocks[0].start, section.blocks[-1].end
            related = section.path[: len(first)] == first or section.path[:-1] == first[:-1]
            if related and end - group_start <= target and min(start - group_start, end - start) < short:
                group.append(section)
                continue
            yield group
        group = [section]
    if group:
        yield group


def _spans(text: str, blocks: Sequence[Block], target: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most ``limit`` characters that cover the blocks, as even as their :func:`_atoms` allow."""
    start, end = blocks[0].start, blocks[-1].end
    if end - start <= limit:
        yield start, end
        return
    even_length = (end - start) / -(-(end - start) // target)
    last = start
    for atom_end in _atoms(text, blocks, limit):
        if last > start and (last - start >= even_length or atom_end - start > limit):
            yield start, last
            start = last
        last = atom_end
    yield start, last


def _atoms(text: str, blocks: Iterable[Block], limit: int) -> Iterator[int]:
    """Yield the end of each atom: the smallest parts that chunks consist of, none longer than ``limit``.

    A heading is one atom with the beginning of what follows, so that no chunk ends with a heading.
    """
    start = 0
    pending = 0  # the length of headings that belong to the next atom
    for block in blocks:
        if not pending:
            start = block.start
        if block.end - start <= limit:
            pending = block.end - start if block.kind == "heading" else 0
            if not pending:
                yield block.end
            continue
        available = limit - pending
        if available < limit // 2:
            yield block.start  # the headings are long enough for an atom of their own
            available = limit
        pending = 0
        yield from _split(text, block.start, block.end, _SPLITTERS[block.kind], available)
    if pending:
        yield start + pending


def _split(text: str, start: int, end: int, splitters: Sequence[_Splitter], limit: int) -> Iterator[int]:
    """Yield the ends of the parts of a span, split only as finely as ``limit`` requires."""
    if end - start <= limit:
        yield end
    elif not splitters:
        yield from _slices(text, start, end, limit)
    else:
        first = start
        for part_end in (*splitters[0](text[first:end]), end - first):
            yield from _split(text, start, first + part_end, splitters[1:], limit)
            start = first + part_end


def _slices(text: str, start: int, end: int, limit: int) -> Iterator[int]:
    """Yield ends inside a word, if possible not between a letter and its combining marks."""
    while end - start > limit:
        cut = start + limit
        for _ in range(min(16, limit - 1)):
            is_mark = unicodedata.combining(text[cut]) or text[cut] in "\u200d\ufe0e\ufe0f"
            if not is_mark and text[cut - 1] != "\u200d":
                break
            cut -= 1
        yield cut
        start = cut
    yield end


def _ends_of(pattern: re.Pattern[str]) -> _Splitter:
    return lambda text: [match.end() for match in pattern.finditer(text) if match.end() < len(text)]


def _trim_empty_lines(text: str) -> str:
    """Remove empty lines around a chunk, but not the indentation of its first line, which may be significant."""
    stripped = text.lstrip()
    indentation = text[: len(text) - len(stripped)].rpartition("\n")[2]
    return (indentation + stripped).rstrip()


_CLOSERS = "\"'”’»›)\\]*_"
_BOUNDARY = re.compile(
    rf"(?<![.!?…])(?P<marks>[.!?…]++)[{_CLOSERS}]*+(?=\s)\s*+"  # possessive: linear time
    r"|(?<![。！？｡])[。！？｡]++[」』”’）】〕》]*+\s*+"
    r"|\n[^\S\n]*\n\s*+"
)
_WORD_START = re.compile(r"[\s(\[\"'“‘„«]")
_OPENERS = "\"'“‘„«‹([*_¿¡"

_NEVER_LAST = frozenset(
    """
    adm approx apr aug bldg brig bzgl bzw ca capt cf col d.h dec dept dipl dr e.g eds evtl feb fr geb gen ggf gov
    hon hr i.e inkl jan jul jun lt maj mio mr mrs ms mt nov oct prof rep rev sen sep sept sgt st str tel u.a univ
    vgl vs z.b
    """.split()
)
"""Abbreviations that never end a sentence."""

_BEFORE_NUMBERS = frozenset("art ch eq fig figs mar no nos nr op p pp sec tab vol".split())
"""Abbreviations if a number follows, otherwise words."""

_SOMETIMES_LAST = frozenset("a.m al ave bros co corp est etc inc jr ltd p.m ph.d resp sr usw".split())
"""Abbreviations that end a sentence if one of the usual first words follows."""

_FIRST_WORDS = frozenset(
    """
    a aber after all als am an and as at auch auf because before bei both but by da danach das dass der die dies
    diese each ein eine er es every for from für he her here heute hier his how however i ich if ihr im in ist it
    its kein later man mit most my nach nein next no now nun nur ob oder on one or our she sie since so some that
    the their then there these they this those to today und uns vom von war warum was we wenn wer what when where
    while who why wie wir with wo yes you your zu zum
    """.split()
)


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
    """Return the offsets at which a sentence ends and the next begins; white space belongs to the one before it."""
    return [
        match.end()
        for match in _BOUNDARY.finditer(text)
        if match.end() < len(text) and (match["marks"] is None or _ends_sentence(text, match))
    ]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Return whether punctuation marks end a sentence, judged by the words before and after them."""
    if match[0].count("\n") > 1:
        return True  # an empty line always ends a sentence
    following = text[match.end() : match.end() + 24].lstrip(_OPENERS)
    if following[:1].islower():
        return False
    if match["marks"] != ".":
        return True
    before = text[max(0, match.start() - 24) : match.start()]
    word = _WORD_START.split(before)[-1].lower()
    if word.isdecimal():
        # "1." at the start of a line numbers an item; elsewhere a number may well be a sentence's last word.
        return bool(before.rpartition("\n")[2].strip(word + " \t>*-"))
    if word in _NEVER_LAST or (word in _BEFORE_NUMBERS and following[:1].isdecimal()):
        return False
    is_acronym = all(len(part) == 1 and part.isalpha() for part in word.split("."))  # "u.s", or an initial
    if word in _SOMETIMES_LAST or is_acronym:
        return re.split(r"\W", following, maxsplit=1)[0].lower() in _FIRST_WORDS
    return True


_PARAGRAPHS = _ends_of(_EMPTY_LINES)
_ITEMS = _ends_of(re.compile(r"\n(?=[^\S\n]{0,3}(?:[-*+]|\d{1,9}[.)])\s)"))
_LINES = _ends_of(re.compile(r"\n"))
_WORDS = _ends_of(re.compile(r"\s++|[，、；：]"))  # the commas of scripts that have no spaces

_SPLITTERS: dict[BlockKind, tuple[_Splitter, ...]] = {
    "heading": (_sentence_ends, _WORDS),
    "prose": (_sentence_ends, _WORDS),
    "list": (_ITEMS, _PARAGRAPHS, _LINES, _sentence_ends, _WORDS),
    "table": (_LINES, _sentence_ends, _WORDS),
    "code": (_PARAGRAPHS, _LINES, _WORDS),
}
"""How a block of each kind is split if it is too long, the coarsest way first."""
