"""The reader of Markdown files: front matter, sections, tags and links.

markdown-it-py finds the blocks that CommonMark defines. Its inline parsing is off. It reads reference definitions as
paragraphs, and it reads blocks nested deeper than twenty levels as text. So every line of the source belongs to a
block, and hostile nesting takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from recollect.ingest.chunking import Block, BlockKind, Chunk, chunk_blocks
from recollect.ingest.dates import date_in_name
from recollect.ingest.front_matter import FIELD_OF_KEY, parse_front_matter, strings_in
from recollect.ingest.links import find_tags_and_links, resolve_file_link
from recollect.ingest.paths import NotePaths, file_title, note_title
from recollect.ingest.source import MAX_TEXT_BYTES, Contents, Source, text_reader
from recollect.model import Draft, Link, draft_of
from recollect.text import collapse_whitespace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_VALUE_CHARS = 200  # the maximum length of a value of the front matter that is added to the text of the note
MAX_FIELDS_CHARS = 600  # the maximum number of characters of front matter that are added to the text of a note
MAX_LABEL_CHARS = 120  # the maximum length of the text of a heading; longer texts are truncated

_LAYOUT_KEYS = frozenset(("cssclass", "cssclasses"))
"""Keys of the front matter that concern the layout of a page: their values are not added to the text."""

_BLOCK_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "html_block": "code",
}
_RAW_HTML = re.compile(r"\s*<(?:script|style|pre|textarea)\b", re.IGNORECASE)  # elements with text that is not prose
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")  # [text](destination) or [text][label]
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")  # [[text]] or [[target|text]]
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|[`*]|~~|(?<!\w)_|_(?!\w)")  # escaped characters, emphasis, code


def parse_markdown(text: str, source: Source) -> Contents:
    """Return the notes of a Markdown file, one for each chunk (:func:`chunk_blocks`); none if the file has no text."""
    front = parse_front_matter(text, source.name)
    body = text[front.end :]
    blocks, prose = outline(body)
    chunks = chunk_blocks(body, blocks)
    if not chunks and front.fields.get("summary"):
        chunks = [Chunk("", (), (), 0, 0)]  # the summary in the front matter is the text
    top_heading = next((block.label for block in blocks if block.level == 1 and block.label), "")
    title = front.fields.pop("title", "") or top_heading or file_title(source.name)
    created_at = front.fields.pop("created_at", None) or date_in_name(source.name) or source.created_at
    tags, links = _tags_and_links_by_chunk(body, prose, chunks, source)
    paths = NotePaths(source.path)
    drafts = []
    for position, chunk in enumerate(chunks):
        draft: Draft = {
            **front.fields,
            "content": chunk.text if position else _with_metadata(chunk.text, front.metadata),
            "path": paths.next(_without_first(chunk.anchor, top_heading)),
            "title": note_title(title, _without_first(chunk.headings, title, top_heading) if position else ()),
            "tags": (*front.tags, *tags[position]),
            "created_at": created_at,
            "session": source.path,
            "position": position,
            "links": (*(() if position else front.links), *links[position]),  # front.links: first note only
            "metadata": front.metadata,
        }
        if position:  # only the first note has the summary
            draft.pop("summary", None)
        drafts.append(draft_of(draft))
    return Contents(drafts, front.problems)


MARKDOWN_READER = text_reader(
    parse_markdown,
    max_bytes=MAX_TEXT_BYTES,
    if_empty="it has front matter and no text; write something below the front matter",
)


def _with_metadata(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the text of a file's first note with its metadata below, so that searches match the metadata.

    Numbers, short texts and lists of these are added. Each value has a line with its key, so that the detection of
    secrets sees the key of each value.
    """
    lines: list[str] = []
    for key, value in metadata.items():
        plain_key = key.strip().lower()
        if isinstance(value, bool) or plain_key in _LAYOUT_KEYS or plain_key.replace("-", "_") in FIELD_OF_KEY:
            continue
        values = (collapse_whitespace(item) for item in strings_in(value))
        lines += [f"{collapse_whitespace(key)}: {item}" for item in values if 0 < len(item) <= MAX_VALUE_CHARS]
    ends = accumulate(len(line) + 1 for line in lines)
    fitting = [line for line, end in zip(lines, ends, strict=True) if end <= MAX_FIELDS_CHARS]
    return "\n\n".join([text, "\n".join(fitting)]) if text and fitting else text


def _tags_and_links_by_chunk(
    body: str, prose: list[tuple[int, int]], chunks: list[Chunk], source: Source
) -> tuple[list[list[str]], list[list[Link]]]:
    """Return the tags of each chunk, and the links of each chunk; ``prose`` has the spans to search."""
    tags: list[list[str]] = [[] for _ in chunks]
    links: list[list[Link]] = [[] for _ in chunks]
    starts = [chunk.start for chunk in chunks]
    for start, end in prose:
        for reference in find_tags_and_links(body, start, end):
            index = max(0, bisect_right(starts, reference.start) - 1)
            if reference.kind == "tag":
                tags[index].append(reference.name)
            elif reference.kind == "wikilink":
                links[index].append(Link("wikilink", reference.name))
            elif link := resolve_file_link(reference.name, source.name, source.prefix):
                links[index].append(link)
    return tags, links


def _without_first(headings: tuple[str, ...], *titles: str) -> tuple[str, ...]:
    """Return ``headings`` without the first one if it is one of ``titles``."""
    return headings[1:] if headings and headings[0] in titles else headings


def outline(text: str) -> tuple[list[Block], list[tuple[int, int]]]:
    r"""Return the blocks of a Markdown text, which cover it without gaps, and the spans (start, end) of its prose.

    Tags and links are recognised in prose only: each span is within one paragraph and has no code block. The lines of
    the text end with ``\n``.
    """
    if not text:
        return [], []
    tokens = [token for token in _parser().parse(text) if token.map]
    line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    line_starts[-1] = len(text)  # not + 1: the last line has no line end
    return _blocks(text, tokens, line_starts), _prose(tokens, line_starts)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (heavy)

    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"])


def _blocks(text: str, tokens: list[Token], line_starts: list[int]) -> list[Block]:
    """Return the outermost blocks of a text; each reaches to the start of the next."""
    blocks: list[Block] = []
    for index, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        start = line_starts[token.map[0]] if blocks else 0  # the first block includes what is above it
        if blocks:
            blocks[-1] = blocks[-1]._replace(end=start)
        kind = _BLOCK_KINDS.get(token.type, "prose")
        if kind == "prose" and text.startswith("|", line_starts[token.map[0]]):
            kind = "table"  # CommonMark has no tables and reads them as paragraphs; rows must not be split
        level, label = 0, ""
        if kind == "heading":
            level, label = int(token.tag[1:]), _label(tokens[index + 1].content)
        blocks.append(Block(start, line_starts[-1], kind, level, label))
    return blocks or [Block(0, line_starts[-1])]


def _prose(tokens: list[Token], line_starts: list[int]) -> list[tuple[int, int]]:
    """Return the spans of text between the boundaries of blocks, also of nested blocks, except code.

    The spans are computed from line numbers, not from inline tokens, because too deeply nested text has no tokens.
    """
    boundaries = {0, len(line_starts) - 1}  # as line numbers
    code: set[int] = set()  # the numbers of the first lines of code blocks
    for token in tokens:
        first, end = token.map or (0, 0)
        boundaries.update((first, end))
        if token.type in ("fence", "code_block") or (token.type == "html_block" and _RAW_HTML.match(token.content)):
            code.add(first)
    return [(line_starts[first], line_starts[end]) for first, end in pairwise(sorted(boundaries)) if first not in code]


def _label(content: str) -> str:
    """Return the text of a heading without its markup."""
    text = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", content[: 4 * MAX_LABEL_CHARS]))
    text = collapse_whitespace(_MARKUP.sub(r"\1", text))
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1].rstrip() + "…"
