"""What prose mentions: ``#tags``, ``[[wikilinks]]`` and links to other Markdown files.

Nothing is found in code, in HTML tags or in comments. Every pattern starts at a character that it cannot run over, so
that a megabyte of brackets takes no longer than a megabyte of words.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from recollect.ingest.naming import is_one_line
from recollect.model import Link

__all__ = ["Mention", "mentions_in", "resolved_link"]

LONGEST_NAME = 500

_BACKTICKS = re.compile(r"`+")
_HTML = re.compile(r"<!--|(?<!\]\()(?<!\]:)(?<!\]: )</?[A-Za-z][^<>]*>")
_NO_TAG = r"\s\x00-\x1f\x7f-\x9f\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
_TAG = re.compile(rf"(?<![^\s(])(?<!\]\()#([^{_NO_TAG}!-,.:-@\[-^`{{-~]+)")
_WIKILINK = re.compile(r"(?<!\\)\[\[([^\[\]\x00-\x1f\x7f-\x9f]+)\]\]")
_INLINE_LINK = re.compile(r"\]\([^\S\n]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))")
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:[^\S\n]*<?([^\s<>]+)", re.MULTILINE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


class Mention(NamedTuple):
    """A tag or a link, and where in the text it stands.

    >>> Mention(3, "tag", "tea").name
    'tea'
    """

    at: int
    kind: str
    """``tag``, ``wikilink`` or ``link``."""
    name: str
    """The tag without ``#``; the wikilink's target as written; the link's destination as written."""


def mentions_in(text: str, start: int = 0, end: int | None = None) -> list[Mention]:
    """Return what a paragraph, the span of ``text`` from ``start`` to ``end``, mentions, in its order.

    >>> [mention[1:] for mention in mentions_in("#tea for [[Ines|her]], `#not` this; see [more](tea.md).")]
    [('tag', 'tea'), ('wikilink', 'Ines'), ('link', 'tea.md')]
    """
    prose = _masked(text[start:end])
    found: list[Mention] = []
    if "#" in prose:
        found.extend(
            Mention(start + each.start(), "tag", tag) for each in _TAG.finditer(prose) if (tag := _tag(each[1]))
        )
    if "[[" in prose:
        for each in _WIKILINK.finditer(prose):
            target = re.split(r"[|#]", each[1], maxsplit=1)[0].rstrip("\\").strip()
            if target and len(target) <= LONGEST_NAME:
                found.append(Mention(start + each.start(), "wikilink", target))
    if "](" in prose:
        links = _INLINE_LINK.finditer(prose)
        found.extend(Mention(start + each.start(), "link", each[1] or each[2] or "") for each in links)
    if "]:" in prose:
        found.extend(Mention(start + each.start(), "link", each[1]) for each in _DEFINITION.finditer(prose))
    found.sort()
    return found


def resolved_link(destination: str, name: str, prefix: str = "") -> Link | None:
    """Return the link from the file ``name`` to another Markdown file, or ``None`` if that is not where it leads.

    Both paths are relative to the root; what lies outside it cannot be linked to.

    >>> resolved_link("../people/ines.md#birthday", "log/monday.md")
    Link(kind='link', target='people/ines.md')
    >>> resolved_link("https://example.org/tea.md", "log/monday.md") is None
    True
    """
    if len(destination) > LONGEST_NAME or _SCHEME.match(destination):
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


def _tag(written: str) -> str:
    """Return the tag, or nothing if it is a mere number."""
    tag = written.strip("/")
    return tag if len(tag) <= LONGEST_NAME and any(sign not in "-_/" and not sign.isdecimal() for sign in tag) else ""


def _masked(prose: str) -> str:
    """Return the text with a backtick for every character of code, HTML tags and comments: no pattern runs over one."""
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
    """Find the code between backticks: a run is closed by the next run of the same length."""
    runs = [found.span() for found in _BACKTICKS.finditer(prose)]
    places: dict[int, list[int]] = {}
    for place, (start, end) in enumerate(runs):
        places.setdefault(end - start, []).append(place)
    place = 0
    while place < len(runs):
        start, end = runs[place]
        if prose[start - 1 : start] == "\\":
            start += 1  # the first backtick is escaped and opens nothing
        same = places.get(end - start, [])
        closing = bisect_right(same, place)
        if closing < len(same):
            place = same[closing]
            yield start, runs[place][1]
        place += 1


def _html_spans(prose: str) -> Iterator[tuple[int, int]]:
    at = 0
    while found := _HTML.search(prose, at):
        at = found.end()
        if found[0] == "<!--":
            closed = prose.find("-->", at)
            at = len(prose) if closed < 0 else closed + 3
        yield found.start(), at
