"""A memory behind the HTTP API, asked from a running loop."""

from __future__ import annotations

from recollect.client.answers import RemoteResult
from recollect.client.client import AsyncClient

__all__ = ["AsyncClient", "RemoteResult"]
