"""Write notes with their vectors, from drafts, documents and lines of JSON; check supersession links between notes.

A supersession link has the kind ``supersedes`` or ``superseded-by``. If such links form a cycle, no note of the cycle
counts as superseded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple, Self

from recollect import arguments
from recollect.embedders import EmbedderChoice
from recollect.embedders.base import ModelEmbedder, unit_rows
from recollect.errors import (
    ArgumentError,
    ArgumentTypeError,
    NoteNotFoundError,
    RecollectError,
    RecollectWarning,
    SecretFoundError,
)
from recollect.jsonl import draft_from_line
from recollect.model import (
    DEFAULT_NAMESPACE,
    TEXT_FIELDS,
    Document,
    Draft,
    EmbeddingText,
    Link,
    Note,
    NoteName,
    WriteCounts,
    aliases_of,
    embedding_chunks,
    is_blank,
    is_expired,
)
from recollect.model.note import text_digest
from recollect.retrieval.graph import cycles, follow_successors
from recollect.secrets import SecretFilter, SecretsMode
from recollect.stores.base import Model, PendingNote, Store
from recollect.stores.search_index import SUPERSEDED_BY, SUPERSESSION_KINDS

if TYPE_CHECKING:
    from recollect.embedders import Embedder
    from recollect.progress import Progress
    from recollect.stores.base import Vector

EMBED_BATCH = 128  # the maximum number of notes that are embedded, and then written, in one batch
MAX_NAMES_IN_MESSAGE = 10


class _Line(NamedTuple):
    """A parsed line of JSON."""

    number: int  # from 1
    draft: Draft
    model_name: str  # the model of the draft's vector; empty if the draft has no vector


class _LineError(RecollectError):
    """A line cannot be read or stored; the message begins with the number of the line."""


class PassThrough:
    """A :class:`~recollect.secrets.SecretFilter` that accepts everything, for memories opened without ``secrets``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def draft(self, draft: Draft, prefix: str = "", *, file: str = "") -> Draft:  # noqa: ARG002 (SecretFilter's signature)
        """Return the draft."""
        return draft

    def file(self, text: str, name: str) -> str:  # noqa: ARG002 (as above)
        """Return the text."""
        return text

    def check_name(self, argument: str, value: str) -> None:
        """Accept any name."""


class NoteWriter:
    """Writes notes to a store and embeds texts that need a vector. It is the ``DocumentStore`` of an ingest."""

    def __init__(
        self, store: Store, choice: EmbedderChoice, *, adopt: bool = False, secrets: SecretsMode | None = None
    ) -> None:
        """Write to ``store`` with the embedder of ``choice``, if it has one.

        With ``adopt``, a document replaces a note at its path, even if another source wrote the note. ``secrets`` says
        what happens to a text that contains a secret; with ``None`` the text is stored unchanged.
        """
        self._store = store
        self._choice = choice
        self._adopt = adopt
        self._secrets = secrets
        self.document_filter = self.secret_filter()
        """The secret filter for all documents of one ingest; the ingest runs inside ``with document_filter``."""

    def secret_filter(self) -> SecretFilter | PassThrough:
        """Return a secret filter for one call. At the end of its ``with`` statement, it warns of redacted secrets."""
        return PassThrough() if self._secrets is None else SecretFilter(self._secrets)

    def write(self, drafts: Sequence[Draft], *, create: bool = True, first_index: int | None = None) -> list[Note]:
        """Embed drafts, then write them in one transaction. If ``create`` is false, their notes must exist.

        A draft that has expired, or that leaves its note without any text, raises ``ArgumentError``. The message about
        missing text has the index of the draft, counted from ``first_index``; ``None`` means a single note.
        """
        for index, draft in enumerate(drafts):
            self._check_text(draft, "" if first_index is None else f"notes[{first_index + index}].")
            if is_expired(draft):
                raise ArgumentError(
                    "expires_at",
                    f"must lie in the future, got {draft['expires_at'].isoformat()}; leave it out, or delete the note",
                )
        return self._write(drafts, self._model(), create=create)

    def _check_text(self, draft: Draft, prefix: str = "") -> None:
        """Raise ``ArgumentError`` if a draft leaves its note without any text."""
        fields = [name for name in TEXT_FIELDS if name in draft]
        if not fields or not is_blank(draft):
            return
        keys = [draft[name] for name in ("id", "path") if draft.get(name)]
        stored = [note for note in self._store.get(keys, namespace=_namespace(draft)) if note is not None]
        # The stored note keeps the text fields that the draft lacks.
        if stored and not is_blank({name: getattr(stored[0], name) for name in TEXT_FIELDS} | draft):
            return
        raise ArgumentError(
            f"{prefix}{fields[0]}",
            "must not be blank or only punctuation in a note without title and summary; give the note some text, or "
            "delete it",
        )

    def _write(self, drafts: Sequence[Draft], model: Model | None, *, create: bool = True) -> list[Note]:
        vectors = self._new_vectors(drafts, model)
        notes, pending = self._store.write(drafts, model=model, vectors=vectors, create=create)
        self._embed_pending(pending, model)
        return notes

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprint of each stored document below ``root`` by the document's name."""
        return self._store.documents(root, namespace=namespace)

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Embed the drafts of documents, then replace their notes in one transaction."""
        model = self._model()
        for document in documents:
            self.document_filter.check_name("file name", document.name)
        documents = [
            document._replace(
                drafts=[
                    self.document_filter.draft(draft, f"note {number}: ", file=document.name)
                    for number, draft in enumerate(document.drafts, 1)
                ]
            )
            for document in documents
        ]
        # A document's draft is a complete note: if it has no title or summary, a stored title or summary is deleted.
        drafts: list[Draft] = [
            {"title": "", "summary": "", **draft, "namespace": namespace}
            for document in documents
            for draft in document.drafts
        ]
        vectors = self._new_vectors(drafts, model)
        counts, pending = self._store.write_documents(
            documents, namespace=namespace, model=model, vectors=vectors, adopt=self._adopt
        )
        self._embed_pending(pending, model)
        return counts

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        """Yield the names of the notes of a namespace."""
        for note in self._store.notes(namespace=namespace):
            yield NoteName(note.id, note.path, note.title, aliases_of(note.metadata))

    def supersession_cycles(self, paths: Sequence[str], namespace: str) -> list[tuple[Sequence[str], str]]:
        """Return (the paths in the cycle, a message) for each cycle to which links of the notes at ``paths`` lead."""
        ids = [note.id for note in self._store.get(paths, namespace=namespace) if note is not None]
        return [(cycle, cycle_message(cycle)) for cycle in supersession_cycles(self._store, ids, namespace)]

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Delete documents and their notes; return the number of deleted notes."""
        return self._store.remove_documents(root, names, namespace=namespace)

    def load(self, lines: Iterable[str | bytes], namespace: str | None, progress: Progress) -> int:
        """Write notes from lines of JSON and return how many were stored.

        The first line that cannot be stored ends the call: the notes before that line are stored, and the error
        contains the line's number and how many notes were stored. Expired notes are skipped, with a warning.
        """
        if isinstance(lines, str | bytes | PathLike):
            type_name = type(lines).__name__
            raise ArgumentTypeError("lines", f"must be lines or an open file, got {type_name}; pass open(path)")
        if namespace is not None:
            namespace = arguments.name("namespace", namespace)
        stored_count = expired_count = 0
        problem: RecollectError | None = None
        numbered_lines = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        with self.secret_filter() as secrets:
            while problem is None and (batch := list(islice(numbered_lines, EMBED_BATCH))):
                parsed, problem = self._parse_lines(batch, namespace, secrets)
                unexpired = [line for line in parsed if not is_expired(line.draft)]
                try:
                    # groupby joins only adjacent lines, so that the notes are stored in the order of the lines.
                    for model_name, group in groupby(unexpired, key=lambda line: line.model_name):
                        for count in self._write_lines(list(group), model_name):
                            stored_count += count
                except _LineError as error:
                    problem = error
                expired_count += len(parsed) - len(unexpired)
                progress(stored_count + expired_count, stored_count + expired_count, "")  # the total is unknown
        if expired_count:
            notes = "one note was" if expired_count == 1 else f"{expired_count} notes were"
            warnings.warn(f"{notes} skipped as expired", RecollectWarning, stacklevel=3)
        if problem is not None:
            notes_before = "1 note before it is" if stored_count == 1 else f"{stored_count or 'no'} notes before it are"
            if isinstance(problem, ArgumentError):
                raise type(problem)(problem.argument, f"{problem.problem}; {notes_before} stored")
            raise RecollectError(f"{problem}; {notes_before} stored")
        return stored_count

    def _parse_lines(
        self, lines: Sequence[tuple[int, str | bytes]], namespace: str | None, secrets: SecretFilter | PassThrough
    ) -> tuple[list[_Line], RecollectError | None]:
        """Return the lines before the first line that cannot be read, and the error of that line, or ``None``."""
        parsed: list[_Line] = []
        for number, line in lines:
            try:
                draft, vector_model = draft_from_line(line, self.model_name())
            except RecollectError as error:
                return parsed, _LineError(f"line {number}: {error}")
            if namespace is not None:
                draft["namespace"] = namespace
            try:
                draft = secrets.draft(draft, f"line {number}: ")
            except SecretFoundError as error:
                return parsed, error
            parsed.append(_Line(number, draft, vector_model if "vector" in draft else ""))  # redaction drops vectors
        return parsed, None

    def _write_lines(self, lines: Sequence[_Line], model_name: str) -> Iterator[int]:
        """Write lines in one transaction, and yield how many lines were written.

        Either all lines have vectors of the model ``model_name``, or none has a vector and ``model_name`` is empty. If
        a line is invalid, each line is written in a transaction of its own, so that the lines before it are stored.
        """
        drafts = [line.draft for line in lines]
        model = self._model()
        if model_name:
            known_model = model or self._store.model
            dimension = drafts[0]["vector"].shape[-1]
            model = known_model if known_model and known_model.name == model_name else Model(model_name, dimension)
        try:
            for draft in drafts:
                self._check_text(draft)
            self._write(drafts, model)
        except ArgumentError as error:
            if len(lines) == 1:
                raise _LineError(f"line {lines[0].number}: {error}") from None
            for line in lines:
                yield from self._write_lines([line], model_name)
        else:
            yield len(lines)

    def reindex(self, progress: Progress) -> int:
        """Embed all notes that have no vector of the embedder's model, activate the model; return how many notes."""
        embedder = self._require_embedder()
        model = Model(embedder.name, embedder.dimension)
        total = sum(self._store.stats().notes.values())
        embedded = 0
        while True:
            last_key = None
            while pending := self._store.pending(model, EMBED_BATCH, after=last_key):
                last_key = pending[-1].key
                self._embed_pending(pending, model)
                embedded += len(pending)
                progress(embedded, max(total, embedded), "")
            if self._store.activate(model):  # false if other processes have added or changed notes meanwhile
                return embedded

    def model_name(self) -> str | None:
        """Return the name of the embedder's model, else of the stored vectors' model; ``None`` if there is neither."""
        if self._choice.embedder is not None:
            return self._choice.embedder.name
        model = self._store.model
        return model.name if model else None

    def unembedded(self) -> int:
        """Return how many notes have no vector of the model that :meth:`model_name` names; 0 if there is none."""
        stats, model = self._store.stats(), self.model_name()
        return sum(stats.notes.values()) - stats.vectors.get(model, 0) if model else 0

    def _new_vectors(self, drafts: Sequence[Draft], model: Model | None) -> dict[bytes, Vector]:
        """Embed the texts of drafts that need a vector, before the transaction; return vectors by text digest."""
        texts = [] if model is None else self._store.texts_to_embed(drafts, model=model)
        return dict(zip(map(text_digest, texts), self._embed(texts), strict=True)) if texts else {}

    def _embed_pending(self, pending: Sequence[PendingNote], model: Model | None) -> None:
        """Embed stored notes without a vector, for example if another process changed their texts before the write."""
        if pending and model is not None:
            vectors = self._embed([note.text for note in pending])
            self._store.embed(model, list(zip(pending, vectors, strict=True)))

    def _embed(self, texts: Sequence[EmbeddingText]) -> list[Vector]:
        """Return the vector of each text; a text of several chunks gets a matrix with one row for each chunk."""
        import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

        embedder = self._require_embedder()
        chunks_by_text = [embedding_chunks(text) for text in texts]
        chunks = [chunk for text_chunks in chunks_by_text for chunk in text_chunks]
        vectors = embedder.embed_documents(chunks)
        if not isinstance(embedder, ModelEmbedder):  # a ModelEmbedder checks and normalises its vectors itself
            vectors = unit_rows(embedder.name, vectors, count=len(chunks), dimension=embedder.dimension)
        remaining = iter(vectors)
        vectors_by_text = [list(islice(remaining, len(text_chunks))) for text_chunks in chunks_by_text]
        return [rows[0] if len(rows) == 1 else np.stack(rows) for rows in vectors_by_text]

    def _model(self) -> Model | None:
        """Return the embedder's model; an embedder with an unknown dimension embeds one text to find the dimension."""
        embedder = self._choice.embedder
        return None if embedder is None else Model(embedder.name, embedder.dimension)

    def _require_embedder(self) -> Embedder:
        if self._choice.embedder is None:
            raise RecollectError(f"this memory has no embedder ({self._choice.reason}); choose an embedder")
        return self._choice.embedder


def superseding_links(store: Store, draft: Draft, keys: Sequence[str]) -> tuple[Link, ...]:
    """Return the links of a draft's note, and a link ``supersedes`` to each note whose id or path is in ``keys``.

    The superseded notes must exist. The links contain their ids, because an id stays the same when a path changes.
    """
    namespace = _namespace(draft)
    draft_id, draft_path = draft.get("id", ""), draft.get("path", "")
    *superseded_notes, by_id, by_path = store.get([*keys, draft_id, draft_path], namespace=namespace)
    if by_path is not None and by_path.path != draft_path:
        by_path = None  # the draft's path is the id of another note
    stored = by_id or by_path
    links = []
    for key, note in zip(keys, superseded_notes, strict=True):
        if note is None:
            raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r} to supersede")
        if stored is not None and note.id == stored.id:
            raise ArgumentError(
                "supersedes",
                f"{key!r} is the note itself; remove it from supersedes, or add a new note with another path",
            )
        links.append(Link("supersedes", note.id))
    other_links = draft.get("links", stored.links if stored else ())
    return tuple(dict.fromkeys((*other_links, *links)))


def supersession_cycles(store: Store, ids: Iterable[str], namespace: str) -> list[tuple[str, ...]]:
    """Return the cycles that the supersession links of these notes lead to.

    A cycle is a sorted tuple with the path of each of its notes, or the id of a note without a path. The number of
    queries to the store is the length of the longest chain of supersession links.
    """

    def successors(note_ids: list[str]) -> dict[str, set[str]]:
        successors_by_id: dict[str, set[str]] = {}
        for edge in store.edges(note_ids, namespace=namespace, kinds=SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                successors_by_id.setdefault(edge.source, set()).add(edge.target)
        return successors_by_id

    return [
        tuple(sorted(note.path or note.id for note in store.get(cycle, namespace=namespace) if note is not None))
        for cycle in cycles(follow_successors(ids, successors))
    ]


def supersession_problems(store: Store, notes: Iterable[Note]) -> list[str]:
    """Return messages about the supersession links of stored notes: links from a note to itself, and cycles."""
    problems: list[str] = []
    ids_by_namespace: dict[str, list[str]] = {}
    for note in notes:
        supersession_links = [link for link in note.links if link.kind in SUPERSESSION_KINDS]
        if supersession_links:
            ids_by_namespace.setdefault(note.namespace, []).append(note.id)
        problems += [
            f"the note {note.path or note.id!r} has a link {link.kind!r} to itself, which is ignored"
            for link in supersession_links
            if link.target in (note.id, note.path)
        ]
    for namespace, ids in ids_by_namespace.items():
        problems += map(cycle_message, supersession_cycles(store, ids, namespace))
    return problems


def cycle_message(names: Sequence[str]) -> str:
    """Return the message about a cycle; ``names`` are the paths or ids of its notes."""
    shown = ", ".join(map(repr, names[:MAX_NAMES_IN_MESSAGE]))
    more = f" and {len(names) - MAX_NAMES_IN_MESSAGE} more" if len(names) > MAX_NAMES_IN_MESSAGE else ""
    return f"these notes supersede each other, so none of them is demoted: {shown}{more}; remove one of the links"


def _namespace(draft: Draft) -> str:
    namespace: str = draft.get("namespace", DEFAULT_NAMESPACE)
    return namespace
