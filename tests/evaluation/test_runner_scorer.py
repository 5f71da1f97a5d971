"""Scores of presets by real searches, over stores in which the better leg is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Memory, Note, presets
from recollect.embedders import FunctionEmbedder
from recollect.errors import ArgumentError
from recollect.evaluation import Collection, Dataset, Question, open_scorer, search_space, tune

DEFAULT = presets()["default"]
TOPICS = "amber basalt cedar denim ember fjord gravel hazel indigo jasper kelp lemon".split()
MARKS = [f"q{letter}." for letter in "abcdefghijkl"]
"""A mark per topic, too short for the lexical leg."""


def embed_topics(texts: list[str]) -> Any:
    """Embed a text as the topic whose mark it contains; a question has only the mark."""
    rows = np.full((len(texts), len(TOPICS)), 0.01)
    for row, text in zip(rows, texts, strict=True):
        for index in range(len(TOPICS)):
            row[index] += MARKS[index] in text
    return rows


TOPIC_EMBEDDER = FunctionEmbedder(embed_topics, name="topics", dimension=len(TOPICS))


def misleading_dataset(collections: int = 1) -> Dataset:
    """Return questions for which lexical search finds a wrong note and vector search the right one."""
    collection_by_id, questions = {}, []
    for number in range(collections):
        notes = [Note(id=f"n{index}", content=f"{topic} {MARKS[index]}") for index, topic in enumerate(TOPICS)]
        collection_by_id[f"c{number}"] = Collection(id=f"c{number}", notes=tuple(notes))
        for turn in range(2):
            for index in range(len(TOPICS)):
                wrong = TOPICS[(index + 1 + turn) % len(TOPICS)]
                questions.append(
                    Question(
                        id=f"q{number}.{turn}.{index}",
                        text=f"{wrong} {MARKS[index]}",
                        collection=f"c{number}",
                        relevant={f"n{index}": 1},
                    )
                )
    return Dataset(name="misleading", collections=collection_by_id, questions=tuple(questions))


def test_tune_raises_the_weight_of_the_better_leg(tmp_path: Path) -> None:
    dataset = misleading_dataset()
    lexical_preset = replace(
        DEFAULT, fusion=DEFAULT.fusion.changed({"weights": {"lexical": 0.6, "vector": 0.4}, "deviations": 0.0})
    )
    legs = search_space(lexical_preset)[:1]
    with open_scorer(dataset, measure="mrr", embedder=TOPIC_EMBEDDER, cache=tmp_path) as scorer:
        before = scorer(lexical_preset)
        result = tune(scorer, lexical_preset, space=legs)
        after = scorer(result.chosen)
    assert result.chosen.fusion.weights["vector"] > lexical_preset.fusion.weights["vector"]
    assert result.recommended
    assert after.mean() == 1.0 > before.mean()
    assert result.before == pytest.approx(before.mean())
    assert result.gain.mean == pytest.approx(1.0 - before.mean())
    assert not scorer.warnings


def test_scorer_isolates_collections_and_keeps_order(tmp_path: Path) -> None:
    dataset = misleading_dataset(collections=3)
    with open_scorer(dataset, measure="any@1", mode="semantic", embedder=TOPIC_EMBEDDER, cache=tmp_path) as scorer:
        assert scorer(DEFAULT).tolist() == [1.0] * 72
    shuffled = Dataset(
        name="shuffled",
        collections={
            "home": Collection(
                id="home", notes=(Note(id="a", content="green tea"), Note(id="b", content="a red bike"))
            ),
            "work": Collection(id="work", notes=(Note(id="a", content="a red bike"),)),
        },
        questions=tuple(
            Question(id=f"q{index}", text="bike", collection=collection, relevant={note: 1})
            for index, (collection, note) in enumerate([("work", "a"), ("home", "a"), ("work", "b"), ("home", "b")])
        ),
    )
    reported: list[tuple[int, int, str]] = []
    with open_scorer(shuffled, measure="mrr", embedder=None, progress=lambda *now: reported.append(now)) as scorer:
        assert scorer(DEFAULT).tolist() == [1.0, 0.0, 0.0, 1.0]
    assert reported == [(1, 3, "work"), (3, 3, "home")]


def test_scorer_embeds_queries_once(tmp_path: Path) -> None:
    seen: list[str] = []

    def record_texts(texts: list[str]) -> Any:
        seen.extend(texts)
        return embed_topics(texts)

    embedder = FunctionEmbedder(record_texts, name="topics", dimension=len(TOPICS), query_cache=0)
    with open_scorer(misleading_dataset(), embedder=embedder, cache=tmp_path) as scorer:
        scorer(DEFAULT)
        embedded_once = len(seen)
        scorer(presets()["memini"])
        assert embedded_once == len(seen) == len(set(seen))


def test_scorer_searches_as_of_the_question_date() -> None:
    notes = (
        Note(id="old", content="tea party", created_at=datetime(2024, 3, 1, tzinfo=UTC)),
        Note(id="new", content="tea party!", created_at=datetime(2024, 3, 20, tzinfo=UTC)),
    )
    questions = [
        Question(
            id="q1", text="tea party three weeks ago", collection="home", relevant={"old": 1}, asked_at="2024-03-22"
        ),
        Question(id="q2", text="tea party yesterday", collection="home", relevant={"new": 1}),
    ]
    dataset = Dataset(
        name="dated", collections={"home": Collection(id="home", notes=notes)}, questions=tuple(questions)
    )
    with open_scorer(dataset, measure="mrr", embedder=None) as scorer:
        assert scorer(presets()["memini"]).tolist() == [1.0, 1.0]


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("green tea", id="n1", path="tea.md", last_accessed_at="2024-01-01")
        memory.add("a red bike", id="n2", path="bike.md", namespace="work")
        yield memory


def test_scorer_searches_a_given_memory(memory: Memory, tmp_path: Path) -> None:
    questions = (
        Question(id="q1", text="tea", collection="default", relevant={"n1": 1}),
        Question(id="q2", text="tea", collection="default", relevant={"tea.md": 1}),
        Question(id="q3", text="bike", collection="default", relevant={"bike.md": 1}),
    )
    empty = {"default": Collection(id="default", notes=())}
    dataset = Dataset(name="mine", collections=empty, questions=questions[1:])
    with open_scorer(dataset, measure="mrr", memory=memory) as scorer:
        assert scorer(DEFAULT).tolist() == [1.0, 0.0]
    with open_scorer(dataset, measure="mrr", memory=memory, namespace="work") as scorer:
        assert scorer(DEFAULT).tolist() == [0.0, 1.0]
    with open_scorer(Dataset(name="mine", collections=empty, questions=questions[:1]), memory=memory) as scorer:
        assert scorer(DEFAULT).tolist() == [1.0]
    memory.close()  # access times would be written now
    with recollect.open(tmp_path / "memory.db", embedder=None) as again:
        (note,) = again.notes()
        assert str(note.last_accessed_at) == "2024-01-01 00:00:00+00:00"


def test_scorer_needs_notes_or_a_memory() -> None:
    question = Question(id="q1", text="tea", collection="default", relevant={"n1": 1})
    dataset = Dataset(name="mine", collections={"default": Collection(id="default", notes=())}, questions=(question,))
    with pytest.raises(ArgumentError, match="mine has questions but no notes"), open_scorer(dataset):
        pass


def test_scorer_reports_progress(tmp_path: Path) -> None:
    notes = tuple(Note(id=f"n{index}", content=f"code{index}") for index in range(130))
    question = Question(id="q1", text="code7", collection="home", relevant={"n7": 1})
    dataset = Dataset(name="one", collections={"home": Collection(id="home", notes=notes)}, questions=(question,))
    reported: list[int] = []
    embedder = FunctionEmbedder(lambda texts: [[1.0, 0.5] for _ in texts], name="flat")
    with open_scorer(
        dataset, measure="mrr", embedder=embedder, cache=tmp_path, progress=lambda done, *_: reported.append(done)
    ):
        assert reported == [128, 130]


def test_scorer_collects_warnings(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("green tea", id="n1")
    question = Question(id="q1", text="tea", collection="default", relevant={"n1": 1})
    dataset = Dataset(name="mine", collections={"default": Collection(id="default", notes=())}, questions=(question,))
    with (
        recollect.open(tmp_path / "memory.db", embedder=TOPIC_EMBEDDER) as memory,
        open_scorer(dataset, measure="mrr", memory=memory) as scorer,
    ):
        assert scorer(DEFAULT).tolist() == scorer(presets()["memini"]).tolist() == [1.0]
    (warning,) = scorer.warnings
    assert warning.startswith("no note has a vector yet")
