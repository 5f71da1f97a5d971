"""After any history of calls, a store contains and returns what a dictionary would."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from numpy.typing import NDArray

from recollect.model import Filters
from recollect.query import parse
from recollect.stores.base import Store
from tests.stores import naming
from tests.stores.engines import ENGINES

WORDS = ["green", "tea", "bike", "wheel", "dog"]
path = st.sampled_from([f"{letter}.md" for letter in "abcdefgh"])
content = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
vector = st.tuples(*[st.integers(-3, 3)] * 3).filter(any)
namespaces = st.sampled_from(["default", "alice"])
draft = st.fixed_dictionaries(
    {"path": path, "content": content, "vector": vector | st.lists(vector, min_size=1, max_size=3)},
    optional={"tags": st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple), "title": content},
)


def _similarity(vectors: NDArray[np.float32], unit: NDArray[np.float64]) -> float:
    rows = np.atleast_2d(vectors)
    return float((rows @ unit / np.linalg.norm(rows, axis=1)).max())


class History(RuleBasedStateMachine):
    engine: str

    @initialize()
    def begin(self) -> None:
        self.folder = Path(mkdtemp())
        self.store: Store = ENGINES[self.engine](self.folder)
        self.known: dict[tuple[str, str], dict[str, Any]] = {}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(drafts=st.lists(draft, max_size=4), namespace=namespaces)
    def write(self, drafts: list[dict[str, Any]], namespace: str) -> None:
        notes = [
            {**draft, "namespace": namespace, "vector": np.array(draft["vector"], dtype=np.float32)} for draft in drafts
        ]
        self.store.write(notes)
        for written in notes:
            note = self.known.setdefault((namespace, written["path"]), {"tags": (), "title": ""})
            note.update(written)

    @rule(name=path, namespace=namespaces)
    def delete(self, name: str, namespace: str) -> None:
        known = self.known.pop((namespace, name), None)
        assert self.store.delete([name], namespace=namespace) == (known is not None)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = ENGINES[self.engine](self.folder)

    @rule()
    def repair(self) -> None:
        assert not any(finding.problem for finding in self.store.repair())

    @rule(word=st.sampled_from(WORDS), namespace=namespaces)
    def lexical_search(self, word: str, namespace: str) -> None:
        results = self.store.search_text(parse(word), 100, namespace=namespace, filters=Filters())
        expected = {
            name
            for (owner, name), note in self.known.items()
            if owner == namespace and word in f"{note['title']} {note['content']}".split()
        }
        assert {result.path for result in results} == expected
        assert len(results) == len(expected)
        order = [(-result.score, result.path) for result in results]
        assert order == sorted(order)
        ids = [note.id for note in self.store.notes(namespace=namespace)]
        scores = {result.id: result.score for result in results}
        assert self.store.text_scores(parse(word), [*ids, "nobody"], namespace=namespace) == scores

    @rule(name=path, namespace=namespaces)
    def name_search(self, name: str, namespace: str) -> None:
        letter = name.removesuffix(".md")
        results = self.store.search_names([letter], 100, namespace=namespace, filters=Filters())
        assert [result.path for result in results] == [name] * ((namespace, name) in self.known)
        titled = self.store.search_names(WORDS, 100, namespace=namespace, filters=Filters(), titles=True)
        expected = {name for (owner, name), note in self.known.items() if owner == namespace and note["title"] in WORDS}
        assert expected <= {result.path for result in titled if result.score == 1}

    @rule(word=st.sampled_from(["gren", "whele", "bikke"]), namespace=namespaces)
    def similar_words(self, word: str, namespace: str) -> None:
        indexed = {
            term
            for (owner, _), note in self.known.items()
            for term in f"{note['title']} {note['content']}".split()
            if owner == namespace
        }
        correction = {"gren": "green", "whele": "wheel", "bikke": "bike"}[word]
        results = self.store.similar_words([word], namespace=namespace)
        assert results == ({word: (correction,)} if correction in indexed else {})

    @rule(name=path, namespace=namespaces, day=st.integers(1, 28))
    def touch(self, name: str, namespace: str, day: int) -> None:
        (note,) = self.store.get([name], namespace=namespace)
        if note is not None:
            accessed_at = datetime(2026, 4, day, tzinfo=UTC)
            later = note.last_accessed_at is None or note.last_accessed_at < accessed_at
            assert self.store.touch({note.id: accessed_at}, namespace=namespace) == later

    @rule(query=vector, namespace=namespaces, limit=st.integers(1, 10), tagged=st.booleans())
    def vector_search(self, query: tuple[int, ...], namespace: str, limit: int, tagged: bool) -> None:
        filters = Filters(tags=("x",) if tagged else ())
        query_vector = np.array(query, dtype=np.float32)
        results = self.store.search_vectors(query_vector, limit, namespace=namespace, filters=filters)
        unit = query_vector.astype(np.float64) / np.linalg.norm(query_vector)
        expected = sorted(
            (-round(_similarity(note["vector"], unit), 5), name)
            for (owner, name), note in self.known.items()
            if owner == namespace and (not tagged or "x" in note["tags"])
        )
        assert [-round(result.score, 5) for result in results] == pytest.approx(
            [score for score, _ in expected[:limit]], abs=2e-5
        )
        assert len({result.path for result in results}) == min(limit, len(expected))
        similarities = {result.id: result.score for result in results}
        assert self.store.similarities(query_vector, [*similarities, "nobody"], namespace=namespace) == similarities

    @rule(word=st.sampled_from(WORDS), namespace=namespaces)
    def count(self, word: str, namespace: str) -> None:
        texts = [f"{note['title']} {note['content']}" for (owner, _), note in self.known.items() if owner == namespace]
        matching = sum(word in text.split() for text in texts)
        assert self.store.note_counts([parse(word)], namespace=namespace) == (len(texts), [matching])

    @rule(namespace=namespaces)
    def edges(self, namespace: str) -> None:
        ids = {note.path: note.id for note in self.store.notes(namespace=namespace)}
        paths = {name: path for path, name in ids.items()}
        edges = self.store.edges(list(ids.values()), namespace=namespace)
        assert {edge.kind for edge in edges} <= {"mention"}
        notes = {name: note for (owner, name), note in self.known.items() if owner == namespace}
        out = {(paths[edge.source], paths[edge.target]) for edge in edges if edge.direction == "out"}
        assert out == naming.mentions(notes)
        assert out == {(paths[edge.target], paths[edge.source]) for edge in edges if edge.direction == "in"}

    @invariant()
    def all_notes_are_stored(self) -> None:
        if hasattr(self, "store"):
            stored = {(note.namespace, note.path): note for note in self.store.notes()}
            assert stored.keys() == self.known.keys()
            for key, note in stored.items():
                known = self.known[key]
                assert (note.content, note.title, note.tags) == (known["content"], known["title"], known["tags"])


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_any_history(engine: str) -> None:
    histories = settings().max_examples // (1 if engine == "sqlite" else 4)  # a server is slower
    run_state_machine_as_test(
        type("History", (History,), {"engine": engine}),
        settings=settings(stateful_step_count=20, max_examples=histories),
    )
