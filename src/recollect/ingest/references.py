"""Links by name in front matter and records: resolve a note's path, file name, title or alias to the note.

A store resolves a link's target by id, path and file name. Titles, aliases and paths that are relative to the file are
looked up here, when all files of an ingest are known, so that the order of the files does not matter.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from recollect.characters import collapse_whitespace
from recollect.model import Draft, Link, NoteName, aliases_of

__all__ = ["LINK_KINDS", "NameIndex", "has_references", "names_of", "resolve_links", "unresolved_message"]

LINK_KINDS = ("supersedes", "resolved-by", "related")
"""The kinds of links whose targets are looked up."""

REPORTED_KIND = "supersedes"
"""The kind of link that is reported if its target is not found: the old note would still be shown as current."""


class NameIndex:
    """Finds notes by path, file name, title and alias; of several with the same name, the one with the shortest path.

    >>> index = NameIndex([NoteName("1", "people/shivani.md", "Shivani Rao", ("Shiv",))])
    >>> index.find("shiv", "log.md"), index.find("Shivani Rao", "log.md"), index.find("nobody", "log.md")
    ('people/shivani.md', 'people/shivani.md', None)
    """

    def __init__(self, names: Iterable[NoteName] = ()) -> None:
        """Index the names of some notes."""
        self._keys: set[str] = set()
        self._files: dict[str, list[NoteName]] = {}
        self._titles: dict[str, list[NoteName]] = {}
        self._aliases: dict[str, list[NoteName]] = {}
        self.add(names)

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

        ``file`` is the path of the file that holds the link, ``own`` the path of its note, which is skipped: a new
        version often has the title of the old one. A target that the store can resolve itself stays as it is written.
        """
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        for key, link in (
            (target, target),
            (f"{target}.md", target),
            (beside, beside),
            (f"{beside}.md", f"{beside}.md"),
        ):
            if key in self._keys and key != own:
                return link
        plain = target.removesuffix(".md").strip("/").casefold()
        if found := _best(self._files.get(plain, ()), own):
            first = min(self._files[plain], key=_order)
            return target if "/" not in target and first.path == found.path else found.path
        for names in (self._titles, self._aliases):
            if found := _best(names.get(_folded(target), ()), own):
                return found.path or found.id
        return None


def has_references(drafts: Iterable[Draft]) -> bool:
    """Return whether a draft has links whose targets are looked up.

    >>> has_references([{"content": "Tea.", "links": (Link("supersedes", "Coffee"),)}]), has_references([{}])
    (True, False)
    """
    return any(link.kind in LINK_KINDS for draft in drafts for link in draft.get("links", ()))


def resolve_links(drafts: Sequence[Draft], index: NameIndex, file: str) -> tuple[list[Draft], list[str]]:
    """Return the drafts of a file with the targets of their links looked up, and the targets that were not found.

    A target that is not found stays as it is written; only those that should supersede a note are returned.

    >>> index = NameIndex([NoteName("1", "drinks/coffee.md", "Coffee, black")])
    >>> links = Link("supersedes", "coffee, black"), Link("supersedes", "Milk")
    >>> (tea,), missing = resolve_links([{"content": "Tea.", "links": links}], index, "tea.md")
    >>> [link.target for link in tea["links"]], missing
    (['drinks/coffee.md', 'Milk'], ['Milk'])
    """
    resolved: list[Draft] = []
    missing: list[str] = []
    for draft in drafts:
        links: list[Link] = []
        for link in draft.get("links", ()):
            found = index.find(link.target, file, draft.get("path", "")) if link.kind in LINK_KINDS else link.target
            if found is None and link.kind == REPORTED_KIND:
                missing.append(link.target)
            links.append(Link(link.kind, link.target if found is None else found))
        resolved.append({**draft, "links": tuple(dict.fromkeys(links))} if links else draft)
    return resolved, missing


def unresolved_message(target: str) -> str:
    """Return the message for a ``supersedes`` link whose target is not found.

    >>> unresolved_message("Coffee").partition(';')[0]
    "supersedes: there is no note with the path, file name, title or alias 'Coffee'"
    """
    return (
        f"{REPORTED_KIND}: there is no note with the path, file name, title or alias {target!r}; "
        "correct it, or ingest that note too"
    )


def names_of(drafts: Iterable[Draft]) -> list[NoteName]:
    """Return the names of the notes of drafts.

    >>> names_of([{"path": "tea.md", "title": "Tea", "metadata": {"aliases": ["Cha"]}}])
    [NoteName(id='', path='tea.md', title='Tea', aliases=('Cha',))]
    """
    return [
        NoteName(
            draft.get("id", ""), draft.get("path", ""), draft.get("title", ""), aliases_of(draft.get("metadata", {}))
        )
        for draft in drafts
    ]


def _folded(name: str) -> str:
    return collapse_whitespace(name).casefold()


def _order(name: NoteName) -> tuple[int, str]:
    return len(name.path), name.path


def _best(names: Iterable[NoteName], own: str) -> NoteName | None:
    """Return the note with the shortest path, but for the one at the path ``own``."""
    return min((name for name in names if not own or name.path != own), key=_order, default=None)
