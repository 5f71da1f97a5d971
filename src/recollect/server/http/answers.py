"""Answers in JSON, written where they are made: in the thread that did the work, not in the loop that all share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Response

from recollect.arguments import with_deep_stack

__all__ = ["json_response", "written"]


def written(data: Any) -> bytes:
    """Return data as JSON.

    >>> written({"tea": "茶"}).decode()
    '{"tea":"茶"}'
    """
    return with_deep_stack(
        lambda: json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    ).encode()


def json_response(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return JSON that is written already as an answer."""
    return Response(body, status, headers=headers, media_type="application/json")
