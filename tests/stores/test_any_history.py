"""After any history of calls, a store holds and finds what a dictionary would."""

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
namespace = st.sampled_from(["default", "alice"])
draft = st.fixed_dictionaries(
    {"path": path, "content": content, "vector": vector | st.lists(vector, min_size=1, max_size=3)},
    optional={"tags": st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple), "title": content},
)


def _nearness(vectors: NDArray[np.float32], unit: NDArray[np.float64]) -> float:
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

    @rule(drafts=st.lists(draft, max_size=4), home=namespace)
    def write(self, drafts: list[dict[str, Any]], home: str) -> None:
        given = [{**each, "namespace": home, "vector": np.array(each["vector"], dtype=np.float32)} for each in drafts]
        self.store.write(given)
        for each in given:
            note = self.known.setdefault((home, each["path"]), {"tags": (), "title": ""})
            note.update(each)

    @rule(name=path, home=namespace)
    def delete(self, name: str, home: str) -> None:
        there = self.known.pop((home, name), None)
        assert self.store.delete([name], namespace=home) == (there is not None)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = ENGINES[self.engine](self.folder)

    @rule()
    def repair(self) -> None:
        assert not any(finding.problem for finding in self.store.repair())

    @rule(word=st.sampled_from(WORDS), home=namespace)
    def search_by_words(self, word: str, home: str) -> None:
        found = self.store.search_text(parse(word), 100, namespace=home, filters=Filters())
        expected = {
            name
            for (where, name), note in self.known.items()
            if where == home and word in f"{note['title']} {note['content']}".split()
        }
        assert {each.path for each in found} == expected
        assert len(found) == len(expected)
        order = [(-each.score, each.path) for each in found]
        assert order == sorted(order)
        ids = [note.id for note in self.store.notes(namespace=home)]
        scores = {each.id: each.score for each in found}
        assert self.store.text_scores(parse(word), [*ids, "nobody"], namespace=home) == scores

    @rule(name=path, home=namespace)
    def search_by_names(self, name: str, home: str) -> None:
        letter = name.removesuffix(".md")
        found = self.store.search_names([letter], 100, namespace=home, filters=Filters())
        assert [each.path for each in found] == [name] * ((home, name) in self.known)
        titled = self.store.search_names(WORDS, 100, namespace=home, filters=Filters(), titles=True)
        expected = {name for (where, name), note in self.known.items() if where == home and note["title"] in WORDS}
        assert expected <= {each.path for each in titled if each.score == 1}

    @rule(word=st.sampled_from(["gren", "whele", "bikke"]), home=namespace)
    def ask_for_similar_words(self, word: str, home: str) -> None:
        held = {
            each
            for (where, _), note in self.known.items()
            for each in f"{note['title']} {note['content']}".split()
            if where == home
        }
        meant = {"gren": "green", "whele": "wheel", "bikke": "bike"}[word]
        found = self.store.similar_words([word], namespace=home)
        assert found == ({word: (meant,)} if meant in held else {})

    @rule(name=path, home=namespace, day=st.integers(1, 28))
    def touch(self, name: str, home: str, day: int) -> None:
        (note,) = self.store.get([name], namespace=home)
        if note is not None:
            moment = datetime(2026, 4, day, tzinfo=UTC)
            later = note.last_accessed_at is None or note.last_accessed_at < moment
            assert self.store.touch({note.id: moment}, namespace=home) == later

    @rule(query=vector, home=namespace, limit=st.integers(1, 10), tagged=st.booleans())
    def search_by_vectors(self, query: tuple[int, ...], home: str, limit: int, tagged: bool) -> None:
        filters = Filters(tags=("x",) if tagged else ())
        asked = np.array(query, dtype=np.float32)
        found = self.store.search_vectors(asked, limit, namespace=home, filters=filters)
        unit = asked.astype(np.float64) / np.linalg.norm(asked)
        expected = sorted(
            (-round(_nearness(note["vector"], unit), 5), name)
            for (where, name), note in self.known.items()
            if where == home and (not tagged or "x" in note["tags"])
        )
        assert [-round(each.score, 5) for each in found] == pytest.approx(
            [score for score, _ in expected[:limit]], abs=2e-5
        )
        assert len({each.path for each in found}) == min(limit, len(expected))
        told = {each.id: each.score for each in found}
        assert self.store.similarities(asked, [*told, "nobody"], namespace=home) == told

    @rule(word=st.sampled_from(WORDS), home=namespace)
    def count(self, word: str, home: str) -> None:
        there = [f"{note['title']} {note['content']}" for (where, _), note in self.known.items() if where == home]
        holding = sum(word in text.split() for text in there)
        assert self.store.note_counts([parse(word)], namespace=home) == (len(there), [holding])

    @rule(home=namespace)
    def edges(self, home: str) -> None:
        ids = {note.path: note.id for note in self.store.notes(namespace=home)}
        paths = {name: path for path, name in ids.items()}
        found = self.store.edges(list(ids.values()), namespace=home)
        assert {edge.kind for edge in found} <= {"mention"}
        there = {name: note for (where, name), note in self.known.items() if where == home}
        out = {(paths[edge.source], paths[edge.target]) for edge in found if edge.direction == "out"}
        assert out == naming.mentions(there)
        assert out == {(paths[edge.target], paths[edge.source]) for edge in found if edge.direction == "in"}

    @invariant()
    def all_is_there(self) -> None:
        if hasattr(self, "store"):
            there = {(note.namespace, note.path): note for note in self.store.notes()}
            assert there.keys() == self.known.keys()
            for key, note in there.items():
                known = self.known[key]
                assert (note.content, note.title, note.tags) == (known["content"], known["title"], known["tags"])


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_any_history(engine: str) -> None:
    histories = settings().max_examples // (1 if engine == "sqlite" else 4)  # a server takes longer for each
    run_state_machine_as_test(
        type("History", (History,), {"engine": engine}),
        settings=settings(stateful_step_count=20, max_examples=histories),
    )
