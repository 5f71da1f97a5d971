"""A long text becomes chunks: pieces small enough that a model reads them whole, cut where a reader would pause.

A chunk is a span of the text, and the spans follow each other without gap, so that nothing is lost by construction.
Sections that are almost empty join their neighbours; then each group of sections is cut: between paragraphs where they
fit, else between items and lines, else between sentences, between words, and last of all inside a word. Everything is
one pass over the text, whatever it holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.ingest.sentences import sentence_ends

__all__ = ["CHUNK_SIZE", "Block", "Chunk", "chunk_blocks", "chunk_text", "text_blocks"]

CHUNK_SIZE = 1_000
"""How many characters a chunk should have. Sentence models of the MiniLM family read 256 word pieces, title included:
about 1,100 characters of English."""

TINY = 120
"""A section with fewer characters is not worth a note of its own."""

SMALLEST_SIZE = 20

_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*+\n)+")

Kind = Literal["heading", "prose", "list", "table", "code"]


class Block(NamedTuple):
    """A part of a text that is better not cut: a heading, a paragraph, a list, a table, a fenced code block.

    >>> Block(0, 6, "heading", 1, "Ines").label
    'Ines'
    """

    start: int
    """Where in the text it starts; it goes on to the start of the next."""
    end: int
    kind: Kind = "prose"
    level: int = 0
    """A heading's level, from 1."""
    label: str = ""
    """A heading's words."""


class Chunk(NamedTuple):
    """A piece of a text, with the headings above it.

    >>> Chunk("Prefers sencha.", ("Ines", "Tea"), ("Ines", "Tea"), 0, 15).headings
    ('Ines', 'Tea')
    """

    text: str
    headings: tuple[str, ...]
    """The headings that all of the chunk is under, from the outside to the inside."""
    anchor: tuple[str, ...]
    """The headings that the chunk's first words are under."""
    start: int
    """Where in the text it starts."""
    end: int


class _Section(NamedTuple):
    """What stands under a heading, up to the next heading of any level."""

    path: tuple[str, ...]
    blocks: list[Block]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end


def chunk_text(text: str, *, size: int = CHUNK_SIZE) -> list[Chunk]:
    r"""Return the chunks of a plain text: as many paragraphs, else sentences, as fit into about ``size`` characters.

    No chunk has more than 1.2 times ``size`` characters.

    >>> [chunk.text for chunk in chunk_text("Ines likes tea. Olaf does not.\n\nThe end.", size=20)]
    ['Ines likes tea.', 'Olaf does not.\n\nThe end.']
    """
    return chunk_blocks(text, text_blocks(text), size=size)


def text_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a plain text; empty lines separate them.

    >>> [block.start for block in text_blocks("Tea.")]
    [0]
    """
    starts = [0, *(found.end() for found in _EMPTY_LINES.finditer(text))]
    return [Block(start, end) for start, end in zip(starts, [*starts[1:], len(text)], strict=True) if end > start]


def chunk_blocks(text: str, blocks: Sequence[Block], *, size: int = CHUNK_SIZE) -> list[Chunk]:
    r"""Return the chunks of ``text``, whose ``blocks`` follow each other without gap.

    >>> tea = Block(0, 6, "heading", 1, "Tea"), Block(6, 13)
    >>> [(chunk.text, chunk.headings) for chunk in chunk_blocks("# Tea\nSencha.", tea)]
    [('# Tea\nSencha.', ('Tea',))]
    """
    aim = arguments.count("size", size)
    if aim < SMALLEST_SIZE:
        raise ArgumentError("size", f"must be at least {SMALLEST_SIZE}, got {aim}")
    limit = aim + aim // 5
    chunks: list[Chunk] = []
    for group in _groups(_sections(blocks), aim):
        headings = _shared([section.path for section in group])
        for start, end in _pieces(text, [block for section in group for block in section.blocks], aim, limit):
            piece = _trimmed(text[start:end])
            if piece:
                chunks.append(Chunk(piece, headings, group[0].path, start, end))
    return chunks


def _sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    """Yield the sections; a heading with nothing under it but deeper headings belongs to the first of these."""
    above: list[Block] = []
    section = _Section((), [])
    for block in blocks:
        if block.kind == "heading":
            bare = bool(section.blocks) and section.blocks[-1].kind == "heading"
            if section.blocks and not (bare and block.level > above[-1].level):
                yield section
                section = _Section((), [])
            while above and above[-1].level >= block.level:
                above.pop()
            above.append(block)
            section = _Section(tuple(each.label for each in above), section.blocks)
        section.blocks.append(block)
    if section.blocks:
        yield section


def _groups(sections: Iterable[_Section], aim: int) -> Iterator[list[_Section]]:
    """Put tiny sections together with a neighbour under the same parent."""
    tiny = min(TINY, aim // 4)
    group: list[_Section] = []
    for section in sections:
        if group:
            first, last = group[0], group[-1]
            related = section.path[:-1] == first.path[:-1] or _is_below(section, first)
            fits = section.end - first.start <= aim
            if related and fits and min(last.end - first.start, section.end - section.start) < tiny:
                group.append(section)
                continue
            yield group
        group = [section]
    if group:
        yield group


def _is_below(section: _Section, other: _Section) -> bool:
    return section.path[: len(other.path)] == other.path


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the headings with which all ``paths`` begin."""
    shared = paths[0]
    for path in paths:
        while path[: len(shared)] != shared:
            shared = shared[:-1]
    return shared


def _pieces(text: str, blocks: Sequence[Block], aim: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cut what the blocks span into pieces of at most ``limit`` characters, as even as the atoms allow."""
    start, end = blocks[0].start, blocks[-1].end
    if end - start <= limit:
        yield start, end
        return
    even = (end - start) / -(-(end - start) // aim)
    last = start
    for atom_end in _atoms(text, blocks, limit):
        if last > start and (last - start >= even or atom_end - start > limit):
            yield start, last
            start = last
        last = atom_end
    yield start, last


def _atoms(text: str, blocks: Iterable[Block], limit: int) -> Iterator[int]:
    """Yield where each atom ends: the smallest parts that pieces are made of, none longer than ``limit``.

    A heading is one atom with the beginning of what follows, so that no piece ends with a heading.
    """
    start = 0
    held = 0  # the length of headings that wait for what they announce
    for block in blocks:
        if not held:
            start = block.start
        if block.end - start <= limit:
            held = block.end - start if block.kind == "heading" else 0
            if not held:
                yield block.end
            continue
        room = limit - held
        if room < limit // 2:
            yield block.start  # the headings are so long that they can stand alone
            room = limit
        held = 0
        yield from _cut(text, block.start, block.end, _CUTS[block.kind], room)
    if held:
        yield start + held


def _cut(text: str, start: int, end: int, cuts: Sequence[Callable[[str], Iterable[int]]], limit: int) -> Iterator[int]:
    """Yield the ends of the parts of a span, cut as finely as ``limit`` asks for."""
    if end - start <= limit:
        yield end
    elif not cuts:
        yield from _slices(text, start, end, limit)
    else:
        first = start
        for part_end in (*cuts[0](text[first:end]), end - first):
            yield from _cut(text, start, first + part_end, cuts[1:], limit)
            start = first + part_end


def _slices(text: str, start: int, end: int, limit: int) -> Iterator[int]:
    """Yield cuts inside a word, if possible not between a letter and the marks on it."""
    while end - start > limit:
        cut = start + limit
        for _ in range(min(16, limit - 1)):
            if (
                not unicodedata.combining(text[cut])
                and text[cut] not in "\u200d\ufe0e\ufe0f"
                and text[cut - 1] != "\u200d"
            ):
                break
            cut -= 1
        yield cut
        start = cut
    yield end


def _ends_of(pattern: re.Pattern[str]) -> Callable[[str], Iterable[int]]:
    return lambda text: [found.end() for found in pattern.finditer(text) if found.end() < len(text)]


_PARAGRAPHS = _ends_of(_EMPTY_LINES)
_ITEMS = _ends_of(re.compile(r"\n(?=[^\S\n]{0,3}(?:[-*+]|\d{1,9}[.)])\s)"))
_LINES = _ends_of(re.compile(r"\n"))
_WORDS = _ends_of(re.compile(r"\s++|[，、；：]"))  # the commas of scripts that have no spaces

_CUTS: dict[Kind, tuple[Callable[[str], Iterable[int]], ...]] = {
    "heading": (sentence_ends, _WORDS),
    "prose": (sentence_ends, _WORDS),
    "list": (_ITEMS, _PARAGRAPHS, _LINES, sentence_ends, _WORDS),
    "table": (_LINES, sentence_ends, _WORDS),
    "code": (_PARAGRAPHS, _LINES, _WORDS),
}
"""How each kind of block is cut if it does not fit, the gentlest way first."""


def _trimmed(text: str) -> str:
    """Drop empty lines around a piece; the indentation of its first line stays, because it may mean something."""
    stripped = text.lstrip()
    indentation = text[: len(text) - len(stripped)].rpartition("\n")[2]
    return (indentation + stripped).rstrip()
