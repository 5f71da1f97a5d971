"""Markdown becomes notes: front matter, sections, tags and links."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.ingest.chunking import CHUNK_SIZE, Chunk, chunk_blocks
from recollect.ingest.frontmatter import Entry, split_front_matter
from recollect.ingest.mentions import mentions_in, resolved_link
from recollect.ingest.moments import expiry_of, moment_in_name, moment_of
from recollect.ingest.naming import Paths, is_one_line, readable, titled
from recollect.ingest.outline import outline
from recollect.ingest.plain import tidy_lines
from recollect.ingest.problems import Contents, Problem
from recollect.ingest.references import LINK_KINDS
from recollect.model import Draft, Link, draft_of
from recollect.text import collapse_whitespace

__all__ = ["read_markdown"]

_FIELD_OF = {
    "title": "title",
    "tags": "tags",
    "tag": "tags",
    "summary": "summary",
    "description": "summary",
    "created": "created_at",
    "created_at": "created_at",
    "date": "created_at",
    "updated": "updated_at",
    "updated_at": "updated_at",
    "expires": "expires_at",
    "expires_at": "expires_at",
    "importance": "importance",
}
_SAME_KIND = {"replaces": "supersedes", "replaced-by": "superseded-by"}
"""Other names of kinds of links."""
LONGEST_VALUE = 200
"""How many characters a value of the front matter may have to be part of the note's text."""
MOST_FIELDS_TEXT = 600
"""How many characters of front matter are added to the text of a note at most."""
_NOT_SEARCHED = frozenset(("cssclass", "cssclasses"))
"""Keys of the front matter that say how a page looks."""


def read_markdown(
    text: str,
    name: str,
    *,
    prefix: str = "",
    created_at: datetime | None = None,
    size: int = CHUNK_SIZE,
) -> Contents:
    r"""Return the notes of a Markdown file, a note for each section or piece of one; none if it has no text.

    ``name`` is the file's path below the root, ``prefix`` what its notes' paths begin with. ``created_at`` counts where
    neither the front matter nor the file's name holds a date. ``size`` is how long a note should be.

    >>> text = "---\ntags: people\n---\n# Ines\nLikes [[Sencha]].\n"
    >>> [note] = read_markdown(text, "people/ines.md").drafts
    >>> note["path"], note["title"], note["tags"], note["links"]
    ('people/ines.md', 'Ines', ('people',), (Link(kind='wikilink', target='Sencha'),))
    """
    text = tidy_lines(text)
    front = split_front_matter(text, name)
    said = _Said(name, front.entries)
    body = text[front.end :]
    blocks, prose = outline(body)
    chunks = chunk_blocks(body, blocks, size=size)
    if not chunks and said.fields.get("summary"):
        chunks = [Chunk("", (), (), 0, 0)]  # the summary in the front matter is the text
    lead = next((block.label for block in blocks if block.kind == "heading" and block.level == 1 and block.label), "")
    title = said.fields.pop("title", "") or lead or readable(name)
    created = said.fields.pop("created_at", None) or moment_in_name(name) or created_at
    tags, links = _mentioned(body, prose, chunks, name, prefix)
    paths = Paths(prefix + name)
    drafts = []
    for position, chunk in enumerate(chunks):
        draft: Draft = {
            **said.fields,
            "content": chunk.text if position else _with_fields(chunk.text, said.metadata),
            "path": paths.next(_below(chunk.anchor, lead)),
            "title": titled(title, _below(chunk.headings, title, lead) if position else ()),
            "tags": (*said.tags, *tags[position]),
            "created_at": created,
            "session": prefix + name,
            "position": position,
            "links": (*(said.links if not position else ()), *links[position]),
            "metadata": said.metadata,
        }
        if position:
            draft.pop("summary", None)
        drafts.append(draft_of(draft))
    return Contents(drafts, said.problems)


def _with_fields(text: str, metadata: Mapping[str, Any]) -> str:
    """Return the text of a file's first note with the fields of the front matter below it, so that they are searched.

    Numbers, short texts and lists of these are added. Each value, also of a list, has a line with its key, so that the
    search for secrets sees which key a value belongs to.
    """
    lines: list[str] = []
    for key, value in metadata.items():
        named = key.strip().lower()
        if isinstance(value, bool) or named in _NOT_SEARCHED or named.replace("-", "_") in _FIELD_OF:
            continue
        shown = (collapse_whitespace(each) for each in _strings(value))
        lines += [f"{collapse_whitespace(key)}: {each}" for each in shown if 0 < len(each) <= LONGEST_VALUE]
    ends = accumulate(len(line) + 1 for line in lines)
    fitting = [line for line, end in zip(lines, ends, strict=True) if end <= MOST_FIELDS_TEXT]
    return "\n\n".join([text, "\n".join(fitting)]) if text and fitting else text


class _Said:
    """What the front matter says, sorted into the fields of a note."""

    def __init__(self, name: str, entries: Mapping[str, Entry]) -> None:
        self.fields: dict[str, Any] = {}
        self.tags: tuple[str, ...] = ()
        self.links: tuple[Link, ...] = ()
        self.metadata: dict[str, Any] = {}
        self.problems: list[Problem] = []
        for key, (value, line) in entries.items():
            plain_key = key.strip().lower().replace("_", "-")
            field = _FIELD_OF.get(plain_key.replace("-", "_"))
            if value is None:
                continue
            kind = _SAME_KIND.get(plain_key, plain_key)
            if kind in LINK_KINDS:
                self.links += tuple(Link(kind, target) for target in _targets(value))
            elif field == "tags":
                self.tags += tuple(_tags(value))
            elif field is None:
                self.metadata[key] = value
            else:
                try:
                    # Of two keys that say the same thing, the first counts and the other is kept as metadata.
                    if field in self.fields:
                        self.metadata[key] = value
                    else:
                        self.fields[field] = _READ[field](key, value)
                except ArgumentError as error:
                    self.metadata[key] = value
                    self.problems.append(Problem(name, line, f"{error}; it is kept as metadata", skipped=False))


def _words(_: str, value: Any) -> str:
    """Return a title or summary in one line; a list of them in a row."""
    return collapse_whitespace(", ".join(_strings(value)))


def _importance(argument: str, value: Any) -> float:
    number = arguments.number(argument, value)
    if not 0 <= number <= 1:
        raise ArgumentError(argument, f"must lie between 0 and 1, got {number:g}")
    return number


_READ: dict[str, Callable[[str, Any], Any]] = {
    "title": _words,
    "summary": _words,
    "created_at": moment_of,
    "updated_at": moment_of,
    "expires_at": expiry_of,
    "importance": _importance,
}


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a value, however deep its lists are: YAML reads ``[[Ines]]`` as a list in a list."""
    if isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif value is not None and not isinstance(value, dict):
        yield str(value)


def _tags(value: Any) -> Iterator[str]:
    for written in _strings(value):
        # In a list each entry is a tag of its own, spaces and all; a text is split.
        parts = [written] if isinstance(value, list) else re.split(r"[,\s]+", written)
        for part in parts:
            tag = collapse_whitespace(part).lstrip("#").strip("/ ")
            if tag and is_one_line(tag):
                yield tag


def _targets(value: Any) -> Iterator[str]:
    for written in _strings(value):
        linked = re.findall(r"\[\[([^\[\]]+)\]\]", written) or [written]
        for target in linked:
            plain = collapse_whitespace(re.split(r"[|#]", target, maxsplit=1)[0])
            if plain and is_one_line(plain):
                yield plain


def _mentioned(
    body: str, prose: list[tuple[int, int]], chunks: list[Chunk], name: str, prefix: str
) -> tuple[list[list[str]], list[list[Link]]]:
    """Return the tags and the links that stand in each chunk."""
    tags: list[list[str]] = [[] for _ in chunks]
    links: list[list[Link]] = [[] for _ in chunks]
    starts = [chunk.start for chunk in chunks]
    for start, end in prose:
        for mention in mentions_in(body, start, end):
            place = max(0, bisect_right(starts, mention.at) - 1)
            if mention.kind == "tag":
                tags[place].append(mention.name)
            elif mention.kind == "wikilink":
                links[place].append(Link("wikilink", mention.name))
            elif link := resolved_link(mention.name, name, prefix):
                links[place].append(link)
    return tags, links


def _below(headings: tuple[str, ...], *known: str) -> tuple[str, ...]:
    """Return ``headings`` without the first if it says what is known already."""
    return headings[1:] if headings and headings[0] in known else headings
