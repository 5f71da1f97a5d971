"""A small memory with a deterministic embedder that counts terms about drinks and bikes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import recollect
from recollect import Memory
from recollect.embedders import FunctionEmbedder

DRINKS = {"tea", "sencha", "leaves", "coffee", "cups", "brewed", "water"}
BIKES = {"bike", "frame", "brakes"}

NOTES: tuple[dict[str, Any], ...] = (
    {
        "id": "sencha",
        "path": "memory/preference-leaves.md",
        "title": "Leaves, not beans",
        "created_at": "2026-03-02",
        "content": "🍵👩‍👩‍👧 Prefers green tea to coffee: sencha, brewed cool, in small cups.",
        "tags": ["drink", "preference"],
        "links": [("supersedes", "coffee"), ("related", "guide")],
    },
    {
        "id": "coffee",
        "path": "memory/preference-beans.md",
        "created_at": "2025-11-03",
        "content": "Coffee, two cups, then water, then more coffee.",
    },
    {
        "id": "guide",
        "path": "wiki/brewing.md",
        "title": "Brewing",
        "created_at": "2025-12-01",
        "content": "Tips for tea: water at 70 degrees.",
    },
    {
        "id": "question",
        "path": "chat/april/1",
        "session": "april",
        "position": 1,
        "created_at": "2026-04-04",
        "content": "Which tea suits a rainy week?",
    },
    {
        "id": "reply",
        "path": "chat/april/2",
        "session": "april",
        "position": 2,
        "created_at": "2026-04-04",
        "content": "The roasted one from the corner shop.",
    },
    {
        "id": "shop",
        "path": "wiki/shop.md",
        "title": "The corner shop",
        "created_at": "2025-10-09",
        "content": "Opens at ten, closed on Mondays.",
    },
    {
        "id": "bike",
        "path": "memory/bike.md",
        "title": "The bike",
        "created_at": "2026-04-05",
        "content": "The bike has a new frame and new brakes.",
    },
)


def _topics(texts: Sequence[str]) -> list[list[float]]:
    words = [[word.strip(".,:?").lower() for word in text.split()] for text in texts]
    return [[sum(word in DRINKS for word in item), sum(word in BIKES for word in item), 1.0] for item in words]


def topics() -> FunctionEmbedder:
    return FunctionEmbedder(_topics, name="topics")


@contextmanager
def sample_memory(path: Path, *more: dict[str, Any]) -> Iterator[Memory]:
    with recollect.open(path, embedder=topics()) as memory:
        memory.add_many([*NOTES, *more])
        yield memory
