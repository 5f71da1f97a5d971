from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

from recollect import AsyncMemory, Memory, open_async


def test_async_memory_has_every_method() -> None:
    def public_methods(owner: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")}

    missing = public_methods(Memory) - public_methods(AsyncMemory)
    assert missing == {"export", "load", "notes"}  # these return or take iterators


def test_async_memory_end_to_end(tmp_path: Path) -> None:
    async def use_every_method() -> None:
        (tmp_path / "vault").mkdir()
        (tmp_path / "vault" / "bike.md").write_text("A new wheel.")
        async with await open_async(
            tmp_path / "memory.db", embedder=lambda texts: [[len(text), 1] for text in texts]
        ) as memory:
            tea = await memory.add("Prefers tea.", path="tea.md")
            milk, _ = await memory.add_many(["milk", "sugar"])
            assert (await memory.update(tea, title="Tea")).title == "Tea"
            assert await memory.link(tea, milk)
            assert [item.note.id for item in await memory.neighbours(tea)] == [milk.id]
            assert await memory.unlink(tea, milk)
            assert await memory.has(tea)
            assert await memory.count() == 3
            assert len((await memory.page(2)).notes) == 2
            assert (await memory.ingest_texts({"x.md": ""})).files_read == 1
            assert (await memory.ingest(tmp_path / "vault")).notes_added == 1
            results = await memory.search_many(["tea", "wheel"], mode="bm25")
            assert [[hit.path for hit in result] for result in results] == [["tea.md"], ["bike.md"]]
            assert (await memory.search("sugar", mode="bm25"))[0].content == "sugar"
            compared = await memory.compare("sugar", ["default", "memini"], mode="bm25")
            assert [(name, result[0].content) for name, result in compared.items()] == [
                ("default", "sugar"),
                ("memini", "sugar"),
            ]
            assert (await memory.stats()).store.notes == {"default": 4}
            assert not any(finding.problem for finding in await memory.doctor())
            assert await memory.reindex() == 0
            await memory.backup(tmp_path / "copy.db")
            assert await memory.delete(tea) == 1
            assert await memory.get(tea) is None

    asyncio.run(use_every_method())
