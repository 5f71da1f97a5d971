"""A memory for others than this process: who may do what, over HTTP and MCP.

``rights`` and ``keys`` say who asks and what they may do; each protocol has a folder of its own.
"""

from __future__ import annotations

from recollect.server.keys import Key, KeyRing
from recollect.server.rights import EVERYONE, Caller, Grant, Right

__all__ = ["EVERYONE", "Caller", "Grant", "Key", "KeyRing", "Right"]
