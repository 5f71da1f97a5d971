"""Make the fixture: a memory written by version 0.1.0, with its snapshots, and what 0.1.0 finds in it.

Run it with the sources of that version::

    git worktree add /tmp/v010 v0.1.0
    PYTHONPATH=/tmp/v010/src:. python -m tests.stores.sqlite.v010.make

It writes ``memory.tar.gz`` and ``results.json`` beside itself.
"""

from __future__ import annotations

import importlib
import json
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import recollect
from recollect.embedders import FunctionEmbedder
from tests.stores.sqlite.v010.search import WORDS, embed, search_everything

FOLDER = Path(__file__).parent
STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def notes() -> list[dict[str, Any]]:
    """Return some sixty notes with every kind of field."""
    generator = np.random.default_rng(7)
    drafts = []
    for number in range(60):
        content = " ".join(generator.choice(WORDS, size=12))
        drafts.append(
            {
                "id": f"n{number}",
                "path": f"notes/{WORDS[number % len(WORDS)]}-{number}.md",
                "title": f"{WORDS[number % len(WORDS)].title()} {number}",
                "summary": content[:20],
                "content": f"{content} {'[[tea-0]]' if number % 9 == 1 else ''}",
                "tags": [WORDS[number % 5]],
                "metadata": {"number": number, "even": number % 2 == 0},
                "session": f"s{number // 10}",
                "position": number % 10,
                "importance": number / 60,
                "created_at": STARTED + timedelta(hours=number),
                "links": [("supersedes", f"n{number - 1}")] if number % 20 == 10 else [],
            }
        )
    return drafts


def main() -> None:
    """Write the fixture."""
    if recollect.__version__ != "0.1.0":
        raise SystemExit(f"this is version {recollect.__version__}; run it with the sources of 0.1.0")
    for module, name, value in (
        ("recollect.stores.sqlite.postings.index", "LEAST_NOTES", 20),
        ("recollect.stores.sqlite.vectors", "LEAST_VECTORS", 19),
    ):
        setattr(importlib.import_module(module), name, value)
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        with recollect.open(path, embedder=FunctionEmbedder(embed, name="letters", dimension=16)) as memory:
            memory.add_many(notes())
        with recollect.open(path, embedder=None, read_only=True) as memory:
            results = search_everything(memory)
        (FOLDER / "results.json").write_text(json.dumps(results) + "\n", encoding="utf-8")
        with tarfile.open(FOLDER / "memory.tar.gz", "w:gz") as archive:
            for file in (path, *sorted(Path(folder).glob("memory.db-snapshot-*"))):
                archive.add(file, file.name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
