"""HTTP requests with retries; error responses become the errors that a local memory would raise."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect import arguments, errors
from recollect.inference.http_api import check_url, retry_delay, without_password
from recollect.inference.runtime import require_module

if TYPE_CHECKING:
    from httpx import AsyncClient as HttpClient
    from httpx import Response

ERROR_TYPES: dict[str, type[errors.RecollectError]] = {
    "forbidden": errors.ForbiddenError,
    "invalid": errors.ArgumentError,
    "malformed": errors.ArgumentError,
    "model-unavailable": errors.EmbedderError,
    "note-not-found": errors.NoteNotFoundError,
    "read-only": errors.StoreReadOnlyError,
    "store-busy": errors.StoreBusyError,
    "store-full": errors.StoreFullError,
    "store-unavailable": errors.StoreUnavailableError,
    "too-large": errors.ArgumentError,
    "unauthorised": errors.ForbiddenError,
}
"""The error of each problem type; every other is a ``ServerError``."""


class Connection:
    """Connections to one server, opened on demand in the running event loop.

    A request is retried up to ``retries`` times: if the server is busy and sends ``Retry-After``, if it cannot be
    reached, and, for idempotent requests, if the connection breaks. The delay is the server's, or doubles from
    ``backoff`` seconds.
    """

    def __init__(self, url: str, *, key: str | None, timeout: float, retries: int, backoff: float) -> None:
        try:
            self.url = check_url(url)
        except errors.ArgumentError as error:
            raise errors.ArgumentError("url", error.problem.replace("11434/v1", "7700")) from None
        self.server = without_password(self.url)
        self.key = None if key is None else arguments.name("key", key)
        self.timeout = arguments.number("timeout", timeout, at_least=0.001)
        self.retries = arguments.count("retries", retries)
        self.backoff = arguments.number("backoff", backoff, at_least=0)
        self._client: HttpClient | None = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        parameters: Sequence[tuple[str, str]] = (),
        idempotent: bool = True,
        retry: bool = True,
    ) -> Any:
        """Return the JSON of the response, ``None`` if it is empty; raise the error of an error response."""
        response = await self._send(
            method,
            path,
            {"json": body, "params": list(parameters)},
            retries=self.retries if retry else 0,
            idempotent=idempotent,
        )
        try:
            data = response.json() if response.content else None
        except ValueError:
            if response.is_success:
                raise errors.ServerError(
                    f"{self.server} is not a Recollect server: it sent no JSON; check the URL"
                ) from None
            data = None
        if response.is_success:
            return data
        raise response_error(response.status_code, data if isinstance(data, dict) else {}, self.server)

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(
        self, method: str, path: str, content: Mapping[str, Any], *, retries: int, idempotent: bool
    ) -> Response:
        httpx = require_module("httpx", errors.ServerError)
        if self._client is None:
            headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
            self._client = httpx.AsyncClient(headers=headers, timeout=self.timeout)
        attempt = 0
        while True:
            retry_after = None
            try:
                response: Response = await self._client.request(method, self.url + path, **content)
            except httpx.TimeoutException:
                raise errors.ServerError(
                    f"{self.server} did not answer within {self.timeout:g} seconds; request less, or raise timeout"
                ) from None
            except (httpx.TransportError, httpx.InvalidURL) as error:
                not_sent = isinstance(error, httpx.ConnectError)
                safe = not_sent or (idempotent and isinstance(error, httpx.TransportError))
                if not safe or attempt == retries:
                    reason = str(error) or type(error).__name__
                    raise errors.ServerError(
                        f"{self.server} cannot be reached ({reason}); is recollect serve running?"
                    ) from None
            else:
                retry_after = response.headers.get("Retry-After")
                if response.status_code not in (429, 503) or retry_after is None or attempt == retries:
                    return response
            await asyncio.sleep(retry_delay(attempt, retry_after, backoff=self.backoff))
            attempt += 1


def response_error(status: int, problem: Mapping[str, Any], server: str) -> errors.RecollectError:
    """Return the error of an error response; ``problem`` is its JSON, empty if it has none.

    >>> problem = {"type": "urn:recollect:note-not-found", "detail": "there is no note 'n1'"}
    >>> response_error(404, problem, "http://localhost:7700")
    NoteNotFoundError("there is no note 'n1'")
    >>> problem = {"type": "urn:recollect:invalid", "errors": [{"field": "body.top_k", "detail": "must be at least 1"}]}
    >>> print(response_error(422, problem, "http://localhost:7700"))
    top_k: must be at least 1
    >>> print(response_error(502, {}, "http://localhost:7700"))
    http://localhost:7700 responded with status 502
    """
    error_type = ERROR_TYPES.get(str(problem.get("type")).removeprefix("urn:recollect:"), errors.ServerError)
    detail = str(problem.get("detail") or f"responded with status {status}")
    if error_type is errors.ServerError:
        return errors.ServerError(f"{server}: {detail}" if problem.get("detail") else f"{server} {detail}")
    if error_type is not errors.ArgumentError:
        return error_type(detail)
    for error in problem.get("errors") or ():
        location, dot, field = error["field"].partition(".")
        return errors.ArgumentError(
            field if dot and location in ("body", "query", "path") else error["field"], error["detail"]
        )
    return errors.ArgumentError("request", detail)
