"""AsyncClient: the methods of a memory, done by a server over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Self

from recollect import arguments
from recollect.client.answers import RemoteResult, neighbour_of, note_of, report_of, result_of
from recollect.client.questions import Document, document_of, draft_of, json_ready, key_of, listing_of
from recollect.client.sending import Connection
from recollect.errors import NoteNotFoundError, ServerError
from recollect.ingest.report import IngestReport
from recollect.model import Filters, Note
from recollect.stores.base import Neighbour

__all__ = ["AsyncClient"]

Key = str | Note

BATCH_NOTES = 1000
"""How many notes a server takes at once."""
PAGE_NOTES = 500
"""How many notes a server lists at once."""


class AsyncClient:
    """A memory behind the HTTP API: the methods of :class:`~recollect.AsyncMemory`, with their arguments and results.

    ``url`` is where ``recollect serve`` listens, ``key`` the text of a key, ``namespace`` the one to use where a call
    names none; without it, it is the key's only one, or ``default``. A request that finds the server busy or away is
    repeated up to ``retries`` times. What went wrong is a :class:`~recollect.RecollectError`, as from a memory; a
    server that cannot be reached or fails is a :class:`~recollect.ServerError`.

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
        """Check the arguments; nothing is sent yet."""
        self._connection = Connection(url, key=key, timeout=timeout, retries=retries, backoff=backoff)
        self.namespace = None if namespace is None else arguments.name("namespace", namespace)

    def __repr__(self) -> str:
        """Return what it asks; never the key."""
        return f"AsyncClient({self._connection.server!r}, namespace={self.namespace!r})"

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    def copy(self) -> AsyncClient:
        """Return another client of the same server, with connections of its own, for another loop."""
        held = self._connection
        return AsyncClient(held.url, held.key, self.namespace, held.timeout, retries=held.retries, backoff=held.backoff)

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

        One without id and path is sent once: doing it twice would make two.
        """
        named = bool(fields.get("id") or fields.get("path"))
        older = [supersedes] if isinstance(supersedes, (str, Note)) else supersedes or ()
        replaced = [key.id if isinstance(key, Note) else key for key in older]
        draft = draft_of({"content": content, "supersedes": replaced or None, **fields})
        return note_of(await self._ask("POST", "/v1/notes", namespace, body=draft, repeatable=named))

    async def add_many(
        self, notes: Iterable[Note | str | Mapping[str, Any]], *, namespace: str | None = None
    ) -> list[str]:
        """Store many notes, in batches of 1,000, each as a whole or not at all, and return their ids."""
        ids: list[str] = []
        rest = iter(notes)
        while batch := [draft_of(note) for note in islice(rest, BATCH_NOTES)]:
            named = all(draft.get("id") or draft.get("path") for draft in batch)
            told = await self._ask("POST", "/v1/notes/batch", namespace, body={"notes": batch}, repeatable=named)
            ids += told["ids"]
        return ids

    async def update(self, key: Key, *, namespace: str | None = None, **changes: Any) -> Note:
        """Change fields of a note that exists, named by id or path, and return it as it is now."""
        home = _home(namespace, key)
        return note_of(await self._ask("PATCH", f"/v1/notes/{key_of(key)}", home, body=draft_of(changes)))

    async def get(self, key: Key, *, namespace: str | None = None) -> Note | None:
        """Return the note with this id, or else with this path; ``None`` if there is none."""
        try:
            return note_of(await self._ask("GET", f"/v1/notes/{key_of(key)}", _home(namespace, key)))
        except NoteNotFoundError:
            return None

    async def delete(self, *keys: Key, namespace: str | None = None) -> int:
        """Delete notes by id or path, one by one, and return how many there were."""
        deleted = 0
        for key in keys:
            try:
                await self._ask("DELETE", f"/v1/notes/{key_of(key)}", _home(namespace, key))
            except NoteNotFoundError:
                continue
            deleted += 1
        return deleted

    async def notes(
        self, *, namespace: str | None = None, filters: Filters | Mapping[str, Any] | None = None
    ) -> AsyncIterator[Note]:
        """Walk over the notes of a namespace, page by page, in the order in which they came."""
        parameters = [*listing_of(filters), ("limit", str(PAGE_NOTES))]
        cursor: str | None = ""
        while cursor is not None:
            place = [("cursor", cursor)] if cursor else []
            told = await self._ask("GET", "/v1/notes", namespace, parameters=[*parameters, *place])
            for note in told["notes"]:
                yield note_of(note)
            cursor = told["next_cursor"]

    async def search(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Return the best notes for a query; see :meth:`recollect.Memory.search`. ``trace=True`` brings the trace."""
        return result_of(await self._asked("/v1/search", query, namespace, options))

    async def explain(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Return the same with its trace and with a drawing of the search, ``explanation``."""
        return result_of(await self._asked("/v1/explain", query, namespace, options))

    async def compare(
        self, query: str, presets: Iterable[str] | None = None, *, namespace: str | None = None, **options: Any
    ) -> dict[str, RemoteResult]:
        """Search for the same query under several presets, by default all there are, and return the results by name."""
        named = {} if presets is None else {"presets": list(arguments.sequence("presets", presets))}
        told = await self._asked("/v1/compare", query, namespace, {**options, **named})
        return {name: result_of(result) for name, result in told["results"].items()}

    async def link(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Link a note to another by id, path or name, and return whether the link is new."""
        told = await self._ask("POST", "/v1/links", _home(namespace, source), body=_link(source, target, kind))
        return bool(told["created"])

    async def unlink(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Take a link away and return whether it was there."""
        ends = list(_link(source, target, kind).items())
        told = await self._ask("DELETE", "/v1/links", _home(namespace, source), parameters=ends)
        return bool(told["removed"])

    async def neighbours(self, key: Key, *, namespace: str | None = None) -> list[Neighbour]:
        """Return the notes beside it, linked with it, that name it or are named by it, or share an entity with it."""
        told = await self._ask("GET", f"/v1/neighbours/{key_of(key)}", _home(namespace, key))
        return [neighbour_of(each) for each in told["neighbours"]]

    async def ingest(
        self, documents: Iterable[Document], *, prefix: str = "", namespace: str | None = None
    ) -> IngestReport:
        """Take in the texts of Markdown, text and JSONL files, each with its path; see :meth:`recollect.Memory.ingest`.

        Files stay with the caller: give pairs of path and content, or mappings with both.
        """
        body = {"documents": [document_of(document) for document in documents], "prefix": prefix}
        return report_of(await self._ask("POST", "/v1/ingest", namespace, body=body))

    async def presets(self) -> dict[str, Any]:
        """Return the presets of the server, with their settings, and which one it uses where none is named."""
        told: dict[str, Any] = await self._ask("GET", "/v1/presets", None)
        return told

    async def stats(self, *, namespace: str | None = None) -> dict[str, Any]:
        """Return how many notes there are in each namespace that the key may see, or in one, and what embeds."""
        told: dict[str, Any] = await self._ask("GET", "/v1/stats", namespace)
        return told

    async def health(self) -> bool:
        """Return whether the server is there and ready: its model is loaded and its store answers."""
        try:
            await self._connection.ask("GET", "/ready", patient=False)
        except ServerError:
            return False
        return True

    async def _asked(self, path: str, query: str, namespace: str | None, options: Mapping[str, Any]) -> Any:
        given = {name: json_ready(held) for name, held in options.items() if held is not None}
        return await self._ask("POST", path, namespace, body={"query": arguments.text("query", query), **given})

    async def _ask(
        self,
        method: str,
        path: str,
        namespace: str | None,
        *,
        body: Any = None,
        parameters: Iterable[tuple[str, str]] = (),
        repeatable: bool = True,
    ) -> Any:
        home = self.namespace if namespace is None else arguments.name("namespace", namespace)
        where = [] if home is None else [("namespace", home)]
        return await self._connection.ask(
            method, path, body=body, parameters=[*parameters, *where], repeatable=repeatable
        )


def _home(namespace: str | None, key: Key) -> str | None:
    """Return the namespace that is named, or the one that a note brings along."""
    return key.namespace if namespace is None and isinstance(key, Note) else namespace


def _link(source: Key, target: Key, kind: str) -> dict[str, str]:
    ends = {"source": source, "target": target}
    return {"kind": kind, **{name: end.id if isinstance(end, Note) else end for name, end in ends.items()}}
