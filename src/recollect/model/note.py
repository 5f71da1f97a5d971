"""A note: what is remembered. And a draft: what a caller says of one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from string import punctuation
from typing import Any, NamedTuple, TypeAlias

from recollect import arguments, clock
from recollect.characters import well_formed
from recollect.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "DEFAULT_NAMESPACE",
    "NEVER",
    "TEXT_FIELDS",
    "Draft",
    "Link",
    "Note",
    "aliases_of",
    "draft_of",
    "is_blank",
    "is_over",
]

DEFAULT_NAMESPACE = "default"
"""Where notes live that name no namespace."""

NEVER = "never"
"""When a note expires that does not: how a draft says so of one that did."""

TEXT_FIELDS = ("content", "title", "summary")
"""The text fields of a note; a note in which all of them are blank is not stored."""

LARGEST_POSITION = 2**63 - 1

_WORD = re.compile(r"[^\W_]")
"""A letter or a digit."""


class Link(NamedTuple):
    """An edge from one note to another: its kind, and the id, path or name of the note it leads to.

    >>> Link("supersedes", "memory/coffee.md").target
    'memory/coffee.md'
    """

    kind: str
    target: str

    def to_dict(self) -> dict[str, str]:
        """Return the link as JSON-ready data."""
        return self._asdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One memory. Only ``content`` is required; an empty ``id`` is filled in when the note is stored.

    Times are in UTC; a time without offset is taken as UTC. ``session`` and ``position`` are the note's place in a
    conversation or document. From ``expires_at`` on the note is no more; ``"never"`` is the same as ``None``. What
    cannot be stored is refused here, with the name of the field.

    >>> note = Note(content="Prefers green tea.", path="memory/tea.md", tags=["drinks"], created_at="2026-04-18")
    >>> note.tags, note.created_at.isoformat()
    (('drinks',), '2026-04-18T00:00:00+00:00')
    """

    content: str
    id: str = ""
    path: str = ""
    title: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_accessed_at: datetime | None = None
    expires_at: datetime | None = None
    importance: float = 0.5
    session: str = ""
    position: int | None = None
    links: tuple[Link, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = DEFAULT_NAMESPACE

    def __post_init__(self) -> None:
        """Check each field."""
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            checked = check(name, value)
            if checked is not value:
                object.__setattr__(self, name, checked)

    @classmethod
    def of_checked(cls, fields: Mapping[str, Any]) -> Note:
        """Make a note of fields that were checked before, such as those that come from a store; all must be there.

        >>> Note.of_checked({**draft_of(Note(content="tea")), "id": "1", "path": "", "created_at": None,
        ...     "updated_at": None, "last_accessed_at": None}).content
        'tea'
        """
        made = object.__new__(cls)
        for name in _CHECKS:
            object.__setattr__(made, name, fields[name])
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the note as JSON-ready data, which ``Note(**data)`` reads back without loss."""
        return {
            "id": self.id,
            "path": self.path,
            "title": self.title,
            "summary": self.summary,
            "tags": list(self.tags),
            "content": self.content,
            "created_at": _iso(self.created_at),
            "updated_at": _iso(self.updated_at),
            "last_accessed_at": _iso(self.last_accessed_at),
            "expires_at": _iso(self.expires_at),
            "importance": self.importance,
            "session": self.session,
            "position": self.position,
            "links": [link.to_dict() for link in self.links],
            "metadata": dict(self.metadata),
            "namespace": self.namespace,
        }


Draft: TypeAlias = dict[str, Any]
"""What a caller says of a note: some of its fields, checked, and perhaps its ``vector``. A field that a draft does not
hold stays as it is when the note exists, and gets its default when it does not."""


def draft_of(value: Note | str | Mapping[str, Any], *, argument: str = "note") -> Draft:
    """Return what ``value`` says of a note: a whole note, a mapping with some of its fields, or its content alone.

    A field that is ``None`` counts as not given; a note that expires is kept for good if its ``expires_at`` is
    ``"never"``.

    >>> draft_of({"content": "Prefers green tea.", "importance": 1})
    {'content': 'Prefers green tea.', 'importance': 1.0}
    """
    if isinstance(value, Note):
        given = {name: getattr(value, name) for name in _CHECKS}
        arguments.flat_enough("metadata", value.metadata)  # a store may hold what was written before there was a limit
        return {name: held for name, held in given.items() if name not in _KEPT_WHERE_MISSING or held}
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(argument, f"must be a Note, a mapping or a string, got {type(value).__name__}")
    draft: Draft = {}
    for name, held in value.items():
        check = _DRAFT_CHECKS.get(name)
        if check is None:
            raise ArgumentError(argument, f"has no field {name!r}; it may have {', '.join(_DRAFT_CHECKS)}")
        if held is not None:
            draft[name] = check(name, held)
    return draft


def aliases_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the other names that a note's metadata lists as ``aliases`` or ``alias``: a list, or text with commas.

    >>> aliases_of({"aliases": ["Shiv", "S. Rao", 7]}), aliases_of({"Alias": "Shiv, Shivi"})
    (('Shiv', 'S. Rao'), ('Shiv', 'Shivi'))
    """
    found: dict[str, None] = {}
    for key, value in metadata.items():
        if key.strip().lower() in ("aliases", "alias"):
            listed = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
            found.update(dict.fromkeys(name.strip() for name in listed if isinstance(name, str) and name.strip()))
    return tuple(found)


def is_blank(fields: Mapping[str, Any]) -> bool:
    r"""Return whether content, title and summary of a note are all missing, or only white space and punctuation.

    >>> is_blank({"content": " \n", "tags": ("tea",)}), is_blank({"content": "", "title": "Tea"})
    (True, False)
    >>> is_blank({"content": "..."}), is_blank({"content": "---", "summary": "?!"}), is_blank({"content": "🎻"})
    (True, True, False)
    """
    return not any(_says_something(fields.get(name, "")) for name in TEXT_FIELDS)


def _says_something(text: str) -> bool:
    """Return whether a text has a letter, a digit or a symbol such as an emoji."""
    if _WORD.search(text):
        return True
    return any(sign not in punctuation and unicodedata.category(sign)[0] not in "PZC" for sign in text)


def is_over(draft: Draft) -> bool:
    """Return whether what a draft speaks of has expired by now.

    >>> is_over(draft_of({"content": "The fair is on.", "expires_at": "2020-02-02"})), is_over(draft_of("Tea."))
    (True, False)
    """
    moment = draft.get("expires_at")
    return moment is not None and bool(moment <= clock.now())


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _text(argument: str, value: Any) -> str:
    return well_formed(arguments.text(argument, value))


def _expiry(argument: str, value: Any) -> datetime | None:
    return None if value == NEVER else arguments.optional_instant(argument, value)


def _unit(argument: str, value: Any) -> float:
    number = arguments.number(argument, value)
    if not 0 <= number <= 1:
        raise ArgumentError(argument, f"must lie between 0 and 1, got {number:g}")
    return number


def _position(argument: str, value: Any) -> int | None:
    if value is None:
        return None
    number = arguments.count(argument, value)
    if number > LARGEST_POSITION:
        raise ArgumentError(argument, f"must be at most {LARGEST_POSITION}, got {number}")
    return number


def _links(argument: str, value: Any) -> tuple[Link, ...]:
    if value == ():
        return ()
    links = arguments.sequence(argument, value)
    return tuple(dict.fromkeys(_link(f"{argument}[{place}]", link) for place, link in enumerate(links)))


def _link(argument: str, value: Any) -> Link:
    """Return ``value`` as a link: a pair of kind and target, a mapping with both, or a target alone."""
    if isinstance(value, str):
        value = ("related", value)
    if isinstance(value, Mapping):
        value = (value.get("kind", "related"), value.get("target"))
    if not isinstance(value, Iterable) or len(pair := tuple(value)) != 2:
        raise ArgumentTypeError(argument, "must be a kind and a target")
    return Link(arguments.name(f"{argument}.kind", pair[0]), arguments.name(f"{argument}.target", pair[1]))


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "content": _text,
    "id": arguments.line,
    "path": arguments.line,
    "title": _text,
    "summary": _text,
    "tags": arguments.names,
    "created_at": arguments.optional_instant,
    "updated_at": arguments.optional_instant,
    "last_accessed_at": arguments.optional_instant,
    "expires_at": _expiry,
    "importance": _unit,
    "session": arguments.line,
    "position": _position,
    "links": _links,
    "metadata": arguments.json_object,
    "namespace": arguments.name,
}
assert list(_CHECKS) == [declared.name for declared in fields(Note)]  # noqa: S101 (a field without a check is a bug)

_KEPT_WHERE_MISSING = frozenset(("id", "path", "created_at", "updated_at", "last_accessed_at"))
"""What a whole note leaves as it is where it says nothing of it."""

_DRAFT_CHECKS = {**_CHECKS, "vector": arguments.vector}
