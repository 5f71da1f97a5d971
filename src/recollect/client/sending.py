"""A request goes to a server and an answer comes back, at once or after a while; what went wrong becomes an error."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect import arguments
from recollect.client.failures import error_of
from recollect.errors import ArgumentError, ServerError
from recollect.inference.http_api import check_url, retry_delay, without_password
from recollect.inference.runtime import require_module

if TYPE_CHECKING:
    from httpx import AsyncClient as HttpClient
    from httpx import Response

__all__ = ["Connection"]


class Connection:
    """Connections to one server, opened when they are needed, in the loop that needs them.

    A request is repeated up to ``retries`` times: where the server says that it is busy and when to come back, where it
    cannot be reached, and, if doing it twice does no harm, where the connection breaks. Waits are as long as the server
    asks for, or double from ``backoff`` seconds.
    """

    def __init__(self, url: str, *, key: str | None, timeout: float, retries: int, backoff: float) -> None:
        """Check the arguments; nothing is sent yet."""
        self.url = _address(url)
        self.server = without_password(self.url)
        self.key = None if key is None else arguments.name("key", key)
        self.timeout = arguments.number("timeout", timeout, at_least=0.001)
        self.retries = arguments.count("retries", retries)
        self.backoff = arguments.number("backoff", backoff, at_least=0)
        self._client: HttpClient | None = None

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        parameters: Sequence[tuple[str, str]] = (),
        repeatable: bool = True,
        patient: bool = True,
    ) -> Any:
        """Return the JSON of the answer, ``None`` where there is nothing in it; raise the error that it tells of."""
        sent = {"json": body, "params": list(parameters)}
        retries = self.retries if patient else 0
        response = await self._answered(method, path, sent, retries, repeatable=repeatable)
        if response.is_success:
            return _json(response, self.server) if response.content else None
        raise error_of(response.status_code, _problem(response), self.server)

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _answered(
        self, method: str, path: str, sent: Mapping[str, Any], retries: int, *, repeatable: bool
    ) -> Response:
        """Return the server's last word."""
        httpx = require_module("httpx", ServerError)
        attempt = 0
        while True:
            retry_after = None
            try:
                response: Response = await self._open().request(method, self.url + path, **sent)
            except httpx.TimeoutException:
                raise ServerError(
                    f"{self.server} did not answer within {self.timeout:g} seconds; ask for less, or give it more time"
                ) from None
            except (httpx.TransportError, httpx.InvalidURL) as error:
                never_arrived = isinstance(error, httpx.ConnectError)
                safe = never_arrived or (repeatable and isinstance(error, httpx.TransportError))
                if not safe or attempt == retries:
                    said = str(error) or type(error).__name__
                    raise ServerError(f"{self.server} cannot be asked ({said}): is recollect serve running?") from None
            else:
                retry_after = response.headers.get("Retry-After")
                if response.status_code not in (429, 503) or retry_after is None or attempt == retries:
                    return response
            await asyncio.sleep(retry_delay(attempt, retry_after, backoff=self.backoff))
            attempt += 1

    def _open(self) -> HttpClient:
        if self._client is None:
            httpx = require_module("httpx", ServerError)
            headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
            self._client = httpx.AsyncClient(headers=headers, timeout=self.timeout)
        return self._client


def _address(url: str) -> str:
    try:
        return check_url(url)
    except ArgumentError as error:
        raise ArgumentError("url", error.problem.replace("11434/v1", "7700")) from None


def _json(response: Response, server: str) -> Any:
    try:
        return response.json()
    except ValueError:
        raise ServerError(f"{server} does not answer as Recollect does: it sent no JSON; check the address") from None


def _problem(response: Response) -> dict[str, Any]:
    """Return what a server says of a failure; nothing where it does not say it as ours does."""
    try:
        told = response.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
