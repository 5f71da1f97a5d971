"""Notes go into a store together with their vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from recollect import arguments
from recollect.embedders import EmbedderChoice
from recollect.embedders.base import unit_rows
from recollect.errors import ArgumentError, RecollectError, RecollectWarning
from recollect.exchange import draft_from_line
from recollect.model import (
    DEFAULT_NAMESPACE,
    TEXT_FIELDS,
    Document,
    Draft,
    EmbeddingText,
    Note,
    NoteName,
    WriteCounts,
    aliases_of,
    embedding_chunks,
    is_blank,
    is_expired,
)
from recollect.secrets import Screen, SecretsMode
from recollect.stores.base import Model, Pending, Store, digest
from recollect.superseding import cycle_message, supersession_cycles

if TYPE_CHECKING:
    from recollect.embedders import Embedder
    from recollect.progress import Progress
    from recollect.stores.base import Vector

__all__ = ["EMBEDDED_NOTES", "NoteWriter"]

EMBEDDED_NOTES = 64
"""How many notes are embedded, and then written, at a time where a model has to run."""

_Line = tuple[int, Draft, str]
"""A line's number, what it says of a note, and the name of the model of its vector."""


class NoteWriter:
    """Writes to a store, and embeds what the store says has no vector. It is what ingesting calls a library, too."""

    def __init__(
        self, store: Store, choice: EmbedderChoice, *, adopt: bool = False, secrets: SecretsMode | None = None
    ) -> None:
        """Join a store and an embedder, if there is one; with ``adopt``, documents take over notes at their paths.

        ``secrets`` says what happens to what looks like one; nothing if it is ``None``.
        """
        self._store = store
        self._choice = choice
        self._adopt = adopt
        self._secrets = secrets
        self.screen = Screen(secrets)
        """What documents pass; who ingests tells what it found."""

    def screening(self) -> Screen:
        """Return what the drafts of one call pass, to be left when the call ends."""
        return Screen(self._secrets)

    def write(self, drafts: Sequence[Draft], *, create: bool = True, first: int | None = None) -> list[Note]:
        """Write drafts in one transaction.

        A draft that has expired is refused: whoever writes it cannot mean that. So is one that leaves its note without
        any text; the error names the draft by its index, counted from ``first``.
        """
        for index, draft in enumerate(drafts):
            self._refuse_blank(draft, "" if first is None else f"notes[{first + index}].")
            if is_expired(draft):
                raise ArgumentError(
                    "expires_at",
                    f"must lie in the future, got {draft['expires_at'].isoformat()}; leave it out, or delete the note",
                )
        return self._write(drafts, None, create=create)

    def _refuse_blank(self, draft: Draft, prefix: str = "") -> None:
        """Raise an error if a draft leaves its note without any text; ``prefix`` begins the argument's name."""
        given = [name for name in TEXT_FIELDS if name in draft]
        if not given or not is_blank(draft):
            return
        namespace = draft.get("namespace", DEFAULT_NAMESPACE)
        known = [note for note in self._store.get(_names(draft), namespace=namespace) if note is not None]
        if known:
            stored = {name: getattr(known[0], name) for name in TEXT_FIELDS}
            if not is_blank({**stored, **draft}):
                return
        raise ArgumentError(
            f"{prefix}{given[0]}",
            "must not be blank or only punctuation in a note without title and summary; give the note some text, or "
            "delete it",
        )

    def _write(self, drafts: Sequence[Draft], model: Model | None, *, create: bool = True) -> list[Note]:
        """Write drafts; ``model`` is that of the vectors that they hold, if not the embedder's."""
        model = model or self._model()
        vectors = self._new_vectors(drafts, model)
        notes, pending = self._store.write(drafts, model=model, vectors=vectors, create=create)
        self._embed_pending(pending, model)
        return notes

    def documents(self, root: str, namespace: str) -> Mapping[str, str]:
        """Return the fingerprints of the documents known below ``root``, by their names."""
        return self._store.documents(root, namespace=namespace)

    def write_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Replace the notes of these documents in one transaction."""
        model, screened = self._model(), self.screen.documents(documents)
        # A document's draft is a whole note: what it leaves out is empty, whatever is stored.
        drafts: list[Draft] = [
            {"title": "", "summary": "", **draft, "namespace": namespace}
            for document in screened
            for draft in document.drafts
        ]
        vectors = self._new_vectors(drafts, model)
        counts, pending = self._store.write_documents(
            screened, namespace=namespace, model=model, vectors=vectors, adopt=self._adopt
        )
        self._embed_pending(pending, model)
        return counts

    def note_names(self, namespace: str) -> Iterator[NoteName]:
        """Yield the names of the notes of a namespace."""
        for note in self._store.notes(namespace=namespace):
            yield NoteName(note.id, note.path, note.title, aliases_of(note.metadata))

    def supersession_cycles(self, paths: Sequence[str], namespace: str) -> list[tuple[Sequence[str], str]]:
        """Return for each cycle of supersessions that the notes at ``paths`` are in its notes, and a message."""
        ids = [note.id for note in self._store.get(paths, namespace=namespace) if note is not None]
        return [(cycle, cycle_message(cycle)) for cycle in supersession_cycles(self._store, ids, namespace)]

    def remove_documents(self, root: str, names: Sequence[str], namespace: str) -> int:
        """Forget documents and delete their notes."""
        return self._store.remove_documents(root, names, namespace=namespace)

    def load(self, lines: Iterable[str | bytes], namespace: str | None, progress: Progress) -> int:
        """Write notes from lines of JSON, and return how many; an error names its line.

        What expired in the meantime is left out.
        """
        with self.screening() as screen:
            stored, late = self._load(lines, namespace, progress, screen)
        if late:
            notes = "one note was" if late == 1 else f"{late} notes were"
            warnings.warn(f"{notes} left out, having expired", RecollectWarning, stacklevel=3)
        return stored

    def _load(
        self, lines: Iterable[str | bytes], namespace: str | None, progress: Progress, screen: Screen
    ) -> tuple[int, int]:
        """Return how many notes were stored, and how many left out."""
        stored = late = 0
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        while batch := list(islice(numbered, EMBEDDED_NOTES)):
            read = [self._read(number, line, namespace, screen) for number, line in batch]
            drafts = [line for line in read if not is_expired(line[1])]
            late += len(read) - len(drafts)
            # Vectors of one model go together, and notes keep their order.
            for model, group in groupby(drafts, key=lambda line: line[2]):
                self._write_lines(list(group), model)
            stored += len(drafts)
            progress(stored + late, stored + late, "")
        return stored, late

    def reindex(self, progress: Progress) -> int:
        """Embed the notes that have no vector of the embedder's model, let it take over, and return how many."""
        embedder = self._needed_embedder()
        model = Model(embedder.name, embedder.dimension)
        total = sum(self._store.stats().notes.values())
        embedded = 0
        while True:
            last = None
            while pending := self._store.pending(model, EMBEDDED_NOTES, after=last):
                last = pending[-1].key
                vectors = self._embed([each.text for each in pending])
                self._store.embed(model, list(zip(pending, vectors, strict=True)))
                embedded += len(pending)
                progress(embedded, max(total, embedded), "")
            if self._store.activate(model):
                return embedded

    def model_name(self) -> str | None:
        """Return the name of the model whose vectors can be used here; ``None`` while any can."""
        if self._choice.embedder is not None:
            return self._choice.embedder.name
        model = self._store.model
        return model.name if model else None

    def unembedded(self) -> int:
        """Return how many notes have no vector of that model."""
        stats, model = self._store.stats(), self.model_name()
        return sum(stats.notes.values()) - stats.vectors.get(model, 0) if model else 0

    def _new_vectors(self, drafts: Sequence[Draft], model: Model | None) -> dict[bytes, Vector]:
        """Embed the texts of drafts that have no vector yet, before the transaction, and return them by digest."""
        texts = [] if model is None else self._store.texts_to_embed(drafts, model=model)
        return dict(zip(map(digest, texts), self._embed(texts), strict=True)) if texts else {}

    def _embed_pending(self, pending: Sequence[Pending], model: Model | None) -> None:
        """Embed the notes whose text another writer changed between the read and the transaction."""
        if pending and model is not None:
            vectors = self._embed([note.text for note in pending])
            self._store.embed(model, list(zip(pending, vectors, strict=True)))

    def _embed(self, texts: Sequence[EmbeddingText]) -> list[Vector]:
        """Return the vector of each text, or, of one that comes in pieces, a row for each piece."""
        embedder = self._needed_embedder()
        by_text = [embedding_chunks(text) for text in texts]
        asked = [piece for each in by_text for piece in each]
        made = embedder.embed_documents(asked)
        rows = iter(unit_rows(embedder.name, made, count=len(asked), dimension=embedder.dimension))
        return [_together(list(islice(rows, len(each)))) for each in by_text]

    def _model(self) -> Model | None:
        """Return the model that notes are embedded with; an embedder that must ask for its dimension does so now."""
        embedder = self._choice.embedder
        return None if embedder is None else Model(embedder.name, embedder.dimension)

    def _needed_embedder(self) -> Embedder:
        if self._choice.embedder is None:
            raise RecollectError(f"there is nothing to embed with ({self._choice.reason}); open with an embedder")
        return self._choice.embedder

    def _read(self, number: int, line: str | bytes, namespace: str | None, screen: Screen) -> _Line:
        try:
            draft, model = draft_from_line(line, self.model_name())
        except RecollectError as error:
            raise RecollectError(f"line {number}: {error}") from None
        if namespace is not None:
            draft["namespace"] = arguments.name("namespace", namespace)
        screened = screen.line(draft, number)
        return number, screened, model if "vector" in screened else ""

    def _known_model(self, name: str, draft: Draft) -> Model:
        """Return the model of this name that is in use here, or else one as the draft's vector has it."""
        known = self._model() or self._store.model
        return known if known and known.name == name else Model(name, draft["vector"].shape[-1])

    def _write_lines(self, lines: Sequence[_Line], model: str) -> None:
        """Write lines whose vectors are of one model, or that have none; if that fails, find the line at fault."""
        drafts = [draft for _, draft, _ in lines]
        try:
            for draft in drafts:
                self._refuse_blank(draft)
            self._write(drafts, self._known_model(model, drafts[0]) if model else None)
        except ArgumentError as error:
            if len(lines) == 1:
                raise RecollectError(f"line {lines[0][0]}: {error}") from None
            for line in lines:
                self._write_lines([line], model)


def _names(draft: Draft) -> list[str]:
    """Return the id and the path of a draft, as far as it has them."""
    return [draft[name] for name in ("id", "path") if draft.get(name)]


def _together(rows: list[Vector]) -> Vector:
    """Return the rows of a note's pieces as one array; that of a single piece is a plain vector."""
    import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

    return rows[0] if len(rows) == 1 else np.stack(rows)
