"""The sample data of ``recollect demo``: a year of notes and conversations of an invented person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

__all__ = ["sample_notes", "sample_queries"]


def sample_notes() -> Iterator[dict[str, Any]]:
    """Yield the fields of each sample note: first the written notes, then a note for each turn of a conversation."""
    yield from _records("notes.jsonl")
    for turn in _records("conversations.jsonl"):
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
    """Return example queries: ``query``, the paths of the notes that it ``finds``, and ``why`` it is interesting."""
    queries: list[dict[str, Any]] = json.loads(_file_text("queries.json"))
    return queries


def _records(file_name: str) -> Iterator[dict[str, Any]]:
    for line in _file_text(file_name).splitlines():
        yield json.loads(line)


def _file_text(file_name: str) -> str:
    return files("recollect.sample").joinpath(file_name).read_text(encoding="utf-8")
