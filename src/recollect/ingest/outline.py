"""Markdown becomes blocks: where its headings, paragraphs, lists and code are, as CommonMark defines them.

markdown-it-py finds the blocks and nothing else: what stands inside a line is not parsed, definitions of references are
paragraphs, and what is nested deeper than twenty levels is text. So every line of the source belongs to a block, and
hostile nesting costs no more than honest text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from recollect.ingest.chunking import Block, Kind
from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Outline", "outline"]

LONGEST_LABEL = 120

_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "html_block": "code",
}
_RAW_HTML = re.compile(r"\s*<(?:script|style|pre|textarea)\b", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|[`*]|~~|(?<!\w)_|_(?!\w)")


class Outline(NamedTuple):
    """The blocks of a Markdown text, and the spans of it that are prose.

    >>> outline("# Tea").prose
    [(0, 5)]
    """

    blocks: list[Block]
    """They follow each other without gap, from the first character to the last."""
    prose: list[tuple[int, int]]
    """Where tags and links may be: each span is part of one paragraph, and none of code."""


def outline(text: str) -> Outline:
    r"""Return the outline of a Markdown text whose lines end with ``\n``.

    >>> found = outline("# *Green* tea\n\n```\n# no heading\n```\n")
    >>> [(block.kind, block.level, block.label) for block in found.blocks]
    [('heading', 1, 'Green tea'), ('code', 0, '')]
    """
    if not text:
        return Outline([], [])
    tokens = [token for token in _parser().parse(text) if token.map]
    line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    line_starts[-1] = len(text)
    return Outline(_blocks(text, tokens, line_starts), _prose(tokens, line_starts))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (only who reads Markdown pays for it)

    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"])


def _blocks(text: str, tokens: list[Token], line_starts: list[int]) -> list[Block]:
    found: list[Block] = []
    for place, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        start = line_starts[token.map[0]] if found else 0  # what stands before the first block belongs to it
        if found:
            found[-1] = found[-1]._replace(end=start)
        kind = _KINDS.get(token.type, "prose")
        if kind == "prose" and text.startswith("|", line_starts[token.map[0]]):
            kind = "table"  # CommonMark knows no tables; here it only matters that rows are not torn
        level, label = 0, ""
        if kind == "heading":
            level, label = int(token.tag[1:]), _label(tokens[place + 1].content)
        found.append(Block(start, line_starts[-1], kind, level, label))
    return found or [Block(0, line_starts[-1])]


def _prose(tokens: list[Token], line_starts: list[int]) -> list[tuple[int, int]]:
    """Return the spans between the starts of blocks of any depth, without those that are code.

    They are read off the lines and not off the tokens of text, so that what is nested too deep to have such a token is
    prose too.
    """
    borders = {0, len(line_starts) - 1}
    code: set[int] = set()
    for token in tokens:
        first, behind = token.map or (0, 0)
        borders.update((first, behind))
        if token.type in ("fence", "code_block") or (token.type == "html_block" and _RAW_HTML.match(token.content)):
            code.add(first)
    return [
        (line_starts[first], line_starts[behind]) for first, behind in pairwise(sorted(borders)) if first not in code
    ]


def _label(content: str) -> str:
    """Return the words of a heading without its markup."""
    words = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", content[: 4 * LONGEST_LABEL]))
    words = collapse_whitespace(_MARKUP.sub(r"\1", words))
    return words if len(words) <= LONGEST_LABEL else words[: LONGEST_LABEL - 1].rstrip() + "…"
