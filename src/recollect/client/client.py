"""AsyncClient: the methods of a memory, each of which sends a request to ``recollect serve`` over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote

from recollect import arguments
from recollect.client.conversion import (
    Document,
    RemoteResult,
    document_to_json,
    filters_to_parameters,
    note_from_json,
    note_to_json,
    response_error,
    result_from_json,
    to_json,
)
from recollect.errors import ArgumentError, NoteNotFoundError, ServerError
from recollect.inference.http_api import check_url, retry_delay, without_password
from recollect.inference.runtime import require_module
from recollect.ingest import IngestReport, Problem
from recollect.model import Filters, Note
from recollect.stores.base import Neighbour

if TYPE_CHECKING:
    from httpx import AsyncClient as HttpClient
    from httpx import Response

Key = str | Note
"""A note, or its id or path."""

BATCH_SIZE = 1000  # the server's limit of notes in a batch
PAGE_SIZE = 500  # the server's limit of notes in a listing


class AsyncClient:
    """A memory behind the HTTP API, with most methods of :class:`~recollect.AsyncMemory`.

    ``url`` is the address of ``recollect serve``, and ``key`` is an API key. ``namespace`` is the namespace of calls
    without the argument ``namespace``; if both are missing, the server uses the key's only namespace, or ``default``.
    ``timeout`` is in seconds. A request is repeated up to ``retries`` times if the server is busy or cannot be
    reached. If the server names no delay, delays start with about ``backoff`` seconds and double. The methods raise the
    errors of a memory, and :class:`~recollect.ServerError` if the server fails or cannot be reached.

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
        try:
            self._url = check_url(url)
        except ArgumentError as error:
            # The message of check_url has the address of an embedding server as an example: show Recollect's port.
            raise ArgumentError("url", error.problem.replace("11434/v1", "7700")) from None
        self._server = without_password(self._url)
        self._key = None if key is None else arguments.name("key", key)
        self.namespace = None if namespace is None else arguments.name("namespace", namespace)
        self._timeout = arguments.number("timeout", timeout, at_least=0.001)
        self._retries = arguments.count("retries", retries)
        self._backoff = arguments.number("backoff", backoff, at_least=0)
        self._http: HttpClient | None = None

    def __repr__(self) -> str:
        return f"AsyncClient({self._server!r}, namespace={self.namespace!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def copy(self) -> AsyncClient:
        """Return another client of the same server with its own connections, for another event loop."""
        return AsyncClient(
            self._url, self._key, self.namespace, self._timeout, retries=self._retries, backoff=self._backoff
        )

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

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
        superseded = [supersedes] if isinstance(supersedes, (str, Note)) else supersedes or ()
        superseded_keys = [key.id if isinstance(key, Note) else key for key in superseded]
        draft = note_to_json({"content": content, "supersedes": superseded_keys or None, **fields})
        return note_from_json(await self._request("POST", "/v1/notes", namespace, body=draft, idempotent=idempotent))

    async def add_many(
        self, notes: Iterable[Note | str | Mapping[str, Any]], *, namespace: str | None = None
    ) -> list[str]:
        """Store many notes, in transactions of up to 1,000, and return their ids in the same order."""
        ids: list[str] = []
        remaining = iter(notes)
        while batch := [note_to_json(note) for note in islice(remaining, BATCH_SIZE)]:
            idempotent = all(draft.get("id") or draft.get("path") for draft in batch)
            body = {"notes": batch}
            ids += (await self._request("POST", "/v1/notes/batch", namespace, body=body, idempotent=idempotent))["ids"]
        return ids

    async def update(self, key: Key, *, namespace: str | None = None, **changes: Any) -> Note:
        """Change fields of a note and return the changed note."""
        return note_from_json(await self._request("PATCH", _note_path(key), namespace, key, body=note_to_json(changes)))

    async def get(self, key: Key, *, namespace: str | None = None) -> Note | None:
        """Return the note with this id, or else with this path; ``None`` if there is no such note."""
        try:
            return note_from_json(await self._request("GET", _note_path(key), namespace, key))
        except NoteNotFoundError:
            return None

    async def delete(self, *keys: Key, namespace: str | None = None) -> int:
        """Delete notes, one request for each, and return how many existed."""
        deleted = 0
        for key in keys:
            with suppress(NoteNotFoundError):
                await self._request("DELETE", _note_path(key), namespace, key)
                deleted += 1
        return deleted

    async def notes(
        self, *, namespace: str | None = None, filters: Filters | Mapping[str, Any] | None = None
    ) -> AsyncIterator[Note]:
        """Iterate over the notes of a namespace in insertion order, page by page."""
        parameters = [*filters_to_parameters(filters), ("limit", str(PAGE_SIZE))]
        cursor: str | None = ""
        while cursor is not None:
            page_parameters = [*parameters, ("cursor", cursor)] if cursor else parameters
            data = await self._request("GET", "/v1/notes", namespace, parameters=page_parameters)
            for note in data["notes"]:
                yield note_from_json(note)
            cursor = data["next_cursor"]

    async def search(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Search; see :meth:`recollect.Memory.search`. ``trace=True`` adds the trace."""
        return result_from_json(await self._search("/v1/search", query, namespace, options))

    async def explain(self, query: str, *, namespace: str | None = None, **options: Any) -> RemoteResult:
        """Search; the result also has the trace and an ``explanation`` as text."""
        return result_from_json(await self._search("/v1/explain", query, namespace, options))

    async def compare(
        self, query: str, presets: Iterable[str] | None = None, *, namespace: str | None = None, **options: Any
    ) -> dict[str, RemoteResult]:
        """Search with several presets, by default all, and return each result by the name of its preset."""
        preset_names = {} if presets is None else {"presets": list(arguments.sequence("presets", presets))}
        data = await self._search("/v1/compare", query, namespace, {**options, **preset_names})
        return {name: result_from_json(result) for name, result in data["results"].items()}

    async def link(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Link ``source`` to a note by its id, path or name; it need not exist yet. Return whether the link is new."""
        body = _link_to_json(source, target, kind)
        return bool((await self._request("POST", "/v1/links", namespace, source, body=body))["created"])

    async def unlink(self, source: Key, target: Key, *, kind: str = "related", namespace: str | None = None) -> bool:
        """Remove a link and return whether it existed."""
        parameters = list(_link_to_json(source, target, kind).items())
        return bool((await self._request("DELETE", "/v1/links", namespace, source, parameters=parameters))["removed"])

    async def neighbours(self, key: Key, *, namespace: str | None = None) -> list[Neighbour]:
        """Return the notes connected to a note: by position, links, mentions or a shared entity."""
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
        # {"files": {"added": 1}} becomes files_added=1.
        counts = {f"{kind}_{name}": count for kind in ("files", "notes") for name, count in data[kind].items()}
        problems = tuple(Problem(**problem) for problem in data["problems"])
        return IngestReport(**counts, problems=problems, skipped=data.get("skipped", {}))

    async def presets(self) -> dict[str, Any]:
        """Return the presets of the server with their settings, and the name of its default preset."""
        return await self._request("GET", "/v1/presets", None)

    async def stats(self, *, namespace: str | None = None) -> dict[str, Any]:
        """Return the embedder, and the number of notes in ``namespace``, or in each namespace that the key may read."""
        return await self._request("GET", "/v1/stats", namespace)

    async def health(self) -> bool:
        """Return whether the server is ready: its models are loaded and its store answers."""
        try:
            await self._send_for_json("GET", "/ready", retries=0)
        except ServerError:
            return False
        return True

    async def _search(self, path: str, query: str, namespace: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
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
    ) -> dict[str, Any]:
        """Send a request and return the JSON. The default namespace is that of the note, or else that of the client."""
        if namespace is not None:
            namespace = arguments.name("namespace", namespace)
        else:
            namespace = note.namespace if isinstance(note, Note) else self.namespace
        parameters = [*parameters, *([] if namespace is None else [("namespace", namespace)])]
        return await self._send_for_json(
            method, path, retries=self._retries, idempotent=idempotent, json=body, params=parameters
        )

    async def _send_for_json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Send a request and return the JSON of the response, ``{}`` for an empty body; raise an error on failure."""
        response = await self._send(method, path, **options)
        try:
            data = response.json() if response.content else {}
        except ValueError:
            if response.is_success:
                message = f"{self._server} is not a Recollect server: it sent no JSON; check the URL"
                raise ServerError(message) from None
            data = {}
        if response.is_success:
            return cast("dict[str, Any]", data)
        raise response_error(response.status_code, data if isinstance(data, dict) else {}, self._server)

    async def _send(self, method: str, path: str, *, retries: int, idempotent: bool = True, **content: Any) -> Response:
        """Send a request and return the response; repeat the request up to ``retries`` times.

        A request is repeated if the server is busy and sends ``Retry-After``, or cannot be reached. An idempotent
        request is also repeated if the connection breaks. For the delay, see ``retry_delay``.
        """
        httpx = require_module("httpx", ServerError)
        if self._http is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._http = httpx.AsyncClient(headers=headers, timeout=self._timeout)
        attempt = 0
        while True:
            retry_after = None
            try:
                response: Response = await self._http.request(method, self._url + path, **content)
            except httpx.TimeoutException:
                raise ServerError(
                    f"{self._server} did not answer within {self._timeout:g} seconds; request less, or raise timeout"
                ) from None
            except (httpx.TransportError, httpx.InvalidURL) as error:
                is_unsent = isinstance(error, httpx.ConnectError)  # then a repetition cannot store a note twice
                may_repeat = is_unsent or (idempotent and isinstance(error, httpx.TransportError))
                if not may_repeat or attempt == retries:
                    reason = str(error) or type(error).__name__
                    message = f"{self._server} cannot be reached ({reason}); is recollect serve running?"
                    raise ServerError(message) from None
            else:
                retry_after = response.headers.get("Retry-After")
                if response.status_code not in (429, 503) or retry_after is None or attempt == retries:
                    return response
            await asyncio.sleep(retry_delay(attempt, retry_after, backoff=self._backoff))
            attempt += 1


def _note_path(key: Key, base: str = "/v1/notes") -> str:
    """Return the URL path of a note."""
    name = key.id if isinstance(key, Note) else arguments.name("key", key)
    # quote() does not escape "." and "..", which would mean the current and the parent folder in a URL.
    has_only_dots = not name.strip(".")
    return f"{base}/{'%2E' * len(name) if has_only_dots else quote(name, safe='')}"


def _link_to_json(source: Key, target: Key, kind: str) -> dict[str, str]:
    source_key = source.id if isinstance(source, Note) else source
    target_key = target.id if isinstance(target, Note) else target
    return {"kind": kind, "source": source_key, "target": target_key}
