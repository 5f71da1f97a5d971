"""Notes, drafts, documents, the chunks of a note that are embedded, and the table of a note's fields.

The dataclass :class:`Note` is the only list of a note's fields: each field carries its check and its description.
:data:`NOTE_FIELDS` is the same list as a table, from which drafts, JSON and the schemas of other interfaces are built.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import datetime
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from string import punctuation
from typing import Any, Literal, NamedTuple, TypeAlias

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.text import well_formed

DEFAULT_NAMESPACE = "default"
DEFAULT_IMPORTANCE = 0.5

NEVER = "never"
"""As ``expires_at`` of a draft, this value removes the expiry of a stored note."""

TEXT_FIELDS = ("content", "title", "summary")
"""The text fields of a note; a note in which all of them are blank is not stored."""

UNCHANGED_IF_EMPTY = frozenset(("id", "path", "created_at", "updated_at", "last_accessed_at"))
"""If one of these fields is empty in a :class:`Note` that is written, the stored value stays."""

MAX_POSITION = 2**63 - 1
"""The largest integer that a column of SQLite or PostgreSQL can hold: 64 bits, signed."""

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")  # a word character, but not the underscore


class Link(NamedTuple):
    """A directed link to another note: its kind, and the id, path or name of the target.

    >>> Link("supersedes", "memory/coffee.md").target
    'memory/coffee.md'
    """

    kind: str
    target: str

    def to_dict(self) -> dict[str, str]:
        """Return the link as JSON-ready data."""
        return self._asdict()


class Edge(NamedTuple):
    """A connection between two notes, given by their ids; ``source`` is the note whose edges were requested."""

    source: str
    target: str
    kind: str
    """``previous``, ``next``, ``mention``, ``entity``, or a link's kind."""
    direction: Literal["out", "in"]
    """Whether the edge leads from ``source`` to ``target`` ("out") or from ``target`` to ``source`` ("in")."""
    distance: int = 1
    """The difference between the positions of the two notes in their session; 1 for links, mentions and entities."""


class NoteField(NamedTuple):
    """The definition of one field of a note, for every schema that has notes."""

    name: str
    type: str
    """The annotation in :class:`Note`, such as ``"datetime | None"``."""
    description: str
    """One or two sentences for help texts and API schemas."""
    check: Callable[[str, Any], Any]
    """Takes an argument's name and a value; returns the normalised value or raises :class:`ArgumentError`."""
    default: Any
    """The value of a new note that does not set the field; ``None`` for ``content``, which is required."""
    by_hand: bool
    """Whether people and language models may set the field; if not, only stores and programs that copy notes set it."""


def _text(argument: str, value: Any) -> str:
    return well_formed(arguments.text(argument, value))


def _expiry(argument: str, value: Any) -> datetime | None:
    return None if value == NEVER else arguments.optional_instant(argument, value)


def _position(argument: str, value: Any) -> int | None:
    if value is None:
        return None
    position = arguments.count(argument, value)
    if position > MAX_POSITION:
        raise ArgumentError(argument, f"must be at most {MAX_POSITION}, got {position}")
    return position


def _links(argument: str, value: Any) -> tuple[Link, ...]:
    if value == ():
        return ()
    links = arguments.sequence(argument, value)
    return tuple(dict.fromkeys(_link(f"{argument}[{index}]", link) for index, link in enumerate(links)))


def _link(argument: str, value: Any) -> Link:
    """Return a link from a pair (kind, target), a mapping with these keys, or a target alone (kind ``related``)."""
    if isinstance(value, str):
        value = ("related", value)
    if isinstance(value, Mapping):
        value = (value.get("kind", "related"), value.get("target"))
    pair = tuple(value) if isinstance(value, Iterable) else ()
    if len(pair) != 2:
        raise ArgumentTypeError(argument, "must be a kind and a target")
    return Link(arguments.name(f"{argument}.kind", pair[0]), arguments.name(f"{argument}.target", pair[1]))


def _field(description: str, check: Callable[[str, Any], Any], default: Any = "", *, by_hand: bool = True) -> Any:
    """Return an optional field of :class:`Note`; ``default`` may be a function that returns the default."""
    default_keyword: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    return field(**default_keyword, metadata={"description": description, "check": check, "by_hand": by_hand})


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note of a memory. Only ``content`` is required; :data:`NOTE_FIELDS` describes the fields.

    Times are in UTC; a time without an offset counts as UTC. A memory does not return notes whose ``expires_at`` is in
    the past. A value that cannot be stored raises :class:`ArgumentError` with the name of the field.

    >>> note = Note(content="Prefers green tea.", path="memory/tea.md", tags=["drinks"], created_at="2026-04-18")
    >>> note.tags, note.created_at.isoformat()
    (('drinks',), '2026-04-18T00:00:00+00:00')
    """

    id: str = _field("The note's id, unique in its namespace; generated if not given.", arguments.line)
    path: str = _field("The note's path, such as memory/tea.md, unique in its namespace.", arguments.line)
    title: str = _field("The note's title.", _text)
    summary: str = _field("A sentence that sums up the text.", _text)
    tags: tuple[str, ...] = _field("Tags to filter by.", arguments.names, ())
    content: str = field(metadata={"description": "The note's text.", "check": _text, "by_hand": True})
    created_at: datetime | None = _field(
        "When the note was created, in ISO 8601; now if not given.", arguments.optional_instant, None
    )
    updated_at: datetime | None = _field(
        "When the note was last changed, in ISO 8601; now if not given.",
        arguments.optional_instant,
        None,
        by_hand=False,
    )
    last_accessed_at: datetime | None = _field(
        "When the note was last read, in ISO 8601.", arguments.optional_instant, None, by_hand=False
    )
    expires_at: datetime | None = _field(
        "When the note expires, in ISO 8601; 'never' removes the expiry of a stored note.", _expiry, None
    )
    importance: float = _field(
        f"From 0 to 1; {DEFAULT_IMPORTANCE} in a new note. "
        "Used by the presets memini and weighted-graph; the default preset does not use it.",
        partial(arguments.number, at_least=0, at_most=1),
        DEFAULT_IMPORTANCE,
    )
    session: str = _field("The conversation or document that the note belongs to.", arguments.line)
    position: int | None = _field("The index of the note in its session, from 0.", _position, None)
    links: tuple[Link, ...] = _field("Links to other notes: a kind, and a path, id or name.", _links, ())
    metadata: Mapping[str, Any] = _field("Any other data, as a JSON object.", arguments.json_object, dict)
    namespace: str = _field(
        "The namespace of the note; searches never cross namespaces.", arguments.name, DEFAULT_NAMESPACE
    )

    def __post_init__(self) -> None:
        for name, check in _CHECKS:
            value = getattr(self, name)
            checked = check(name, value)
            if checked is not value:
                object.__setattr__(self, name, checked)

    @classmethod
    def from_checked(cls, values: Mapping[str, Any]) -> Note:
        """Return a note from ``values`` that were checked before, such as a store's; they must include every field."""
        note = object.__new__(cls)
        for name, _ in _CHECKS:
            object.__setattr__(note, name, values[name])
        return note

    def to_dict(self) -> dict[str, Any]:
        """Return the note as JSON-ready data, which ``Note(**data)`` reads back without loss."""
        return dict(zip(NOTE_FIELDS, map(to_json, _get_values(self)), strict=True))


def to_json(value: Any) -> Any:
    """Return the value of a note's or candidate's field as JSON-ready data."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, tuple):
        return [item if isinstance(item, str) else item.to_dict() for item in value]
    return dict(value)


_JSON_TYPES = frozenset((str, float, int, type(None)))


class StoredMetadata(Mapping[str, Any]):
    """A read-only mapping over a JSON object that is decoded when it is first read.

    A search fetches hundreds of candidates and shows few: decoding all metadata would take longer than fetching it.
    """

    __slots__ = ("_json_text", "_values")

    def __init__(self, json_text: str) -> None:
        self._json_text = json_text
        self._values: dict[str, Any] | None = None

    def _decoded(self) -> dict[str, Any]:
        if self._values is None:
            self._values = arguments.with_deep_stack(lambda: json.loads(self._json_text))
        return self._values

    def __getitem__(self, key: str) -> Any:
        return self._decoded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def __bool__(self) -> bool:
        return self._json_text != "{}"

    def __repr__(self) -> str:
        return repr(self._decoded())


def field_default(dataclass_field: Field[Any]) -> Any:
    """Return the default of a field of a dataclass; ``None`` if the field is required."""
    if dataclass_field.default_factory is not MISSING:
        return dataclass_field.default_factory()
    return None if dataclass_field.default is MISSING else dataclass_field.default


NOTE_FIELDS = {
    attribute.name: NoteField(
        name=attribute.name, type=str(attribute.type), default=field_default(attribute), **attribute.metadata
    )
    for attribute in fields(Note)
}
"""The definition of each field of a note by the field's name, in the order of :meth:`Note.to_dict`."""

DRAFT_FIELDS = NOTE_FIELDS | {
    "vector": NoteField(
        name="vector",
        type="Vector | None",
        description="The note's vector, or one vector for each of its chunks, if the caller embeds the text.",
        check=arguments.vector,
        default=None,
        by_hand=False,
    )
}
"""The fields that a draft may have: the fields of a note, and ``vector``."""

_CHECKS = [(name, definition.check) for name, definition in NOTE_FIELDS.items()]
_get_values = attrgetter(*NOTE_FIELDS)

Draft: TypeAlias = dict[str, Any]
"""A mapping from the names of some :data:`DRAFT_FIELDS` to checked values. Fields that a draft lacks stay as they are
if the draft updates a stored note, and get their defaults in a new note."""


def draft_of(value: Note | str | Mapping[str, Any], *, argument: str = "note") -> Draft:
    """Return a draft from a note, from a mapping of field names to values, or from a text, which becomes the content.

    A value of ``None`` counts as missing. ``expires_at="never"`` removes the expiry of a stored note.

    >>> draft_of({"content": "Prefers green tea.", "importance": 1})
    {'content': 'Prefers green tea.', 'importance': 1.0}
    """
    if isinstance(value, Note):
        arguments.check_depth("metadata", value.metadata)  # an older version may have stored deeper metadata
        values = {name: getattr(value, name) for name in NOTE_FIELDS}
        return {name: item for name, item in values.items() if item or name not in UNCHANGED_IF_EMPTY}
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(argument, f"must be a Note, a mapping or a string, got {type(value).__name__}")
    draft: Draft = {}
    for name, item in value.items():
        if name not in DRAFT_FIELDS:
            raise ArgumentError(argument, f"has no field {name!r}; the fields are {', '.join(DRAFT_FIELDS)}")
        if item is not None:
            draft[name] = DRAFT_FIELDS[name].check(name, item)
    return draft


def aliases_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note's other names: ``aliases`` or ``alias`` in its metadata, as a list or separated by commas."""
    aliases: dict[str, None] = {}
    for key, value in metadata.items():
        if key.strip().lower() in ("aliases", "alias"):
            names = value.split(",") if isinstance(value, str) else value
            if isinstance(names, (list, tuple)):
                aliases.update(dict.fromkeys(name.strip() for name in names if isinstance(name, str) and name.strip()))
    return tuple(aliases)


def is_blank(values: Mapping[str, Any]) -> bool:
    """Return whether content, title and summary have no text: each is missing, or has only spaces and punctuation."""
    return not any(_has_text(values.get(name, "")) for name in TEXT_FIELDS)


def _has_text(text: str) -> bool:
    """Return whether a text has a letter, a digit or a symbol such as an emoji."""
    if _LETTER_OR_DIGIT.search(text):
        return True
    # The Unicode categories P, Z and C are punctuation, separators and control characters. In category S (symbols),
    # emoji count as text, but ASCII symbols such as "+", which string.punctuation contains, do not.
    return any(char not in punctuation and unicodedata.category(char)[0] not in "PZC" for char in text)


def is_expired(draft: Draft) -> bool:
    """Return whether the ``expires_at`` of a draft is in the past."""
    expires_at = draft.get("expires_at")
    return expires_at is not None and bool(expires_at <= arguments.now())


class Document(NamedTuple):
    """An ingested file: its location, a fingerprint, and the drafts that replace all notes of the file."""

    root: str
    """The ingested folder, as an absolute path."""
    name: str
    """The file's path below the root, with slashes."""
    fingerprint: str
    """A text that changes whenever the file changes; see :mod:`recollect.ingest.ingestion`."""
    drafts: Sequence[Draft]


class NoteName(NamedTuple):
    """The names that a link may use for a note; a name that the note lacks is empty."""

    id: str
    path: str
    title: str
    aliases: tuple[str, ...] = ()


class WriteCounts(NamedTuple):
    """How many notes a write of documents added, updated, left unchanged and removed."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    """Notes that the documents no longer contain."""


# An embedding model reads at most one page, and the vector of a page hardly reflects one sentence. So a long note has a
# vector for each chunk, and the similarity of the note is that of its best chunk. We use no library to split texts,
# because none repeats the title in each chunk, and an update of the library could make all stored vectors stale.

CHUNK_CHARS = 300
"""The maximum length of a chunk without its heading, in characters: a few sentences."""
MAX_UNSPLIT_CHARS = 900
"""A text of at most this many characters is not split."""
MAX_CHUNKS = 64
"""The maximum number of chunks of a text; the text after the last chunk has no vector."""
MAX_HEADING_CHARS = 200
"""A longer title is not repeated in each chunk."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


class EmbeddingText(str):
    """The text of a note that is embedded. Each chunk begins with ``heading``: the title, or empty for a long title."""

    __slots__ = ("heading",)
    heading: str


def embedding_text(title: str, summary: str, content: str) -> EmbeddingText:
    """Return the text to embed for a note: title, summary and content, joined by line ends, without empty fields."""
    nonempty = [field_text for field_text in (title, summary, content) if field_text]
    text = EmbeddingText("\n".join(nonempty))
    text.heading = title if len(title) <= MAX_HEADING_CHARS else ""
    return text


def text_digest(text: str) -> bytes:
    """Return the digest that is stored with a text's vector and shows later whether the text has changed."""
    return blake2b(text.encode(), digest_size=16).digest()


def embedding_chunks(text: str) -> list[str]:
    """Split a text into chunks, where possible at the ends of sentences and lines; a short text is one chunk."""
    if len(text) <= MAX_UNSPLIT_CHARS:
        return [str(text)]
    heading = getattr(text, "heading", "")
    body = text[len(heading) :].lstrip("\n") if heading else text
    chunks: list[str] = []
    for separator, fragment in _fragments(body):
        if chunks and len(chunks[-1]) + 1 + len(fragment) <= CHUNK_CHARS:
            chunks[-1] += separator + fragment
        elif len(chunks) == MAX_CHUNKS:
            break
        else:
            chunks.append(fragment)
    if not chunks:
        return [str(text[:MAX_UNSPLIT_CHARS])]  # the body is only white space
    return [f"{heading}\n{chunk}" for chunk in chunks] if heading else chunks


def _fragments(text: str) -> Iterator[tuple[str, str]]:
    """Yield lines, sentences of long lines and slices of long sentences, each with the separator before it."""
    for line in map(str.strip, text.split("\n")):
        separator = "\n"
        for sentence in _SENTENCE_END.split(line) if len(line) > CHUNK_CHARS else (line,):
            for fragment in _slices(sentence):
                yield separator, fragment
                separator = " "


def _slices(sentence: str) -> Iterator[str]:
    """Yield slices of a sentence that fit into a chunk; if possible, a slice ends at a space in its second half."""
    while len(sentence) > CHUNK_CHARS:
        end = sentence.rfind(" ", CHUNK_CHARS // 2, CHUNK_CHARS + 1)
        end = CHUNK_CHARS if end < 0 else end
        yield sentence[:end]
        sentence = sentence[end:].lstrip()
    if sentence:
        yield sentence
