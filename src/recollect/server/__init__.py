"""Serve a memory to other processes: HTTP API, MCP and web UI, with API keys for some or all namespaces."""

from __future__ import annotations

from recollect.server.auth import EVERYONE, Caller, Grant, Key, KeyRing, Right

__all__ = ["EVERYONE", "Caller", "Grant", "Key", "KeyRing", "Right"]
