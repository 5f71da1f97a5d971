"""The kinds of values that tools take and give, lenient where language models are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from recollect.model import Note

__all__ = ["Arguments", "Brief", "Namespace", "Object", "Texts", "Written", "brief_of"]

BRIEF = 300
"""How much of a note's text a listing shows."""


def _texts(value: Any) -> Any:
    """Read a list that was written as text: as JSON, or as its only entry."""
    if not isinstance(value, str):
        return value
    read = _json(value, list)
    return [value] if read is None else read


def _object(value: Any) -> Any:
    """Read an object that was written as text."""
    read = _json(value, dict) if isinstance(value, str) else None
    return value if read is None else read


def _json(text: str, kind: type) -> Any:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, kind) else None


Texts = Annotated[list[str], BeforeValidator(_texts)]
"""A list of texts; some clients send it as a string that holds JSON, or send the only entry alone."""
Object = Annotated[dict[str, Any], BeforeValidator(_object)]
"""A JSON object; some clients send it as a string."""
Namespace = Annotated[
    str | None, Field(description="The namespace to work in. Leave it out for your own; they never see each other.")
]


class Arguments(BaseModel):
    """What a tool takes: nothing that it does not know."""

    model_config = ConfigDict(extra="forbid")

    namespace: Namespace = None

    def changes(self, *others: str) -> dict[str, Any]:
        """Return the arguments that were given, but for the namespace and ``others``."""
        return {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name not in ("namespace", *others) and getattr(self, name) is not None
        }


class Brief(BaseModel):
    """A note in few words."""

    id: str
    path: str | None = None
    title: str | None = None
    tags: list[str] | None = None
    created_at: str | None = None
    text: str
    shortened: bool | None = Field(default=None, description="True where text is only the beginning.")


class Written(BaseModel):
    """A note that was written."""

    id: str = Field(description="What names the note from now on; so does its path.")
    path: str | None = None
    namespace: str
    created_at: str | None = None
    updated_at: str | None = None
    expires_at: str | None = Field(default=None, description="From when on it is forgotten.")


def brief_of(note: Note, length: int | None = BRIEF) -> Brief:
    """Return a note in few words, with ``length`` characters of its text at most; ``None`` means all.

    >>> brief_of(Note(content="Prefers sencha.", id="n1"), 7).model_dump(exclude_none=True)
    {'id': 'n1', 'text': 'Prefers', 'shortened': True}
    """
    told = note.to_dict()
    text = note.content[:length]
    return Brief(
        **dict(_said(told)),
        tags=list(note.tags) or None,
        text=text,
        shortened=True if len(text) < len(note.content) else None,
    )


def _said(told: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the plain fields of a note that say something."""
    return ((name, told[name]) for name in ("id", "path", "title", "created_at") if told[name])
