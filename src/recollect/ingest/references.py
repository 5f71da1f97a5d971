"""Links by name in front matter and records: resolve a note's path, file name, title or alias to the note.

A store resolves a link's target by id, path and file name. Titles, aliases and paths that are relative to the file are
looked up here, when all files of an ingest are known, so that the order of the files does not matter.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from recollect.model import Draft, Link, NoteName, aliases_of
from recollect.text import collapse_whitespace

__all__ = ["LINK_KINDS", "NameIndex", "has_references", "has_supersessions", "names_of", "resolve_links"]

REPORTED_KINDS = ("supersedes", "superseded-by")
"""The kinds of links that are reported if their target is not one note: the old note would be shown as current."""

LINK_KINDS = (*REPORTED_KINDS, "resolved-by", "related")
"""The kinds of links whose targets are looked up."""


MOST_NAMED = 5
"""How many notes of the same name a message names."""


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

    def add_others(self, names: Iterable[NoteName]) -> None:
        """Index more notes, but for those of files that are indexed already: what is indexed is newer."""
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

        ``file`` is the path of the file that holds the link, ``own`` the path of its note, which is skipped: a new
        version often has the title of the old one. A target that the store can resolve itself stays as it is written.
        """
        if (link := self._exact(target, file, own)) is not None:
            return link
        named = self._named(target, own)
        if not named:
            return None
        found = min(named, key=_order)
        same_file = self._files.get(_file_name(target), [])
        if found in same_file:
            first = min(same_file, key=_order)
            return target if "/" not in target and first.path == found.path else found.path
        return found.path or found.id

    def others(self, target: str, file: str, own: str = "") -> list[str]:
        """Return the paths or ids of all notes that a target may mean, the chosen one first, if there are several.

        The pieces of a Markdown file are not counted beside its first. A path or an id means one note, whatever others
        are called.

        >>> index = NameIndex([NoteName("1", "box.md", "Key box"), NoteName("2", "old/box-2.md", "Key box")])
        >>> index.others("Key box", "log.md"), index.others("box", "log.md")
        (['box.md', 'old/box-2.md'], [])
        """
        named = [] if self._exact(target, file, own) is not None else sorted(self._named(target, own), key=_order)
        paths = {name.path for name in named}
        notes = [
            name.path or name.id for name in named if name.path == _file(name.path) or _file(name.path) not in paths
        ]
        return notes if len(notes) > 1 else []

    def is_own(self, target: str, file: str, own: str) -> bool:
        """Return whether a target means only the note at the path ``own``, which holds the link."""
        return self.find(target, file, own) is None and self.find(target, file) is not None

    def _exact(self, target: str, file: str, own: str) -> str | None:
        """Return the resolved target if it is an id or a path, below the root or relative to the file."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        for key, link in (
            (target, target),
            (f"{target}.md", target),
            (beside, beside),
            (f"{beside}.md", f"{beside}.md"),
        ):
            if key in self._keys and key != own:
                return link
        return None

    def _named(self, target: str, own: str) -> list[NoteName]:
        """Return the notes whose file has this name, or else whose title it is, or else that have this alias."""
        for names in (
            self._files.get(_file_name(target), ()),
            self._titles.get(_folded(target), ()),
            self._aliases.get(_folded(target), ()),
        ):
            if others := [name for name in names if not own or name.path != own]:
                return others
        return []


def has_references(drafts: Iterable[Draft]) -> bool:
    """Return whether a draft has links whose targets are looked up.

    >>> has_references([{"content": "Tea.", "links": (Link("supersedes", "Coffee"),)}]), has_references([{}])
    (True, False)
    """
    return any(link.kind in LINK_KINDS for draft in drafts for link in draft.get("links", ()))


def has_supersessions(drafts: Iterable[Draft]) -> bool:
    """Return whether a draft has links that say that one note supersedes another.

    >>> has_supersessions([{"links": (Link("supersedes", "Coffee"),)}]), has_supersessions([{"links": ()}])
    (True, False)
    """
    return any(link.kind in REPORTED_KINDS for draft in drafts for link in draft.get("links", ()))


def resolve_links(drafts: Sequence[Draft], index: NameIndex, file: str) -> tuple[list[Draft], list[str]]:
    """Return the drafts of a file with the targets of their links looked up, and what is wrong with the targets.

    A target that is not found stays as it is written. If several notes have the name, the one with the shortest path is
    meant. Messages are about supersessions only: a target that is not found, that several notes have as their name, or
    that is the note itself.

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
            found = index.find(link.target, file, own) if link.kind in LINK_KINDS else link.target
            if link.kind in REPORTED_KINDS:
                problems += _problems(link, index, file, own, found=found is not None)
            links.append(Link(link.kind, link.target if found is None else found))
        resolved.append({**draft, "links": tuple(dict.fromkeys(links))} if links else draft)
    return resolved, problems


def _problems(link: Link, index: NameIndex, file: str, own: str, *, found: bool) -> Iterator[str]:
    """Yield what is wrong with the target of a link that says that one note supersedes another."""
    if not found and index.is_own(link.target, file, own):
        yield f"{link.kind}: {link.target!r} is the note itself; the link is ignored: name another note, or remove it"
    elif not found:
        yield (
            f"{link.kind}: there is no note with the path, file name, title or alias {link.target!r}; "
            "correct it, or ingest that note too"
        )
    elif others := index.others(link.target, file, own):
        named = ", ".join(map(repr, others[:MOST_NAMED]))
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        yield (
            f"{link.kind}: {len(others)} notes are called {link.target!r}: {named}{more}; "
            f"{others[0]!r}, which has the shortest path, was taken; write the path of the one that you mean"
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


def _file(path: str) -> str:
    """Return the path of the file that a note is a piece of."""
    return path.partition("#")[0]


def _file_name(target: str) -> str:
    return target.removesuffix(".md").strip("/").casefold()


def _folded(name: str) -> str:
    return collapse_whitespace(name).casefold()


def _order(name: NoteName) -> tuple[int, str]:
    return len(name.path), name.path
