"""What callers pass, as the JSON that a server reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date
from math import isfinite
from os import PathLike
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.model import Filters, Note
from recollect.retrieval import Preset
from recollect.text import well_formed

__all__ = ["document_of", "draft_of", "json_ready", "key_of", "listing_of"]

Document = Mapping[str, str] | tuple[str | PathLike[str], str]
"""The text of a file and its path: a pair, or a mapping with ``path`` and ``content``."""


def json_ready(value: Any) -> Any:
    """Return ``value`` as JSON-ready data: dates become ISO 8601, filters and notes objects, tuples lists.

    >>> json_ready({"now": date(2026, 4, 18), "filters": Filters(tags=["tea"])})
    {'now': '2026-04-18', 'filters': {'tags': ['tea']}}
    """
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float) and not isfinite(value):
        raise ArgumentError("note", f"cannot hold {value}, for which JSON has no word")
    if isinstance(value, Note):
        return draft_of(value)
    if isinstance(value, Preset):
        raise ArgumentTypeError("preset", "must be the name of a preset: the server has its own")
    if isinstance(value, Filters):
        plain = Filters()
        given = {each.name: getattr(value, each.name) for each in fields(Filters)}
        return json_ready({name: held for name, held in given.items() if held != getattr(plain, name)})
    if isinstance(value, Mapping):
        return {name: json_ready(held) for name, held in value.items()}
    if isinstance(value, Iterable):
        return [json_ready(each) for each in value]
    return value


def draft_of(note: Note | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a note, some of its fields, or its text alone as the body of a request, which never holds a namespace.

    >>> draft_of("Prefers sencha."), draft_of({"content": "tea", "title": None})
    ({'content': 'Prefers sencha.'}, {'content': 'tea'})
    """
    if isinstance(note, str):
        return {"content": well_formed(note)}
    told = note.to_dict() if isinstance(note, Note) else note
    if not isinstance(told, Mapping):
        raise ArgumentTypeError("note", f"must be a Note, a mapping or a string, got {type(note).__name__}")
    return {
        name: json_ready(held)
        for name, held in told.items()
        if name != "namespace"
        and held is not None
        # Of a whole note an empty path is none, while an empty text is one.
        and not (isinstance(note, Note) and held == "" and name != "content")
    }


def key_of(key: Note | str) -> str:
    """Return an id or path as one part of an address.

    >>> key_of("memory/green tea.md")
    'memory%2Fgreen%20tea.md'
    """
    name = key.id if isinstance(key, Note) else arguments.name("key", key)
    # A part that is all dots would be taken for a way up or to nowhere.
    return quote(name, safe="") if name.strip(".") else "%2E" * len(name)


def listing_of(filters: Filters | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return filters as the parameters of a listing.

    >>> listing_of({"tags": ["tea", "green"], "path_prefix": "memory/"})
    [('path_prefix', 'memory/'), ('tag', 'tea'), ('tag', 'green')]
    """
    told = json_ready(Filters.of(filters))
    return [
        ("tag" if name == "tags" else name, each)
        for name, held in told.items()
        for each in (held if isinstance(held, list) else [held])
    ]


def document_of(document: Document) -> dict[str, str]:
    """Return the text of a file and its path as the server takes them in.

    >>> document_of(("vault/tea.md", "# Tea"))
    {'path': 'vault/tea.md', 'content': '# Tea'}
    """
    if isinstance(document, Mapping):
        return {"path": document["path"], "content": document["content"]}
    path, content = document
    return {"path": PurePath(path).as_posix(), "content": content}
