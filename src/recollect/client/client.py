"""AsyncClient: the methods of a memory over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from itertools import islice
from math import fsum, isfinite
from os import PathLike
from pathlib import PurePath
from typing import Any, Self
from urllib.parse import quote

from recollect import arguments
from recollect.client.connection import Connection
from recollect.errors import ArgumentError, ArgumentTypeError, NoteNotFoundError, ServerError
from recollect.ingest import IngestReport, Problem
from recollect.model import NOTE_FIELDS, Candidate, Filters, Hit, Note, RankedHits, Step
from recollect.retrieval import Preset
from recollect.stores.base import Neighbour
from recollect.text import well_formed

Key = str | Note
Document = Mapping[str, str] | tuple[str | PathLike[str], str]
"""The text of a file and its path: a pair, or a mapping with ``path`` and ``content``."""

BATCH_SIZE = 1000
"""The server's limit of notes in a batch."""
PAGE_SIZE = 500
"""The server's limit of notes in a listing."""


@dataclass(frozen=True, slots=True, repr=False)
class RemoteResult(RankedHits):
    """The result of a search on a server: a sequence of hits, best first.

    >>> result = RemoteResult("tea", (), ("vector search is unavailable",))
    >>> len(result), result.warnings
    (0, ('vector search is unavailable',))
    """

    query: str
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    """What the search could not use, and what to do about it."""
    trace: Mapping[str, Any] = field(default_factory=dict)
    """The trace as JSON, if requested."""
    explanation: str = ""
    """The explanation as text, if requested."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""
    excluded: tuple[str, ...] = ()
    """Terms that the query excludes by NOT; no hit contains one."""


class AsyncClient:
    """A memory behind the HTTP API: the methods of :class:`~recollect.AsyncMemory`, with their arguments and results.

    ``url`` is the address of ``recollect serve``, ``key`` the text of a key, ``namespace`` the default namespace; if it
    is missing, it is the key's only one, or ``default``. Requests are retried up to ``retries`` times if the server is
    busy or cannot be reached. Errors are those of a memory; a server that cannot be reached or fails is a
    :class:`~recollect.ServerError`.

    >>> client = AsyncClient("http://localhost:7700", key="rk_...", namespace="tea", timeout=10)
    >>> client
    AsyncClient('http://localhost:7700', namespace='tea')
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        namespace: str | None = None,
        timeout: float = 30.0,
        *,
        retries: int = 4,
        backoff: float = 0.5,
    ) -> None:
        self._connection = Connection(url, key=key, timeout=timeout, retries=retries, backoff=backoff)
        self.namespace = None if namespace is None else arguments.name("namespace", namespace)

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.server!r}, namespace={self.namespace!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def copy(self) -> AsyncClient:
        """Return another client of the same server with its own connections, for another event loop."""
        own = self._connection
        return AsyncClient(own.url, own.key, self.namespace, own.timeout, retries=own.retries, backoff=own.backoff)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def add(
        self,
        content: str | None = None,
        *,
        supersedes: Key | Sequence[Key] | None = None,
        namespace: str | None = None,
        **fields: Any,
    ) -> Note:
        """Store a note and return it; see :meth:`recollect.Memory.add`.

        A note without id and path is not sent again if the connection breaks, since that could store it twice.
        """
        idempotent = bool(fields.get("id") or fields.get("path"))
        older = [supersedes] if isinstance(supersedes, (str, Note)) else supersedes or ()
        superseded = [key.id if isinstance(key, Note) else key for key in older]
        draft = note_to_json({"content": content, "supersedes": superseded or None, **fields})
        return note_from_json(await self._request("POST", "/v1/notes", namespace, body=draft, idempotent=idempotent))

    async def add_many(
        self, notes: Iterable[Note | str | Mapping[str, Any]], *, namespace: str | None = None
    ) -> list[str]:
        """Store many notes, in transactions of 1,000, and return their ids."""
        ids: list[str] = []
        remaining = iter(notes)
        while batch := [note_to_json(note) for note in islice(remaining, BATCH_SIZE)]:
            idempotent = all(draft.get("id") or draft.get("path") for draft in batch)
            body = {"notes": batch}
            ids += (await self._request("POST", "/v1/notes/batch", namespace, body=body, idempotent=idempotent))["ids"]
        return ids

    async def update(self, key: Key, *, namespace: str | None = None, **changes: Any) -> Note:
        """Change fields of a note, named by id or path, and return it."""
        return note_from_json(await self._request("PATCH", _note_path(key), namespace, key, body=note_to_json(changes)))

    async def get(self, key: Key, *, namespace: str | None = None) -> Note | None:
        """Return the note with this id, or else with this path; ``None`` if there is none."""
        try:
            return note_from_json(await self._request("GET", _note_path(key), namespace, key))
        except NoteNotFoundError:
            return None

    async def delete(self, *keys: Key, namespace: str | None = None) -> int:
        """Delete notes by id or path, one by one, and return how many existed."""
        deleted = 0
        for key in keys:
            try:
                await self._request("DELETE", _note_path(key), namespace, key)
            except NoteNotFoundError:
                continue
            deleted += 1
        return deleted

    async def notes(
        self, *, namespace: str | None = None, filters: Filters | Mapping[str, Any] | None = None
    ) -> AsyncIterator[Note]:
        """Iterate over the notes of a namespace in insertion order, page by page."""
        parameters = [*filters_to_parameters(filters), ("limit", str(PAGE_SIZE))]
        cursor: str | None = ""
        while cursor is not None:
            page = [*parameters, ("cursor", cursor)] if cursor else parameters
            data = await self._request("GET", "/v1/notes", namespace, parameters=page)
            for note in data["notes"]:
                yield note_from_json(note)
            cursor = data["next_cursor"]

    async def search(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Search; see :meth:`recollect.Memory.search`. ``trace=True`` adds the trace."""
        return result_from_json(await self._search("/v1/search", query, namespace, options))

    async def explain(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Search with the trace and an ``explanation`` as text."""
        return result_from_json(await self._search("/v1/explain", query, namespace, options))

    async def compare(
        self, query: str, presets: Iterable[str] | None = None, *, namespace: str | None = None, **options: Any
    ) -> dict[str, RemoteResult]:
        """Search with several presets, by default all, and return the results by name."""
        names = {} if presets is None else {"presets": list(arguments.sequence("presets", presets))}
        data = await self._search("/v1/compare", query, namespace, {**options, **names})
        return {name: result_from_json(result) for name, result in data["results"].items()}

    async def link(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Link a note to another by id, path or name, and return whether the link is new."""
        body = _link_to_json(source, target, kind)
        return bool((await self._request("POST", "/v1/links", namespace, source, body=body))["created"])

    async def unlink(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Remove a link and return whether it existed."""
        parameters = list(_link_to_json(source, target, kind).items())
        return bool((await self._request("DELETE", "/v1/links", namespace, source, parameters=parameters))["removed"])

    async def neighbours(self, key: Key, *, namespace: str | None = None) -> list[Neighbour]:
        """Return the notes that are linked with a note, mention it or are mentioned by it, or share an entity."""
        data = await self._request("GET", _note_path(key, "/v1/neighbours"), namespace, key)
        return [Neighbour(note_from_json(item["note"]), item["kind"], item["direction"]) for item in data["neighbours"]]

    async def ingest(
        self, documents: Iterable[Document], *, prefix: str = "", namespace: str | None = None
    ) -> IngestReport:
        """Ingest texts of Markdown, text and JSONL files; see :meth:`recollect.Memory.ingest`.

        The server reads no files: pass pairs of path and content, or mappings with both.
        """
        body = {"documents": [document_to_json(document) for document in documents], "prefix": prefix}
        data = await self._request("POST", "/v1/ingest", namespace, body=body)
        counts = {f"{kind}_{name}": count for kind in ("files", "notes") for name, count in data[kind].items()}
        problems = tuple(Problem(**problem) for problem in data["problems"])
        return IngestReport(**counts, problems=problems, skipped=data.get("skipped", {}))

    async def presets(self) -> dict[str, Any]:
        """Return the presets of the server with their settings, and the name of its default."""
        data: dict[str, Any] = await self._request("GET", "/v1/presets", None)
        return data

    async def stats(self, *, namespace: str | None = None) -> dict[str, Any]:
        """Return the number of notes in each namespace that the key may read, or in one, and the embedder."""
        data: dict[str, Any] = await self._request("GET", "/v1/stats", namespace)
        return data

    async def health(self) -> bool:
        """Return whether the server is ready: its models are loaded and its store answers."""
        try:
            await self._connection.request("GET", "/ready", retry=False)
        except ServerError:
            return False
        return True

    async def _search(self, path: str, query: str, namespace: str | None, options: Mapping[str, Any]) -> Any:
        body = {name: to_json(value) for name, value in options.items() if value is not None}
        return await self._request("POST", path, namespace, body={"query": arguments.text("query", query), **body})

    async def _request(
        self,
        method: str,
        path: str,
        namespace: str | None,
        note: Key | None = None,
        *,
        body: Any = None,
        parameters: Iterable[tuple[str, str]] = (),
        idempotent: bool = True,
    ) -> Any:
        """Send a request in a namespace: the given one, or that of ``note``, or the client's."""
        if namespace is not None:
            namespace = arguments.name("namespace", namespace)
        else:
            namespace = note.namespace if isinstance(note, Note) else self.namespace
        parameters = [*parameters, *([] if namespace is None else [("namespace", namespace)])]
        return await self._connection.request(method, path, body=body, parameters=parameters, idempotent=idempotent)


def to_json(value: Any) -> Any:
    """Return ``value`` as JSON-ready data: dates as ISO 8601, filters and notes as objects, tuples as lists.

    >>> to_json({"now": date(2026, 4, 18), "filters": Filters(tags=["tea"])})
    {'now': '2026-04-18', 'filters': {'tags': ['tea']}}
    """
    if isinstance(value, date):  # or a datetime, its subclass
        return value.isoformat()
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float) and not isfinite(value):
        raise ArgumentError("note", f"cannot contain {value}, which JSON does not have")
    if isinstance(value, Note):
        return note_to_json(value)
    if isinstance(value, Preset):
        raise ArgumentTypeError("preset", "must be the name of a preset of the server")
    if isinstance(value, Filters):
        empty = Filters()
        values = {item.name: getattr(value, item.name) for item in fields(Filters)}
        return to_json({name: item for name, item in values.items() if item != getattr(empty, name)})
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [to_json(item) for item in value]
    return value


def note_to_json(note: Note | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a note, some of its fields, or its text as the body of a request, without the namespace.

    >>> note_to_json("Prefers sencha."), note_to_json({"content": "tea", "title": None})
    ({'content': 'Prefers sencha.'}, {'content': 'tea'})
    """
    if isinstance(note, str):
        return {"content": well_formed(note)}
    data = note.to_dict() if isinstance(note, Note) else note
    if not isinstance(data, Mapping):
        raise ArgumentTypeError("note", f"must be a Note, a mapping or a string, got {type(note).__name__}")
    return {
        name: to_json(value)
        for name, value in data.items()
        if name != "namespace"
        and value is not None
        # An empty path of a Note means that it has none; an empty text is a text.
        and not (isinstance(note, Note) and value == "" and name != "content")
    }


def note_from_json(data: Mapping[str, Any]) -> Note:
    """Return a note, without fields that only a newer server has.

    >>> note_from_json({"content": "Prefers sencha.", "id": "n1", "mood": "good"}).id
    'n1'
    """
    return Note(**{name: value for name, value in data.items() if name in NOTE_FIELDS})


def hit_from_json(data: Mapping[str, Any]) -> Hit:
    """Return a hit, the inverse of ``Hit.to_dict``.

    >>> data = Hit(1, Candidate("n1", score=0.5, evidence=("lexical", 1, 7.0, 0.5), ceiling=1.0)).to_dict()
    >>> hit_from_json(data).to_dict() == data
    True
    """
    candidate = Candidate.from_mapping(data, argument="hit")
    parts = data.get("contributions") or ()
    candidate.evidence = tuple(part[name] for part in parts for name in ("leg", "rank", "score", "points"))
    candidate.steps = tuple(Step(*(step[name] for name in Step._fields)) for step in data.get("steps") or ())
    relevance = data.get("relevance")
    if relevance is not None:  # a share of the ceiling, which the server does not send
        fused = fsum(candidate.evidence[3::4])
        candidate.ceiling = fused / relevance if relevance else 0.0
        candidate.inherited_relevance = relevance if relevance and not fused else None
    spans = tuple((start, end) for start, end in data.get("highlights") or ())
    return Hit(data["rank"], candidate, spans)


def result_from_json(data: Mapping[str, Any]) -> RemoteResult:
    """Return the result of a search.

    >>> result_from_json({"query": "tea", "hits": [{"rank": 1, "id": "n1"}]})[0].id
    'n1'
    """
    return RemoteResult(
        data["query"],
        tuple(hit_from_json(hit) for hit in data["hits"]),
        tuple(data.get("warnings") or ()),
        data.get("trace") or {},
        data.get("explanation") or "",
        data.get("answer_threshold") or 0.0,
        tuple(data.get("excluded") or ()),
    )


def filters_to_parameters(filters: Filters | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return filters as the query parameters of a listing.

    >>> filters_to_parameters({"tags": ["tea", "green"], "path_prefix": "memory/"})
    [('path_prefix', 'memory/'), ('tag', 'tea'), ('tag', 'green')]
    """
    return [
        ("tag" if name == "tags" else name, item)
        for name, value in to_json(Filters.of(filters)).items()
        for item in (value if isinstance(value, list) else [value])
    ]


def document_to_json(document: Document) -> dict[str, str]:
    """Return the text of a file and its path as JSON.

    >>> document_to_json(("vault/tea.md", "# Tea"))
    {'path': 'vault/tea.md', 'content': '# Tea'}
    """
    if isinstance(document, Mapping):
        return {"path": document["path"], "content": document["content"]}
    path, content = document
    return {"path": PurePath(path).as_posix(), "content": content}


def _note_path(key: Key, base: str = "/v1/notes") -> str:
    name = key.id if isinstance(key, Note) else arguments.name("key", key)
    # A path segment of dots would mean this folder or the one above.
    return f"{base}/{quote(name, safe='') if name.strip('.') else '%2E' * len(name)}"


def _link_to_json(source: Key, target: Key, kind: str) -> dict[str, str]:
    ends = {"source": source, "target": target}
    return {"kind": kind, **{name: end.id if isinstance(end, Note) else end for name, end in ends.items()}}
