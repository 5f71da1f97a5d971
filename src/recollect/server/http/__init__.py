"""A memory over HTTP. See ``docs/server.md``; every endpoint is in ``docs/http.md``."""

from __future__ import annotations

from recollect.server.http.app import Extension, create_app
from recollect.server.http.settings import Settings

__all__ = ["Extension", "Settings", "create_app"]
