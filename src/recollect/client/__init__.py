"""An asynchronous client of the HTTP API with the methods of a memory."""

from recollect.client.client import AsyncClient
from recollect.client.conversion import RemoteResult

__all__ = ["AsyncClient", "RemoteResult"]
