"""Memory: a store, an embedder and the search over both, behind one door."""

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

from recollect import arguments, clock
from recollect.access import AccessLog
from recollect.embedders import EmbedderChoice
from recollect.errors import ArgumentError, NoteNotFoundError, RecollectWarning, StoreError
from recollect.exchange import line_of
from recollect.figures import MemoryStats
from recollect.model import DEFAULT_NAMESPACE, Draft, Filters, Link, Note, draft_of
from recollect.progress import Progress, shown_progress
from recollect.rerankers import RerankerSpec
from recollect.retrieval import Preset, PresetSpec, Retrieval, SearchResult, preset_from
from recollect.retrieval import presets as known_presets
from recollect.retrieval.options import SearchKeywords, SearchOptions, takes_search_options
from recollect.retrieval.pipeline import EMBEDDER_SECONDS, RERANKER_SECONDS
from recollect.secrets import SecretsMode
from recollect.stores.base import Finding, Neighbour, Page, Store
from recollect.stores.supersession import SUPERSESSION_KINDS
from recollect.superseding import cycle_message, superseding_links, supersession_cycles, supersession_problems
from recollect.text import collapse_whitespace, well_formed
from recollect.writing import EMBEDDED_NOTES, NoteWriter

if TYPE_CHECKING:
    from recollect.embedders import Embedder
    from recollect.ingest import IngestReport
    from recollect.stores.base import Vector

__all__ = ["Key", "Memory", "MemoryStats"]

BATCH_NOTES = 2000
"""How many notes ``add_many`` writes in one transaction."""

EXPIRED_AT_ONCE = 100
"""How many notes that are due a single read removes: it takes some 30 ms, and the rest is kept back meanwhile."""

Key = str | Note
"""What names a note: its id, its path, or the note itself."""


class Memory:
    """Notes that can be added, found, linked and forgotten. Threads may share one; so may processes, each its own.

    Wherever a ``namespace`` can be given, none means the namespace ``default``; namespaces never see each other.
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
        """Join a store and an embedder; warn if the store's vectors are not the embedder's."""
        self._store = store
        self._log = AccessLog(store) if record_access and not store.read_only else None
        self._choice = choice
        self._secrets = secrets
        self._writer = NoteWriter(store, choice, secrets=secrets)
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
                f"the vectors of this memory are of {model.name}, not of {choice.embedder.name}: until reindex() "
                "re-embeds them, searches are by words alone",
                RecollectWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @property
    def embedder(self) -> Embedder | None:
        """What turns text into vectors here."""
        return self._choice.embedder

    @property
    def described_embedder(self) -> str:
        """What embeds here, and why it was chosen, in words."""
        return self._choice.describe()

    @property
    def embedder_warning(self) -> str:
        """Why vector search is off and what to install; empty if it is on, or if no embedder was asked for."""
        return self._choice.warning

    @property
    def preset(self) -> Preset:
        """How it searches where nothing else is asked for."""
        return self._retrieval.preset

    def with_secrets(self, secrets: SecretsMode | None) -> Memory:
        """Return a memory over the same store with another rule for secrets; closing either closes the store.

        ``secrets`` is as for :func:`recollect.open`.
        """
        memory = copy(self)
        memory._secrets = secrets
        memory._writer = NoteWriter(self._store, self._choice, secrets=secrets)
        return memory

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
        """Store a note and return it. One with this ``id`` or ``path`` is updated: what is not given stays.

        When this returns, the note is on the disk and can be found by words and by meaning. An unchanged text is not
        embedded again. ``vector`` is the note's vector, for those who embed by themselves. From ``expires_at`` on the
        note is gone; ``"never"`` keeps one for good that would have expired. ``supersedes`` names notes that this one
        replaces: it gets a link of that kind to each, and takes their place in searches. ``importance``, from 0 to 1,
        is used by the presets memini and weighted-graph; the default preset does not use it.
        """
        fields = {name: value for name, value in locals().items() if name not in ("self", "supersedes")}
        draft = draft_of(fields)
        if supersedes is not None:
            keys = [supersedes] if isinstance(supersedes, (str, Note)) else arguments.sequence("supersedes", supersedes)
            names = [_key(key) for key in keys]
            for field, name in (("namespace", draft.get("namespace", "")), *(("supersedes", name) for name in names)):
                self._writer.screening().name(field, name)  # an error would repeat it
            draft["links"] = superseding_links(self._store, draft, names)
        with self._writer.screening() as screen:
            note = self._writer.write(screen.drafts([draft]))[0]
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
        """Store many notes, mappings with a note's fields, or texts, and return them as notes.

        They are written in batches, each as a whole or not at all; with ``whole``, all of them are one batch. A
        :class:`Note` replaces all fields of the one that it updates, a mapping only those that it holds.
        """
        total = len(notes) if isinstance(notes, Sequence) else 0
        stored: list[Note] = []
        home = {} if namespace is None else {"namespace": arguments.name("namespace", namespace)}
        drafts = ({**draft_of(note, argument=f"notes[{place}]"), **home} for place, note in enumerate(notes))
        with self._writer.screening() as screen:
            for batch in self._batches(drafts, whole=whole):
                stored += self._writer.write(screen.drafts(batch, first=len(stored)), first=len(stored))
                if progress:
                    progress(len(stored), max(total, len(stored)), stored[-1].path or stored[-1].id)
        self._warn_of_supersessions(stored)
        return stored

    def _batches(self, drafts: Iterable[Draft], *, whole: bool) -> Iterator[list[Draft]]:
        """Yield drafts some at a time: fewer where vectors have to be made, for that takes longest."""
        batch: list[Draft] = []
        waiting = 0
        for draft in drafts:
            batch.append(draft)
            waiting += self.embedder is not None and "vector" not in draft
            if not whole and (len(batch) == BATCH_NOTES or waiting == EMBEDDED_NOTES):
                yield batch
                batch, waiting = [], 0
        if batch:
            yield batch

    def update(self, key: Key, *, namespace: str | None = None, **changes: Any) -> Note:
        """Change fields of a note that exists, named by id or path, and return it as it is now."""
        note = self._known(key, namespace)
        with self._writer.screening() as screen:
            changed = screen.drafts([draft_of(changes)])[0] | {"namespace": note.namespace}
            if changed.setdefault("id", note.id) != note.id:
                raise ArgumentError("id", "of a note cannot be changed; delete the note and add it anew")
            stored = self._writer.write([changed], create=False)[0]
        if "links" in changes:
            self._warn_of_supersessions([stored])
        return stored

    def get(self, key: Key, *, namespace: str | None = None) -> Note | None:
        """Return the note with this id, or else with this path; ``None`` if there is none."""
        home = _home(namespace, key)
        self._expire()
        (note,) = self._store.get([_key(key)], namespace=home)
        if note is not None and self._log is not None:
            self._log.note([note.id], home)
        return note

    def delete(self, *keys: Key, namespace: str | None = None) -> int:
        """Delete notes by id or path, with their words, vectors and links, and return how many there were."""
        by_home: dict[str, list[str]] = {}
        for key in keys:
            by_home.setdefault(_home(namespace, key), []).append(_key(key))
        return sum(self._store.delete(names, namespace=home) for home, names in by_home.items())

    def notes(
        self, *, namespace: str | None = None, filters: Filters | Mapping[str, Any] | None = None
    ) -> Iterator[Note]:
        """Walk over the notes of a namespace in the order in which they came."""
        self._expire()
        return self._store.notes(namespace=_home(namespace), filters=Filters.of(filters))

    def has(self, key: Key, *, namespace: str | None = None) -> bool:
        """Return whether there is a note with this id or path; unlike :meth:`get`, that does not count as reading."""
        self._expire()
        return self._store.get([_key(key)], namespace=_home(namespace, key)) != [None]

    def count(self, *, namespace: str | None = None) -> int:
        """Return how many notes a namespace has, without a look at any other."""
        self._expire()
        return self._store.note_counts([], namespace=_home(namespace))[0]

    def page(
        self,
        limit: int = 100,
        *,
        after: int = 0,
        namespace: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
    ) -> Page:
        """Return the next notes of a namespace in the order in which they came, from behind the place ``after`` on.

        The page's ``next`` is where to go on, ``None`` at the end; it stays valid when notes are deleted meanwhile.
        """
        least, place = arguments.at_least_one("limit", limit), arguments.count("after", after)
        self._expire()
        return self._store.page(least, namespace=_home(namespace), filters=Filters.of(filters), after=place)

    @takes_search_options
    def search(
        self, query: str, *, options: SearchOptions | None = None, **keywords: Unpack[SearchKeywords]
    ) -> SearchResult:
        """Return the best notes for a query, ranked by lexical and vector search and by links.

        The keywords are the fields of :class:`~recollect.SearchOptions`, which documents them; with ``options`` they
        change it.
        """
        options = SearchOptions.of(options, keywords)
        self._expire()
        result = self._retrieval.search(query, options=options)
        self._warn_if_lexical_only(result, options)
        if options.now is None and options.question_date is None:  # a search as of another time is no access now
            self._accessed(result, options.namespace)
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
        """Search for the same query under several presets, by default all there are, and return the results by name."""
        specs = known_presets() if presets is None else arguments.sequence("presets", presets)
        chosen: dict[str, Preset] = {}
        for spec in specs:
            preset = preset_from(spec)
            if preset.name in chosen:
                raise ArgumentError("presets", f"two of them are called {preset.name!r}; give one another name")
            chosen[preset.name] = preset
        options = SearchOptions.of(options, keywords)
        self._expire()
        results = {
            name: self._retrieval.search(query, options=options, preset=preset) for name, preset in chosen.items()
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
        """Link a note to another by id, path or name, and return whether the link is new; the target may come later."""
        made = Link(arguments.name("kind", kind), arguments.name("target", _key(target)))
        for field, name in made.to_dict().items():
            self._writer.screening().name(field, name)
        created = self._store.link(_key(source), made, namespace=_home(namespace, source))
        if made.kind in SUPERSESSION_KINDS:
            self._warn_of_supersessions([self._known(source, namespace)])
        return created

    def unlink(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Take a link away and return whether it was there."""
        made = Link(arguments.name("kind", kind), arguments.name("target", _key(target)))
        return self._store.unlink(_key(source), made, namespace=_home(namespace, source))

    def neighbours(self, key: Key, *, namespace: str | None = None) -> list[Neighbour]:
        """Return the notes beside it, linked with it, that name it or are named by it, or share an entity with it."""
        self._expire()
        return self._store.neighbours(_key(key), namespace=_home(namespace, key))

    def ingest(
        self,
        source: str | PathLike[str],
        *,
        prefix: str = "",
        adopt: bool = False,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> IngestReport:
        """Take in a file, or a folder of Markdown, text and JSONL; what did not change is not read again.

        Notes of files that are gone are removed. A file that cannot be read is named in the report, and the rest goes
        on. So is one whose path is that of a note from elsewhere that says something else; with ``adopt``, for example
        after a folder was moved, such notes become the file's. Without ``progress``, a bar is drawn if standard error
        is a terminal.
        """
        from recollect.ingest import ingest  # noqa: PLC0415 (brings Markdown and YAML)

        with _progress(progress, "Reading") as told:
            library = NoteWriter(self._store, self._choice, adopt=adopt, secrets=self._secrets)
            home = _home(namespace)
            with library.screen as screen:
                screen.name("namespace", home)
                return ingest(Path(source), library, prefix=prefix, namespace=home, progress=told, screen=screen.file)

    def ingest_texts(
        self,
        texts: Mapping[str, str],
        *,
        prefix: str = "",
        adopt: bool = False,
        namespace: str | None = None,
    ) -> IngestReport:
        """Take in the texts of files by their names, as :meth:`ingest` takes in files; what did not change is left.

        For who has the texts but not the files. A name says how its text is read, and a text replaces all notes of the
        one that came before under its name; notes of texts that are not among these stay.
        """
        from recollect.ingest import ingest_texts  # noqa: PLC0415 (brings Markdown and YAML)

        library = NoteWriter(self._store, self._choice, adopt=adopt, secrets=self._secrets)
        home = _home(namespace)
        with library.screen as screen:
            screen.name("namespace", home)
            return ingest_texts(texts, library, prefix=prefix, namespace=home, screen=screen.file)

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Embed the notes that have no vector of the embedder's model, and return how many.

        It can be interrupted and called again: what is embedded stays. Until every note has its vector, searches use
        those of the model before.
        """
        with _progress(progress, "Embedding") as told:
            return self._writer.reindex(told)

    def export(self, *, namespace: str | None = None, vectors: bool = True) -> Iterator[str]:
        """Yield each note as a line of JSON, with its vector unless told otherwise, for all namespaces or one."""
        self._expire()
        walk = self._store.notes(namespace=None if namespace is None else arguments.name("namespace", namespace))
        while batch := list(islice(walk, EMBEDDED_NOTES)):
            model, found = self._store.vectors_of(batch) if vectors else (None, [None] * len(batch))
            for note, vector in zip(batch, found, strict=True):
                yield line_of(note, model.name if model else "", vector)

    def load(
        self,
        lines: Iterable[str | bytes],
        *,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Store notes from the lines that :meth:`export` makes, and return how many; an error names its line.

        Vectors are taken over where they are of the model in use here; other notes are embedded. What expired since
        it was exported is left out, and a :class:`~recollect.RecollectWarning` says how many that were.
        """
        return self._writer.load(lines, namespace, progress or (lambda *_: None))

    def stats(self) -> MemoryStats:
        """Return what the memory holds, and what it embeds with."""
        self._expire()
        return MemoryStats(self._store.stats(), self._choice.describe(), self._writer.unembedded())

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Look at every part and return what was found; with ``repair``, first rebuild what derives from the notes.

        The embedder is loaded and embeds one word. Notes that supersede each other in a circle are a warning.
        """
        found = self._store.repair() if repair else self._store.check()
        circles = Finding("supersessions", "", repairable=False, warning="; ".join(self._supersession_cycles()))
        failure = self._embedder_failure()
        if failure:
            return [*found, circles, Finding("embedder", failure, repairable=False)]
        lacking, model = self._writer.unembedded(), self._writer.model_name()
        notes = "note has" if lacking == 1 else "notes have"
        problem = f"{lacking} {notes} no vector of {model}; reindex makes them" if lacking else ""
        off = "vector search is off: to use it, open the memory with an embedder"
        warning = "" if self.embedder is not None else self._choice.warning or off
        return [*found, circles, Finding("embedder", problem, repairable=False, warning=warning)]

    def _supersession_cycles(self) -> Iterator[str]:
        """Yield a message for each cycle of supersessions, in all namespaces."""
        if not self._store.stats().links:
            return
        by_namespace: dict[str, list[str]] = {}
        for note in self._store.notes(namespace=None):
            if any(link.kind in SUPERSESSION_KINDS for link in note.links):
                by_namespace.setdefault(note.namespace, []).append(note.id)
        for namespace, ids in by_namespace.items():
            yield from map(cycle_message, supersession_cycles(self._store, ids, namespace))

    def _embedder_failure(self) -> str:
        """Return in one line why the embedder cannot embed a word; empty if it can, or if there is none."""
        if self.embedder is None:
            return ""
        try:
            self.embedder.embed_query("word")
        except Exception as error:  # noqa: BLE001 (an embedder may be the caller's own and raise anything)
            return f"cannot embed: {collapse_whitespace(str(error)) or type(error).__name__}"
        return ""

    def backup(self, target: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write a compact, consistent copy while others go on reading and writing."""
        self._expire()
        self._store.backup(Path(fspath(target)).expanduser(), overwrite=overwrite)

    def close(self) -> None:
        """Let go of the store; whatever was returned before is safe already."""
        try:
            if self._log is not None:
                self._log.close()
        finally:
            self._store.close()

    def _expire(self) -> None:
        """Remove what is due before something is read. If that cannot be, no harm is done: the store keeps it back."""
        with suppress(StoreError):
            self._store.expire(clock.now(), most=EXPIRED_AT_ONCE)

    def _warn_of_supersessions(self, notes: Sequence[Note]) -> None:
        """Warn of notes that supersede each other in a circle, or themselves."""
        for problem in supersession_problems(self._store, notes):
            warnings.warn(problem, RecollectWarning, stacklevel=3)

    def _warn_if_lexical_only(self, result: SearchResult, options: SearchOptions) -> None:
        """Add a warning to the trace if there was no vector search because no model is installed."""
        if self._choice.missing and options.vector is None and options.mode != "bm25":
            result.trace.warnings.append(self._choice.warning)

    def _accessed(self, result: SearchResult, namespace: str | None) -> None:
        """Remember that the notes of a result were read just now."""
        if self._log is not None:
            self._log.note((hit.id for hit in result), _home(namespace))

    def _known(self, key: Key, namespace: str | None) -> Note:
        (note,) = self._store.get([_key(key)], namespace=_home(namespace, key))
        if note is None:
            raise NoteNotFoundError(f"there is no note {_key(key)!r} in namespace {_home(namespace, key)!r}")
        return note


def _key(key: Key) -> str:
    return key.id if isinstance(key, Note) else well_formed(arguments.text("key", key))


def _home(namespace: str | None, key: Key = "") -> str:
    if namespace is not None:
        return arguments.name("namespace", namespace)
    return key.namespace if isinstance(key, Note) else DEFAULT_NAMESPACE


def _progress(progress: Progress | None, label: str) -> AbstractContextManager[Progress]:
    return shown_progress(label) if progress is None else nullcontext(progress)
