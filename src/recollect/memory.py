"""Memory: a store, an embedder and the search pipeline behind one object."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from datetime import datetime
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from recollect import arguments
from recollect.access import AccessLog
from recollect.embedders import EmbedderChoice
from recollect.errors import ArgumentError, NoteNotFoundError, RecollectWarning, StoreError
from recollect.health import MemoryStats, check_memory
from recollect.jsonl import line_of
from recollect.model import DEFAULT_NAMESPACE, Draft, Filters, Link, Note, draft_of
from recollect.progress import Progress, shown_progress
from recollect.rerankers import RerankerSpec
from recollect.retrieval import Preset, PresetSpec, Retrieval, SearchResult, preset_from
from recollect.retrieval import presets as all_presets
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.retrieval.pipeline import EMBEDDER_SECONDS, RERANKER_SECONDS
from recollect.secrets import SecretsMode
from recollect.stores.base import Finding, Neighbour, Page, Store
from recollect.stores.search_index import SUPERSESSION_KINDS
from recollect.text import well_formed
from recollect.writer import EMBED_BATCH, NoteWriter, superseding_links, supersession_problems

if TYPE_CHECKING:
    from recollect.embedders import Embedder
    from recollect.ingest import IngestReport
    from recollect.stores.base import Vector

BATCH_NOTES = 2000
"""The maximum number of notes that ``add_many`` writes in one transaction."""
MAX_EXPIRED_PER_READ = 100
"""The maximum number of expired notes that one read deletes, in about 30 ms; the store hides those that remain."""
Key = str | Note
"""A note's id, its path, or the note itself."""


class Memory:
    """Stores, searches, links and deletes notes. Threads can share a memory; each process must open the store itself.

    Without a ``namespace``, methods use the namespace of the :class:`Note` that is passed as a key, else the namespace
    ``default``. Namespaces are isolated from each other.
    """

    def __init__(
        self,
        store: Store,
        choice: EmbedderChoice,
        *,
        reranker: RerankerSpec = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
        preset: PresetSpec = "default",
        record_access: bool = True,
        secrets: SecretsMode | None = None,
        embedder_timeout: float = EMBEDDER_SECONDS,
        reranker_timeout: float = RERANKER_SECONDS,
    ) -> None:
        """Combine a store with an embedder and the search; warn if another model computed the stored vectors."""
        self._store = store
        self._log = AccessLog(store) if record_access and not store.read_only else None
        self._shared_choice = [choice]  # a list, because the memories of with_secrets share the choice
        self._secrets = secrets
        self._retrieval = Retrieval(
            store,
            embedder=choice.embedder,
            reranker=reranker,
            aliases=aliases,
            preset=preset,
            embedder_timeout=embedder_timeout,
            reranker_timeout=reranker_timeout,
        )
        model = store.model
        if choice.embedder is not None and model is not None and choice.embedder.name != model.name:
            warnings.warn(
                f"vector search is off: the stored vectors are of {model.name}, the embedder is "
                f"{choice.embedder.name}; reindex the memory, or choose the embedder of its vectors",
                RecollectWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _writer(self) -> NoteWriter:
        """A new writer, so that a write uses one embedder even if :meth:`set_embedder` is called meanwhile."""
        return NoteWriter(self._store, self.embedder_choice, secrets=self._secrets)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, if there is one."""
        return self.embedder_choice.embedder

    @property
    def embedder_choice(self) -> EmbedderChoice:
        """The embedder and the reason for it."""
        return self._shared_choice[0]

    @property
    def vector_model(self) -> str | None:
        """The name of the model of the stored vectors; ``None`` if there are no vectors."""
        return self._store.model.name if self._store.model else None

    @property
    def described_embedder(self) -> str:
        """One line that names the embedder and says why it was chosen."""
        return self.embedder_choice.describe()

    @property
    def embedder_warning(self) -> str:
        """Why vector search is off, and what to install; empty if it is on, or turned off by ``embedder=None``."""
        return self.embedder_choice.warning

    @property
    def preset(self) -> Preset:
        """The preset of searches that do not name a preset."""
        return self._retrieval.preset

    def with_secrets(self, secrets: SecretsMode | None) -> Memory:
        """Return a memory on the same store with other ``secrets``; closing either memory closes the store."""
        memory = copy(self)
        memory._secrets = secrets
        return memory

    def set_embedder(self, choice: EmbedderChoice) -> None:
        """Use another embedder in this memory and in those of :meth:`with_secrets`; see also :meth:`reindex`.

        Other threads may use the memory meanwhile: a search or write that is running ends with the previous embedder.
        """
        self._shared_choice[0] = choice
        self._retrieval.embedder = choice.embedder

    def add(
        self,
        content: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 (the field's name)
        path: str | None = None,
        title: str | None = None,
        summary: str | None = None,
        tags: Sequence[str] | None = None,
        created_at: datetime | str | None = None,
        updated_at: datetime | str | None = None,
        last_accessed_at: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        importance: float | None = None,
        session: str | None = None,
        position: int | None = None,
        links: Sequence[Link | tuple[str, str] | str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: str | None = None,
        vector: Sequence[float] | Vector | None = None,
        supersedes: Key | Sequence[Key] | None = None,
    ) -> Note:
        """Store a note and return it.

        If a note has this ``id`` or ``path``, update that note; fields that are not passed keep their values. When this
        method returns, the note is on disk and searchable. An unchanged text is not embedded again; with ``vector``
        the text is not embedded at all. The note is deleted at ``expires_at``; ``"never"`` removes an expiry time.
        ``supersedes`` names the notes that this note replaces: this note gets a link ``supersedes`` to each of them,
        and searches rank it above them. Only the presets memini and weighted-graph use ``importance`` (from 0 to 1).
        """
        fields = {name: value for name, value in locals().items() if name not in ("self", "supersedes")}
        draft = draft_of(fields)
        if supersedes is not None:
            keys = [supersedes] if isinstance(supersedes, (str, Note)) else arguments.sequence("supersedes", supersedes)
            superseded_keys = [_id_or_path(key) for key in keys]
            # Check these names before the lookup: the error for a missing note would quote a secret in them.
            self._writer.secret_filter().check_name("namespace", draft.get("namespace", ""))
            for superseded_key in superseded_keys:
                self._writer.secret_filter().check_name("supersedes", superseded_key)
            draft["links"] = superseding_links(self._store, draft, superseded_keys)
        with self._writer.secret_filter() as secrets:
            note = self._writer.write([secrets.draft(draft)])[0]
        self._warn_of_supersessions([note])
        return note

    def add_many(
        self,
        notes: Iterable[Note | str | Mapping[str, Any]],
        *,
        namespace: str | None = None,
        whole: bool = False,
        progress: Progress | None = None,
    ) -> list[Note]:
        """Store many notes, and return them. Pass each as a :class:`Note`, a mapping with fields of a note, or a text.

        Notes are written in batches, each in one transaction; with ``whole``, all notes are one batch. A :class:`Note`
        replaces all fields of the stored note that it updates; a mapping replaces only the fields that it contains.
        """
        total = len(notes) if isinstance(notes, Sequence) else 0  # the length of other iterables is unknown
        stored: list[Note] = []
        overrides = {} if namespace is None else {"namespace": arguments.name("namespace", namespace)}
        drafts = ({**draft_of(note, argument=f"notes[{index}]"), **overrides} for index, note in enumerate(notes))
        with self._writer.secret_filter() as secrets:
            for batch in self._batches(drafts, whole=whole):
                start = len(stored)
                filtered = [secrets.draft(draft, f"notes[{start + index}].") for index, draft in enumerate(batch)]
                stored += self._writer.write(filtered, first_index=start)
                if progress:
                    progress(len(stored), max(total, len(stored)), stored[-1].path or stored[-1].id)
        self._warn_of_supersessions(stored)
        return stored

    def _batches(self, drafts: Iterable[Draft], *, whole: bool) -> Iterator[list[Draft]]:
        """Yield batches of drafts; batches to embed are smaller, because embedding takes longer than writing."""
        batch: list[Draft] = []
        unembedded = 0
        for draft in drafts:
            batch.append(draft)
            if self.embedder is not None and "vector" not in draft:
                unembedded += 1
            if not whole and (len(batch) == BATCH_NOTES or unembedded == EMBED_BATCH):
                yield batch
                batch, unembedded = [], 0
        if batch:
            yield batch

    def update(self, /, key: Key, *, namespace: str | None = None, **changes: Any) -> Note:
        """Change fields of an existing note and return it."""
        note = self._get_existing(key, namespace)
        with self._writer.secret_filter() as secrets:
            draft = secrets.draft(draft_of(changes)) | {"namespace": note.namespace}
            if draft.setdefault("id", note.id) != note.id:
                raise ArgumentError("id", "of a note cannot be changed; delete the note and add a new one")
            stored = self._writer.write([draft], create=False)[0]
        if "links" in changes:
            self._warn_of_supersessions([stored])
        return stored

    def get(self, key: Key, *, namespace: str | None = None) -> Note | None:
        """Return the note with this id, or else the note with this path; ``None`` if no note has either."""
        namespace = _namespace(namespace, key)
        self._expire()
        (note,) = self._store.get([_id_or_path(key)], namespace=namespace)
        if note is not None and self._log is not None:
            self._log.record([note.id], namespace)
        return note

    def delete(self, *keys: Key, namespace: str | None = None) -> int:
        """Delete notes with their vectors and links, and return how many existed."""
        by_namespace: dict[str, list[str]] = {}
        for key in keys:
            by_namespace.setdefault(_namespace(namespace, key), []).append(_id_or_path(key))
        return sum(self._store.delete(ids_or_paths, namespace=name) for name, ids_or_paths in by_namespace.items())

    def notes(
        self, *, namespace: str | None = None, filters: Filters | Mapping[str, Any] | None = None
    ) -> Iterator[Note]:
        """Iterate over the notes of a namespace in the order in which they were added."""
        self._expire()
        return self._store.notes(namespace=_namespace(namespace), filters=Filters.of(filters))

    def has(self, key: Key, *, namespace: str | None = None) -> bool:
        """Return whether a note has this id or path; unlike :meth:`get`, this does not count as an access."""
        self._expire()
        return self._store.get([_id_or_path(key)], namespace=_namespace(namespace, key)) != [None]

    def count(self, *, namespace: str | None = None) -> int:
        """Return how many notes a namespace has."""
        self._expire()
        return self._store.note_counts([], namespace=_namespace(namespace))[0]

    def page(
        self,
        limit: int = 100,
        *,
        after: int = 0,
        namespace: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
    ) -> Page:
        """Return up to ``limit`` notes of a namespace after the cursor ``after``, in the order of their addition.

        The field ``next`` is the cursor for the next page, if there is one. It stays valid when notes are deleted.
        """
        limit, after = arguments.at_least_one("limit", limit), arguments.count("after", after)
        self._expire()
        return self._store.page(limit, namespace=_namespace(namespace), filters=Filters.of(filters), after=after)

    @takes_search_options
    def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Return the best notes for a query, ranked by lexical and vector search and by links.

        The keywords are the fields of :class:`~recollect.SearchOptions`, described there; they override ``options``.
        """
        options = SearchOptions.of(options, keywords)
        self._expire()
        result = self._retrieval.search(query, options=options)
        self._warn_if_lexical_only(result, options)
        is_as_of_now = options.now is None and options.question_date is None
        if self._log is not None and is_as_of_now:  # a search as of another date does not count as an access
            self._log.record((hit.id for hit in result), _namespace(options.namespace))
        return result

    @takes_search_options
    def compare(
        self,
        query: str,
        presets: Iterable[PresetSpec] | None = None,
        *,
        options: SearchOptions | None = None,
        **keywords: Unpack[SearchKeywords],
    ) -> dict[str, SearchResult]:
        """Search with several presets, by default all, and return each result by the name of its preset."""
        specs = all_presets() if presets is None else arguments.sequence("presets", presets)
        by_name: dict[str, Preset] = {}
        for spec in specs:
            preset = preset_from(spec)
            if preset.name in by_name:
                raise ArgumentError("presets", f"contains two presets called {preset.name!r}; rename one")
            by_name[preset.name] = preset
        options = SearchOptions.of(options, keywords)
        self._expire()
        results = {
            name: self._retrieval.search(query, options=options, preset=preset) for name, preset in by_name.items()
        }
        for result in results.values():
            self._warn_if_lexical_only(result, options)
        return results

    @takes_search_options
    def search_many(
        self, queries: Iterable[str], *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> list[SearchResult]:
        """Search for each of several queries, with the options of :meth:`search`."""
        options = SearchOptions.of(options, keywords)
        return [self.search(query, options=options) for query in arguments.sequence("queries", queries)]

    def link(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Link a note to a target (its id, path or name), which need not exist yet; return whether the link is new."""
        link = Link(arguments.name("kind", kind), arguments.name("target", _id_or_path(target)))
        for field, value in link.to_dict().items():
            self._writer.secret_filter().check_name(field, value)
        created = self._store.link(_id_or_path(source), link, namespace=_namespace(namespace, source))
        if link.kind in SUPERSESSION_KINDS:
            self._warn_of_supersessions([self._get_existing(source, namespace)])
        return created

    def unlink(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Remove a link and return whether it existed."""
        link = Link(arguments.name("kind", kind), arguments.name("target", _id_or_path(target)))
        return self._store.unlink(_id_or_path(source), link, namespace=_namespace(namespace, source))

    def neighbours(self, key: Key, *, namespace: str | None = None) -> list[Neighbour]:
        """Return the notes connected to a note: by position, links, mentions or a shared entity."""
        self._expire()
        return self._store.neighbours(_id_or_path(key), namespace=_namespace(namespace, key))

    def ingest(
        self,
        source: str | PathLike[str],
        *,
        prefix: str = "",
        adopt: bool = False,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Ingest a file, or a folder of Markdown, text and JSONL; unchanged files are skipped.

        Notes of deleted files are deleted. The path of every note starts with ``prefix``. The report lists files that
        cannot be read, and files whose path already belongs to a note from another source. With ``adopt``, a file takes
        over such a note, for example after a folder was moved. Without ``progress``, a bar is drawn if standard error
        is a terminal.
        """
        from recollect.ingest import ingest  # noqa: PLC0415 (imports Markdown and YAML)

        writer = NoteWriter(self._store, self.embedder_choice, adopt=adopt, secrets=self._secrets)
        namespace = _namespace(namespace)
        with _progress_or_bar(progress, "Reading") as notify, writer.document_filter as secrets:
            secrets.check_name("namespace", namespace)
            return ingest(
                Path(source), writer, prefix=prefix, namespace=namespace, progress=notify, screen=secrets.file
            )

    def ingest_texts(
        self, texts: Mapping[str, str], *, prefix: str = "", adopt: bool = False, namespace: str | None = None
    ) -> IngestReport:
        """Ingest a mapping from file names to texts, as :meth:`ingest` does with files.

        The suffix of a name determines the format. A text replaces all notes of an earlier text with the same name; the
        notes of other texts stay.
        """
        from recollect.ingest import ingest_texts  # noqa: PLC0415 (imports Markdown and YAML)

        writer = NoteWriter(self._store, self.embedder_choice, adopt=adopt, secrets=self._secrets)
        namespace = _namespace(namespace)
        with writer.document_filter as secrets:
            secrets.check_name("namespace", namespace)
            return ingest_texts(texts, writer, prefix=prefix, namespace=namespace, screen=secrets.file)

    def reindex(self, *, embedder: EmbedderChoice | None = None, progress: Progress | None = None) -> int:
        """Embed the notes that have no vector of the embedder's model, and return how many were embedded.

        After an interruption, call it again: it keeps the vectors that it has already written. Until every note has a
        vector of the new model, searches use the vectors of the previous model. ``embedder`` is another embedder, which
        the memory uses as soon as all notes have its vectors.
        """
        with _progress_or_bar(progress, "Embedding") as notify:
            embedded = 0
            if embedder is not None:
                embedded = NoteWriter(self._store, embedder).reindex(notify)
                self.set_embedder(embedder)
            return embedded + self._writer.reindex(notify)  # after a change: the notes that were added meanwhile

    def export(self, *, namespace: str | None = None, vectors: bool = True) -> Iterator[str]:
        """Yield the notes of ``namespace``, by default of all, as lines of JSON; ``vectors`` adds their vectors."""
        self._expire()
        notes = self._store.notes(namespace=None if namespace is None else arguments.name("namespace", namespace))
        while batch := list(islice(notes, EMBED_BATCH)):
            model, note_vectors = self._store.vectors_of(batch) if vectors else (None, [None] * len(batch))
            for note, vector in zip(batch, note_vectors, strict=True):
                yield line_of(note, model.name if model else "", vector)

    def load(
        self, lines: Iterable[str | bytes], *, namespace: str | None = None, progress: Progress | None = None
    ) -> int:
        """Store notes from lines that :meth:`export` yielded, such as an open file; return how many were stored.

        If a line cannot be stored, the error contains the number of the line, and the notes before it stay stored. The
        vector in a line is stored if this memory uses the vector's model; otherwise the note is embedded. Notes that
        have expired are skipped, with a :class:`~recollect.RecollectWarning`.
        """
        return self._writer.load(lines, namespace, progress or (lambda *_: None))

    def stats(self) -> MemoryStats:
        """Return the statistics of the store, a description of the embedder, and how many notes lack a vector."""
        self._expire()
        return MemoryStats(self._store.stats(), self.embedder_choice.describe(), self._writer.unembedded())

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Check every part and return the findings; ``repair`` first rebuilds the data that is computed from notes.

        The embedder is loaded and embeds one word. A finding has a warning if notes supersede each other.
        """
        return check_memory(self._store, self._writer, self.embedder_choice, repair=repair)

    def backup(self, target: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write a compact, consistent copy of the store; other threads and processes may read and write meanwhile."""
        self._expire()
        self._store.backup(Path(fspath(target)).expanduser(), overwrite=overwrite)

    def close(self) -> None:
        """Write pending access times and close the store."""
        try:
            if self._log is not None:
                self._log.close()
        finally:
            self._store.close()

    def _expire(self) -> None:
        """Delete expired notes before a read. An error is ignored, because the store hides expired notes anyway."""
        with suppress(StoreError):
            self._store.expire(arguments.now(), limit=MAX_EXPIRED_PER_READ)

    def _warn_of_supersessions(self, notes: Sequence[Note]) -> None:
        """Warn of notes that supersede each other, or themselves."""
        for problem in supersession_problems(self._store, notes):
            warnings.warn(problem, RecollectWarning, stacklevel=3)

    def _warn_if_lexical_only(self, result: SearchResult, options: SearchOptions) -> None:
        """Add a warning to the trace if the search needed an embedder, and none is available."""
        if self.embedder_choice.warning and options.vector is None and options.mode != "bm25":
            result.trace.warnings.append(self.embedder_choice.warning)

    def _get_existing(self, key: Key, namespace: str | None) -> Note:
        name = _namespace(namespace, key)
        (note,) = self._store.get([_id_or_path(key)], namespace=name)
        if note is None:
            raise NoteNotFoundError(f"there is no note {_id_or_path(key)!r} in namespace {name!r}")
        return note


def _id_or_path(key: Key) -> str:
    return key.id if isinstance(key, Note) else well_formed(arguments.text("key", key))


def _namespace(namespace: str | None, key: Key = "") -> str:
    if namespace is not None:
        return arguments.name("namespace", namespace)
    return key.namespace if isinstance(key, Note) else DEFAULT_NAMESPACE


def _progress_or_bar(progress: Progress | None, label: str) -> AbstractContextManager[Progress]:
    return shown_progress(label) if progress is None else nullcontext(progress)
