"""After concurrent writes of the same notes, every note has the vector of its final text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from recollect.embedders import EmbedderChoice
from recollect.model import Document, Draft, draft_of, embedding_text
from recollect.stores.base import Store
from recollect.writer import NoteWriter
from tests.stores.engines import ENGINES, release


class HashEmbedder:
    """Embeds a text as the first bytes of its hash, so that different texts have different vectors."""

    name = "hash"
    dimension = 4

    def __init__(self) -> None:
        self.before_first_call: Callable[[], Any] | None = None

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.before_first_call:
            action, self.before_first_call = self.before_first_call, None
            action()
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        row = np.array(list(blake2b(text.encode(), digest_size=4).digest()), dtype=np.float32) + 1
        return row / np.linalg.norm(row)


@pytest.fixture(params=sorted(ENGINES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = ENGINES[request.param](tmp_path)
    yield opened
    opened.close()
    release(tmp_path)


def writer(store: Store) -> tuple[NoteWriter, HashEmbedder]:
    embedder = HashEmbedder()
    return NoteWriter(store, EmbedderChoice(embedder, "given")), embedder


def write(store: Store, draft: dict[str, Any]) -> None:
    writer(store)[0].write([draft_of(draft)])


def assert_vectors_match_texts(store: Store) -> None:
    notes = list(store.notes())
    _, vectors = store.vectors_of(notes)
    for note, vector in zip(notes, vectors, strict=True):
        assert vector is not None
        expected = HashEmbedder().embed_query(embedding_text(note.title, note.summary, note.content))
        assert vector.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_write_embeds_again_after_concurrent_text_change(store: Store) -> None:
    write(store, {"path": "tea.md", "content": "green"})
    first, embedder = writer(store)
    embedder.before_first_call = lambda: write(store, {"path": "tea.md", "content": "oolong"})
    (note,) = first.write([draft_of({"path": "tea.md", "title": "Tea"})])
    assert (note.title, note.content) == ("Tea", "oolong")
    assert_vectors_match_texts(store)


def test_write_after_concurrent_creation_merges_and_embeds(store: Store) -> None:
    first, embedder = writer(store)
    embedder.before_first_call = lambda: write(store, {"path": "tea.md", "title": "Tea", "content": "oolong"})
    (note,) = first.write([draft_of({"path": "tea.md", "content": "green"})])
    assert (note.title, note.content) == ("Tea", "green")
    assert_vectors_match_texts(store)


def test_write_after_concurrent_deletion_embeds(store: Store) -> None:
    write(store, {"path": "tea.md", "content": "green"})
    first, embedder = writer(store)
    embedder.before_first_call = lambda: store.delete(["tea.md"], namespace="default")
    first.write([draft_of({"path": "tea.md", "content": "green"}), draft_of("other")])
    assert len(list(store.notes())) == 2
    assert_vectors_match_texts(store)


def test_write_documents_embeds_again_after_concurrent_deletion(store: Store) -> None:
    drafts: list[Draft] = [draft_of({"path": "a", "content": "x"})]
    writer(store)[0].write_documents([Document("/vault", "a.md", "1", drafts)], "default")
    first, embedder = writer(store)
    embedder.before_first_call = lambda: store.delete(["a"], namespace="default")
    first.write_documents([Document("/vault", "a.md", "2", [*drafts, draft_of("y")])], "default")
    assert_vectors_match_texts(store)


def test_concurrent_writers_leave_no_note_without_vector(store: Store) -> None:
    paths = [f"{number}.md" for number in range(4)]
    write(store, {"path": paths[0], "content": "start"})

    def change(field: str) -> None:
        note_writer, _ = writer(store)
        for turn in range(15):
            note_writer.write([draft_of({"path": path, "content": "x", field: f"{field} {turn}"}) for path in paths])

    threads = [Thread(target=change, args=(field,)) for field in ("title", "summary", "content")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(store.notes())) == 4
    assert_vectors_match_texts(store)
