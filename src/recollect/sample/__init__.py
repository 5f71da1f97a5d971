"""The sample of ``recollect demo``: a year of a person's notes and conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

__all__ = ["sample_notes", "sample_queries"]


def sample_notes() -> Iterator[dict[str, Any]]:
    """Yield the fields of each sample note: notes, then turns of conversations.

    >>> first = next(sample_notes())
    >>> first["path"]
    'memory/global/about-me.md'
    """
    yield from _lines("notes.jsonl")
    for turn in _lines("conversations.jsonl"):
        yield {
            "path": f"conversations/{turn['session']}#{turn['position']}",
            "title": f"{turn['speaker']} in {turn['session']}",
            "content": f"{turn['speaker']}: {turn['text']}",
            "created_at": turn["time"],
            "session": turn["session"],
            "position": turn["position"],
            "metadata": {"speaker": turn["speaker"]},
        }


def sample_queries() -> list[dict[str, Any]]:
    """Return example queries: the text, the paths that should be found, and what it shows.

    >>> sample_queries()[0]["query"]
    'ERR_4021'
    """
    queries: list[dict[str, Any]] = json.loads(_text("queries.json"))
    return queries


def _lines(name: str) -> Iterator[dict[str, Any]]:
    for line in _text(name).splitlines():
        yield json.loads(line)


def _text(name: str) -> str:
    return files("recollect.sample").joinpath(name).read_text(encoding="utf-8")
