"""Tags and links in Markdown prose, and links by name in front matter and records.

Nothing is found in code, in HTML tags or in comments. No pattern can match across the character that it starts with, so
that a megabyte of brackets takes linear time.

A store resolves a link's target by id, path and file name. Titles, aliases and paths relative to the file are resolved
here, when all files of an ingest are known, so that the order of the files does not matter.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from recollect.ingest.paths import is_one_line
from recollect.model import Draft, Link, NoteName, aliases_of
from recollect.text import collapse_whitespace

SUPERSESSION_KINDS = ("supersedes", "superseded-by")
"""The kinds of links that are reported if their target is not one note: the old note would be shown as current."""

RESOLVED_KINDS = (*SUPERSESSION_KINDS, "resolved-by", "related")
"""The kinds of links whose targets are resolved by name."""

MAX_LISTED_NOTES = 5
"""How many notes of the same name a message lists."""

MAX_NAME_CHARS = 500

_BACKTICKS = re.compile(r"`+")
_HTML = re.compile(r"<!--|(?<!\]\()(?<!\]:)(?<!\]: )</?[A-Za-z][^<>]*>")
_NO_TAG = r"\s\x00-\x1f\x7f-\x9f\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
_TAG = re.compile(rf"(?<![^\s(])(?<!\]\()#([^{_NO_TAG}!-,.:-@\[-^`{{-~]+)")
_WIKILINK = re.compile(r"(?<!\\)\[\[([^\[\]\x00-\x1f\x7f-\x9f]+)\]\]")
_INLINE_LINK = re.compile(r"\]\([^\S\n]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:[^\S\n]*<?([^\s<>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class Mention(NamedTuple):
    """A tag or a link in a text."""

    start: int
    kind: str
    """``tag``, ``wikilink`` or ``link``."""
    name: str
    """The tag without ``#``; the wikilink's target as written; the link's destination as written."""


def find_mentions(text: str, start: int = 0, end: int | None = None) -> list[Mention]:
    """Return the tags and links in a paragraph, the span of ``text`` from ``start`` to ``end``, in their order.

    >>> [mention[1:] for mention in find_mentions("#tea for [[Ines|her]], `#not` this; see [more](tea.md).")]
    [('tag', 'tea'), ('wikilink', 'Ines'), ('link', 'tea.md')]
    """
    prose = _mask_code(text[start:end])
    mentions: list[Mention] = []
    if "#" in prose:
        matches = _TAG.finditer(prose)
        mentions += [Mention(start + match.start(), "tag", tag) for match in matches if (tag := _tag(match[1]))]
    if "[[" in prose:
        for match in _WIKILINK.finditer(prose):
            target = re.split(r"[|#]", match[1], maxsplit=1)[0].rstrip("\\").strip()
            if target and len(target) <= MAX_NAME_CHARS:
                mentions.append(Mention(start + match.start(), "wikilink", target))
    if "](" in prose:
        matches = _INLINE_LINK.finditer(prose)
        mentions += [Mention(start + match.start(), "link", match[1] or match[2] or "") for match in matches]
    if "]:" in prose:
        mentions += [Mention(start + match.start(), "link", match[1]) for match in _DEFINITION.finditer(prose)]
    mentions.sort()
    return mentions


def resolve_file_link(destination: str, name: str, prefix: str = "") -> Link | None:
    """Return the link from the file ``name`` to another Markdown file below the root, or ``None`` if it is not one.

    >>> resolve_file_link("../people/ines.md#birthday", "log/monday.md")
    Link(kind='link', target='people/ines.md')
    >>> resolve_file_link("https://example.org/tea.md", "log/monday.md") is None
    True
    """
    if len(destination) > MAX_NAME_CHARS or _SCHEME.match(destination):
        return None
    path = unquote(re.split(r"[#?]", destination, maxsplit=1)[0])
    if not path.lower().endswith((".md", ".markdown", ".mdx")) or not is_one_line(path):
        return None
    target = posixpath.normpath(
        path.lstrip("/") if path.startswith("/") else f"{posixpath.dirname(name)}/{path}".lstrip("/")
    )
    if target == name or target.startswith("../"):
        return None
    return Link("link", prefix + target)


def _tag(text: str) -> str:
    """Return the tag, or "" if it is only a number."""
    tag = text.strip("/")
    return tag if len(tag) <= MAX_NAME_CHARS and any(sign not in "-_/" and not sign.isdecimal() for sign in tag) else ""


def _mask_code(prose: str) -> str:
    """Return the text with a backtick, which no pattern matches, for each character of code, HTML tags and comments."""
    spans = [*_code_spans(prose), *_html_spans(prose)] if "`" in prose or "<" in prose else []
    if not spans:
        return prose
    parts: list[str] = []
    last = 0
    for start, end in sorted(spans):
        if end > last:
            parts += prose[last : max(start, last)], "`" * (end - max(start, last))
            last = end
    return "".join((*parts, prose[last:]))


def _code_spans(prose: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of code between backticks: a run is closed by the next run of the same length."""
    runs = [match.span() for match in _BACKTICKS.finditer(prose)]
    by_length: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(runs):
        by_length.setdefault(end - start, []).append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        if prose[start - 1 : start] == "\\":
            start += 1  # the first backtick is escaped
        same_length = by_length.get(end - start, [])
        closing = bisect_right(same_length, index)
        if closing < len(same_length):
            index = same_length[closing]
            yield start, runs[index][1]
        index += 1


def _html_spans(prose: str) -> Iterator[tuple[int, int]]:
    end = 0
    while match := _HTML.search(prose, end):
        end = match.end()
        if match[0] == "<!--":
            closed = prose.find("-->", end)
            end = len(prose) if closed < 0 else closed + 3
        yield match.start(), end


class NameIndex:
    """Finds notes by path, file name, title and alias; the note with the shortest path if several match.

    >>> index = NameIndex([NoteName("1", "people/shivani.md", "Shivani Rao", ("Shiv",))])
    >>> index.find("shiv", "log.md"), index.find("Shivani Rao", "log.md"), index.find("nobody", "log.md")
    ('people/shivani.md', 'people/shivani.md', None)
    """

    def __init__(self, names: Iterable[NoteName] = ()) -> None:
        self._keys: set[str] = set()
        self._files: dict[str, list[NoteName]] = {}
        self._titles: dict[str, list[NoteName]] = {}
        self._aliases: dict[str, list[NoteName]] = {}
        self.add(names)

    def add_stored(self, names: Iterable[NoteName]) -> None:
        """Index stored notes, except those of files that are indexed already, which are newer."""
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

    def find(self, target: str, file: str, own: str = "") -> str | None:
        """Return the resolved target of a link, or ``None`` if there is no such note.

        ``file`` is the path of the file with the link, ``own`` the path of its note, which is skipped: a new version
        often has the title of the old one. A target that the store can resolve itself is not changed.
        """
        if (link := self._exact(target, file, own)) is not None:
            return link
        matches = self._matches(target, own)
        if not matches:
            return None
        best = min(matches, key=_order)
        same_file = self._files.get(_file_name(target), [])
        if best in same_file:
            first = min(same_file, key=_order)
            return target if "/" not in target and first.path == best.path else best.path
        return best.path or best.id

    def find_ambiguous(self, target: str, file: str, own: str = "") -> list[str]:
        """Return the paths or ids of all notes that a target may mean, the best first; empty unless there are several.

        The chunks of a Markdown file count once. A path or an id is never ambiguous.

        >>> index = NameIndex([NoteName("1", "box.md", "Key box"), NoteName("2", "old/box-2.md", "Key box")])
        >>> index.find_ambiguous("Key box", "log.md"), index.find_ambiguous("box", "log.md")
        (['box.md', 'old/box-2.md'], [])
        """
        matches = [] if self._exact(target, file, own) is not None else sorted(self._matches(target, own), key=_order)
        paths = {name.path for name in matches}
        notes = [
            name.path or name.id for name in matches if name.path == _file(name.path) or _file(name.path) not in paths
        ]
        return notes if len(notes) > 1 else []

    def _exact(self, target: str, file: str, own: str) -> str | None:
        """Return the resolved target if it is an id, or a path below the root or relative to the file."""
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        for key, link in (
            (target, target),
            (f"{target}.md", target),
            (relative, relative),
            (f"{relative}.md", f"{relative}.md"),
        ):
            if key in self._keys and key != own:
                return link
        return None

    def _matches(self, target: str, own: str) -> list[NoteName]:
        """Return the notes with this file name, else with this title, else with this alias."""
        for names in (
            self._files.get(_file_name(target), ()),
            self._titles.get(_folded(target), ()),
            self._aliases.get(_folded(target), ()),
        ):
            if others := [name for name in names if not own or name.path != own]:
                return others
        return []


def has_links(drafts: Iterable[Draft], kinds: Collection[str]) -> bool:
    """Return whether a draft has a link of one of these kinds."""
    return any(link.kind in kinds for draft in drafts for link in draft.get("links", ()))


def resolve_links(drafts: Sequence[Draft], index: NameIndex, file: str) -> tuple[list[Draft], list[str]]:
    """Return the drafts of a file with resolved links, and messages about targets of supersessions.

    A target that is not found is not changed. Messages say that a target is not found, is ambiguous (the note with the
    shortest path is linked), or is the note itself.

    >>> index = NameIndex([NoteName("1", "drinks/coffee.md", "Coffee, black")])
    >>> links = Link("supersedes", "coffee, black"), Link("supersedes", "Milk")
    >>> (tea,), problems = resolve_links([{"content": "Tea.", "links": links}], index, "tea.md")
    >>> [link.target for link in tea["links"]], problems[0].partition(";")[0]
    (['drinks/coffee.md', 'Milk'], "supersedes: there is no note with the path, file name, title or alias 'Milk'")
    """
    resolved: list[Draft] = []
    problems: list[str] = []
    for draft in drafts:
        links: list[Link] = []
        for link in draft.get("links", ()):
            own = draft.get("path", "")
            target = index.find(link.target, file, own) if link.kind in RESOLVED_KINDS else link.target
            if link.kind in SUPERSESSION_KINDS:
                problems += _problems(link, index, file, own, is_resolved=target is not None)
            links.append(Link(link.kind, link.target if target is None else target))
        resolved.append({**draft, "links": tuple(dict.fromkeys(links))} if links else draft)
    return resolved, problems


def _problems(link: Link, index: NameIndex, file: str, own: str, *, is_resolved: bool) -> Iterator[str]:
    if not is_resolved and index.find(link.target, file) is not None:
        yield f"{link.kind}: {link.target!r} is the note itself; the link is ignored: name another note, or remove it"
    elif not is_resolved:
        yield (
            f"{link.kind}: there is no note with the path, file name, title or alias {link.target!r}; "
            "correct it, or ingest that note too"
        )
    elif matches := index.find_ambiguous(link.target, file, own):
        listed = ", ".join(map(repr, matches[:MAX_LISTED_NOTES]))
        more = f" and {len(matches) - MAX_LISTED_NOTES} more" if len(matches) > MAX_LISTED_NOTES else ""
        yield (
            f"{link.kind}: {len(matches)} notes are called {link.target!r}: {listed}{more}; "
            f"{matches[0]!r}, which has the shortest path, was taken; write the path of the one that you mean"
        )


def names_of(drafts: Iterable[Draft]) -> list[NoteName]:
    """Return the names of the notes of drafts."""
    return [
        NoteName(
            draft.get("id", ""), draft.get("path", ""), draft.get("title", ""), aliases_of(draft.get("metadata", {}))
        )
        for draft in drafts
    ]


def _file(path: str) -> str:
    """Return the path of the file that a note is part of."""
    return path.partition("#")[0]


def _file_name(target: str) -> str:
    return target.removesuffix(".md").strip("/").casefold()


def _folded(name: str) -> str:
    return collapse_whitespace(name).casefold()


def _order(name: NoteName) -> tuple[int, str]:
    return len(name.path), name.path
