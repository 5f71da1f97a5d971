"""The HTTP API. See ``docs/server.md``; ``docs/http.md`` lists every endpoint."""

from __future__ import annotations

from recollect.server.http.app import Extension, create_app
from recollect.server.http.settings import Settings

__all__ = ["Extension", "Settings", "create_app"]
