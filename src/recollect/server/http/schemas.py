"""What notes look like on the wire. Checked strictly: a number is no text, and a field that is not known is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.model import NOTE_FIELDS

__all__ = [
    "AddedNote",
    "Batch",
    "Created",
    "Documents",
    "IngestedReport",
    "LinkBody",
    "LinkMade",
    "LinkRemoved",
    "Neighbours",
    "NewNote",
    "NoteChanges",
    "NoteLink",
    "NotePage",
    "StoredNote",
]

_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"
_NAME = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s][^\x00-\x1f\x7f-\x9f]*$"

Line = Annotated[str, Field(pattern=_LINE, max_length=2048)]
"""A text of one line."""
Name = Annotated[str, Field(pattern=_NAME, max_length=2048)]
"""A text of one line with something on it."""
Moment = Annotated[str, Field(max_length=64, examples=["2026-04-18T07:30:00Z"])]
Importance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Position = Annotated[int, Field(ge=0, le=2**63 - 1)]


class Asked(BaseModel):
    """What comes in."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NoteLink(Asked):
    """A link to another note."""

    kind: Name = Field(default="related", description="What the link means; `supersedes` replaces its target.")
    target: Name = Field(description="The id, path or name of the note it leads to, which may come later.")


class NoteChanges(Asked):
    """Fields of a note; one that is missing or null stays as it is, or gets its default."""

    content: str | None = Field(default=None, description="The text.")
    path: Line | None = Field(default=None, description="Where it stands, such as `memory/tea.md`; unique.")
    title: str | None = Field(default=None, description="What it is called.")
    summary: str | None = Field(default=None, description="What it says, in a sentence.")
    tags: list[Name] | None = Field(default=None, max_length=1000, description="Words to filter by.")
    created_at: Moment | None = Field(default=None, description="When it was made, in ISO 8601; now if not given.")
    updated_at: Moment | None = Field(default=None, description="When it was changed; now if not given.")
    last_accessed_at: Moment | None = Field(default=None, description="When it was last read.")
    expires_at: Moment | None = Field(
        default=None, description="From when on it is forgotten; `never` keeps one for good that was to expire."
    )
    importance: Importance | None = Field(default=None, description=NOTE_FIELDS["importance"].description)
    session: Line | None = Field(default=None, description="The conversation or document that it belongs to.")
    position: Position | None = Field(default=None, description="Its place there, from 0.")
    links: list[NoteLink] | None = Field(default=None, max_length=1000, description="Links to other notes.")
    metadata: dict[str, Any] | None = Field(default=None, description="Anything else, as JSON.")


class NewNote(NoteChanges):
    """A note to store. One with this `id` or `path` is changed: what is not given stays."""

    id: Line | None = Field(default=None, description="Its id; one is made if none is given.")


class AddedNote(NewNote):
    """A note to store, and which ones it replaces."""

    supersedes: list[Name] | None = Field(
        default=None, max_length=100, description="Ids or paths of notes that it replaces; they step back in searches."
    )


class Batch(Asked):
    """Notes to store, all or none."""

    notes: list[NewNote] = Field(min_length=1, max_length=1000, description="The notes, at most 1,000.")


class LinkBody(NoteLink):
    """A link between two notes."""

    source: Name = Field(description="The id or path of the note that the link begins at.")


class DocumentText(Asked):
    """The text of a file."""

    path: Name = Field(description="Its path, whose end says how it is read: `.md`, `.txt`, `.jsonl`, `.json` …")
    content: str = Field(description="The text.")


class Documents(Asked):
    """Texts of files to take in."""

    documents: list[DocumentText] = Field(min_length=1, max_length=1000, description="The texts, at most 1,000.")
    prefix: Line = Field(default="", description="What the paths of their notes begin with.")


class Told(BaseModel):
    """What goes out."""


class StoredNote(Told):
    """A note as it is stored."""

    id: str = Field(description="Its id.")
    path: str = Field(description="Its path; empty if it has none.")
    title: str = Field(description="Its title.")
    summary: str = Field(description="Its summary.")
    tags: list[str] = Field(description="Its tags.")
    content: str = Field(description="Its text.")
    created_at: str | None = Field(description="When it was made, in UTC.")
    updated_at: str | None = Field(description="When it was changed.")
    last_accessed_at: str | None = Field(description="When it was last read.")
    expires_at: str | None = Field(description="From when on it is forgotten; null if it is kept.")
    importance: float = Field(description="From 0 to 1.")
    session: str = Field(description="Its session; empty if it has none.")
    position: int | None = Field(description="Its place there.")
    links: list[NoteLink] = Field(description="Its links.")
    metadata: dict[str, Any] = Field(description="Its metadata.")
    namespace: str = Field(description="The namespace that it lives in.")


class NotePage(Told):
    """Some notes of a namespace."""

    notes: list[StoredNote] = Field(description="The notes, in the order in which they came.")
    next_cursor: str | None = Field(description="What to pass as `cursor` for the next ones; null at the end.")


class Created(Told):
    """Notes that were stored."""

    ids: list[str] = Field(description="Their ids, in the order of the request.")
    count: int = Field(description="How many there are.")


class LinkMade(Told):
    """Whether a link was made."""

    created: bool = Field(description="False if it was there already.")


class LinkRemoved(Told):
    """Whether a link was taken away."""

    removed: bool = Field(description="False if there was none.")


class Neighbour(Told):
    """A note one step away."""

    kind: str = Field(description="`previous`, `next`, `mention`, `entity`, or a link's kind.")
    direction: Literal["in", "out"] = Field(
        description="Whether the connection leads to the note that was asked about."
    )
    note: StoredNote = Field(description="The note.")


class Neighbours(Told):
    """What lies around a note."""

    neighbours: list[Neighbour] = Field(description="The notes one step away.")


class FileCounts(Told):
    """What became of texts."""

    read: int = Field(description="Texts whose notes were written.")
    unchanged: int = Field(description="Texts that are as they were.")
    removed: int = Field(description="Always 0: what is not sent stays.")
    failed: int = Field(description="Texts that could not be read or written; the notes that such a text had stay.")


class NoteCounts(Told):
    """What became of notes."""

    added: int = Field(description="New notes.")
    updated: int = Field(description="Notes that changed.")
    unchanged: int = Field(description="Notes of the texts read that are as they were.")
    removed: int = Field(description="Notes that the texts had and no longer have.")
    failed: int = Field(description="Records of the texts read that could not be read.")


class ReadingProblem(Told):
    """What could not be read as it was meant."""

    name: str = Field(description="The text's path.")
    line: int | None = Field(description="The line, from 1; null if it is about the whole text.")
    message: str = Field(description="What was wrong.")
    skipped: bool = Field(description="Whether it was left out; otherwise it was read as well as can be.")


class IngestedReport(Told):
    """What an ingest did."""

    files: FileCounts = Field(description="How many texts.")
    notes: NoteCounts = Field(description="How many notes.")
    problems: list[ReadingProblem] = Field(description="What was wrong with which.")
    skipped: dict[str, int] = Field(
        description="Always empty: a text of a type that is not read is among the problems."
    )
