"""Find tags and links in Markdown prose, and resolve the targets of links in front matter and records.

Tags and links in code, HTML tags and comments are ignored. The repeated part of each pattern excludes a character with
which the pattern begins, so that a megabyte of brackets takes linear time.

A store resolves the target of a link by id, path and file name. This module resolves titles, aliases and paths
relative to the file, when all files of an ingest are known, so that the order of the files does not matter.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

from recollect.ingest.paths import is_one_line
from recollect.model import Draft, Link, NoteName, aliases_of
from recollect.text import collapse_whitespace

SUPERSESSION_KINDS = ("supersedes", "superseded-by")
"""Kinds of links whose missing or ambiguous targets are reported, because the old note would still count as current."""

RESOLVED_KINDS = (*SUPERSESSION_KINDS, "resolved-by", "related")
"""The kinds of links whose targets this module resolves."""

MAX_LISTED_NOTES = 5  # how many notes a message about notes of the same name lists
MAX_NAME_CHARS = 500  # the maximum length of a tag, or of the target of a link

_BACKTICKS = re.compile(r"`+")
# The start of a comment, or a tag; but not a link's destination in angle brackets: ](<…> or ]: <…>
_HTML = re.compile(r"<!--|(?<!\]\()(?<!\]:)(?<!\]: )</?[A-Za-z][^<>]*>")
# Characters that end a tag: white space, control characters and punctuation. _TAG has the ASCII punctuation.
_NOT_IN_TAG = r"\s\x00-\x1f\x7f-\x9f\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
# A tag begins at the start of a word or after a parenthesis, but not in the destination of a link.
_TAG = re.compile(rf"(?<![^\s(])(?<!\]\()#([^{_NOT_IN_TAG}!-,.:-@\[-^`{{-~]+)")
_WIKILINK = re.compile(r"(?<!\\)\[\[([^\[\]\x00-\x1f\x7f-\x9f]+)\]\]")  # [[target]], unless escaped
# The destination of [text](<destination>) or [text](destination), which may contain pairs of parentheses.
_INLINE_LINK = re.compile(r"\]\([^\S\n]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:[^\S\n]*<?([^\s<>]+)", re.MULTILINE)  # [label]: destination
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")  # the beginning of a URL


class TagOrLink(NamedTuple):
    """A tag or link in a text; ``name`` is the tag without ``#``, the target of the wikilink, or the destination."""

    start: int
    kind: Literal["tag", "wikilink", "link"]
    name: str


def find_tags_and_links(text: str, start: int = 0, end: int | None = None) -> list[TagOrLink]:
    """Return the tags and links of one paragraph, ``text`` from ``start`` to ``end``, sorted by position."""
    prose = _mask_code(text[start:end])
    references: list[TagOrLink] = []
    if "#" in prose:
        tags = [(match.start(), match[1].strip("/")) for match in _TAG.finditer(prose)]
        references += [TagOrLink(start + offset, "tag", tag) for offset, tag in tags if _is_tag(tag)]
    if "[[" in prose:
        for match in _WIKILINK.finditer(prose):
            target = re.split(r"[|#]", match[1], maxsplit=1)[0].rstrip("\\").strip()
            if target and len(target) <= MAX_NAME_CHARS:
                references.append(TagOrLink(start + match.start(), "wikilink", target))
    if "](" in prose:
        matches = _INLINE_LINK.finditer(prose)
        references += [TagOrLink(start + match.start(), "link", match[1] or match[2] or "") for match in matches]
    if "]:" in prose:
        references += [TagOrLink(start + match.start(), "link", match[1]) for match in _DEFINITION.finditer(prose)]
    references.sort()
    return references


def resolve_file_link(destination: str, name: str, prefix: str = "") -> Link | None:
    """Return the link for a destination in the file ``name``.

    Return ``None`` if the destination is not another Markdown file below the root of the ingest. The target of the link
    is the path of that file's note: ``prefix`` and the file's path below the root.
    """
    if len(destination) > MAX_NAME_CHARS or _SCHEME.match(destination):
        return None
    path = unquote(re.split(r"[#?]", destination, maxsplit=1)[0])
    if not path.lower().endswith((".md", ".markdown", ".mdx")) or not is_one_line(path):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).lstrip("/")
    if target == name or target.startswith("../"):
        return None
    return Link("link", prefix + target)


def _is_tag(text: str) -> bool:
    """Return whether a text is a tag and not only a number, such as ``#12``."""
    return len(text) <= MAX_NAME_CHARS and any(char not in "-_/" and not char.isdecimal() for char in text)


def _mask_code(prose: str) -> str:
    """Replace each character of code, HTML tags and comments by a backtick, with which no tag or link begins."""
    if "`" not in prose and "<" not in prose:
        return prose
    characters = list(prose)
    for start, end in (*_code_spans(prose), *_html_spans(prose)):
        characters[start:end] = "`" * (end - start)
    return "".join(characters)


def _code_spans(prose: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of code: a run of backticks opens code, and the next run of the same length closes it."""
    runs = [match.span() for match in _BACKTICKS.finditer(prose)]
    runs_by_length: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(runs):
        runs_by_length.setdefault(end - start, []).append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        if prose[start - 1 : start] == "\\":
            start += 1  # the first backtick is escaped
        same_length = runs_by_length.get(end - start, [])
        closing = bisect_right(same_length, index)
        if closing < len(same_length):
            index = same_length[closing]
            yield start, runs[index][1]
        index += 1


def _html_spans(prose: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of HTML tags and comments; a comment that is not closed ends with the text."""
    end = 0
    while match := _HTML.search(prose, end):
        end = match.end()
        if match[0] == "<!--":
            closing = prose.find("-->", end)
            end = len(prose) if closing < 0 else closing + 3
        yield match.start(), end


class LinkResolver:
    """Resolves link targets by path, file name, title or alias; of several notes, that with the shortest path wins."""

    def __init__(self, names: Iterable[NoteName] = ()) -> None:
        self._keys: set[str] = set()  # the ids and paths of all notes
        self._files: dict[str, list[NoteName]] = {}  # notes by case-folded ends of paths: a/b.md by "b" and "a/b"
        self._titles: dict[str, list[NoteName]] = {}
        self._aliases: dict[str, list[NoteName]] = {}
        self.add(names)

    def add_drafts(self, drafts: Iterable[Draft]) -> None:
        """Index the notes of drafts."""
        for draft in drafts:
            aliases = aliases_of(draft.get("metadata", {}))
            self.add([NoteName(draft.get("id", ""), draft.get("path", ""), draft.get("title", ""), aliases)])

    def add_stored(self, names: Iterable[NoteName]) -> None:
        """Index stored notes, except notes of files that are indexed already: their drafts are newer."""
        files = {_file(key) for key in self._keys}
        self.add(name for name in names if not name.path or _file(name.path) not in files)

    def add(self, names: Iterable[NoteName]) -> None:
        """Index more notes."""
        for name in names:
            self._keys.update({name.id, name.path} - {""})
            if name.path and "#" not in name.path:
                parts = name.path.removesuffix(".md").split("/")
                for start in range(len(parts)):
                    self._files.setdefault("/".join(parts[start:]).casefold(), []).append(name)
            if name.title:
                self._titles.setdefault(_folded(name.title), []).append(name)
            for alias in name.aliases:
                self._aliases.setdefault(_folded(alias), []).append(name)

    def resolve(self, target: str, file: str, own: str = "") -> tuple[str | None, list[str]]:
        """Return the resolved target of a link, and the paths or ids of all notes with the name ``target``, best first.

        ``file`` is the path of the file with the link. ``own`` is the path of the note with the link; it is skipped,
        because a new version of a note often has the same title. The resolved target is ``None`` if no note has the
        name. ``target`` is returned if the store resolves it to this note. The list is empty if ``target`` is a
        path or an id. The chunks of a file are listed as one note.
        """
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        for path in (target, relative):
            for key in (path, f"{path}.md"):
                if key in self._keys and key != own:
                    return target if path == target else key, []
        with_file_name = self._files.get(target.removesuffix(".md").strip("/").casefold(), [])
        for names in (with_file_name, self._titles.get(_folded(target), []), self._aliases.get(_folded(target), [])):
            names.sort(key=lambda name: (len(name.path), name.path))
            matches = [name for name in names if not own or name.path != own]
            if matches:
                break
        else:
            return None, []
        paths = {name.path for name in matches}
        notes = [
            name.path or name.id for name in matches if name.path == _file(name.path) or _file(name.path) not in paths
        ]
        # The store also chooses the shortest path among notes with this file name, but it does not skip ``own``.
        store_resolves = names is with_file_name and "/" not in target and names[0].path == notes[0]
        return target if store_resolves else notes[0], notes


def has_links(drafts: Iterable[Draft], kinds: Collection[str]) -> bool:
    """Return whether a draft has a link of one of these kinds."""
    return any(link.kind in kinds for draft in drafts for link in draft.get("links", ()))


def resolve_links(drafts: Sequence[Draft], resolver: LinkResolver, file: str) -> tuple[list[Draft], list[str]]:
    """Return the drafts of a file with resolved links, and messages about links of :data:`SUPERSESSION_KINDS`.

    A target that is not found stays as it is. A message says that a target is not found, is ambiguous (the note with
    the shortest path is linked), or is the note itself.
    """
    resolved: list[Draft] = []
    messages: list[str] = []
    for draft in drafts:
        links: list[Link] = []
        for kind, name in draft.get("links", ()):
            if kind not in RESOLVED_KINDS:
                links.append(Link(kind, name))
                continue
            target, notes = resolver.resolve(name, file, draft.get("path", ""))
            links.append(Link(kind, name if target is None else target))
            if kind not in SUPERSESSION_KINDS:
                continue
            if target is None and resolver.resolve(name, file)[0] is not None:
                problem = f"{name!r} is the note itself; the link is ignored: name another note, or remove it"
                messages.append(f"{kind}: {problem}")
            elif target is None:
                problem = f"there is no note with the path, file name, title or alias {name!r}"
                messages.append(f"{kind}: {problem}; correct it, or ingest that note too")
            elif len(notes) > 1:
                listed = ", ".join(map(repr, notes[:MAX_LISTED_NOTES]))
                more = f" and {len(notes) - MAX_LISTED_NOTES} more" if len(notes) > MAX_LISTED_NOTES else ""
                messages.append(
                    f"{kind}: {len(notes)} notes are called {name!r}: {listed}{more}; {notes[0]!r}, which has the "
                    "shortest path, was taken; write the path of the one that you mean"
                )
        resolved.append({**draft, "links": tuple(dict.fromkeys(links))} if links else draft)
    return resolved, messages


def _file(path: str) -> str:
    """Return the path of the file of a note, given the path of the note."""
    return path.partition("#")[0]


def _folded(name: str) -> str:
    return collapse_whitespace(name).casefold()
