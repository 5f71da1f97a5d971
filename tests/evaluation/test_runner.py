from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect import Note
from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation import Collection, Dataset, Outcome, Question, System, evaluate, load_dataset
from recollect.evaluation.cache import default_cache_folder
from recollect.evaluation.memories import DEFAULT_CREATED_AT, temporary_memory
from recollect.memory import Memory
from recollect.retrieval.options import Mode
from tests.evaluation.samples import HAYSTACKS, KITCHEN, TALKS


class LetterEmbedder:
    """An embedder that counts letters and records the texts."""

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.documents += texts
        return np.array([self._count(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.queries.append(text)
        return np.array(self._count(text), dtype=np.float32)

    def _count(self, text: str) -> list[int]:
        return [text.lower().count(chr(97 + index)) for index in range(26)]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Collect the queries of searches, with their options."""
    calls: list[tuple[str, dict[str, Any]]] = []
    search = Memory.search

    def record_search(self: Memory, query: str, **options: Any) -> Any:
        calls.append((query, options))
        return search(self, query, **options)

    monkeypatch.setattr(Memory, "search", record_search)
    return calls


def test_evaluate_several_systems(tmp_path: Path) -> None:
    dataset = load_dataset(KITCHEN)
    systems: list[System | str] = ["default", System("default", "bm25"), System("memini", name="theirs")]
    default, lexical, memini = evaluate(dataset, systems, embedder="static", cache=tmp_path)
    assert [outcome.system for outcome in (default, lexical, memini)] == ["default", "default bm25", "theirs"]
    assert (memini.preset, memini.mode, lexical.mode) == ("memini", "auto", "bm25")
    assert default.embedder == "wordllama-l2-supercat-256"
    for outcome in (default, lexical, memini):
        assert list(outcome.rankings) == [question.id for question in dataset.questions]
        assert all(len(values) == 6 for values in outcome.values.values())
        assert {name: indexes.tolist() for name, indexes in outcome.strata.items()} == {
            "exact": [0, 3, 4],
            "multi-hop": [2],
            "paraphrase": [1, 2],
        }
    assert lexical.rankings["q1"].ids[0] == "k5"
    assert lexical.mean("any@1", "exact") == 1
    result = default.rankings["q1"]
    assert len(result.ids) == len(result.scores)
    assert result.milliseconds > 0
    assert list(result.scores) == sorted(result.scores, reverse=True)


def test_evaluate_isolates_collections(tmp_path: Path) -> None:
    (outcome,) = evaluate(load_dataset(TALKS), ["default"], embedder=None, cache=tmp_path)
    assert outcome.embedder == "none"
    result = outcome.rankings["conversation-2/q2"].ids
    assert set(result[:2]) == {"D1:1", "D1:3"}  # said by the person that the question is about
    assert set(result) <= {"D1:1", "D1:2", "D1:3"}


def test_evaluate_embeds_notes_once(tmp_path: Path) -> None:
    dataset = load_dataset(KITCHEN)
    embedder = LetterEmbedder()
    reported: list[tuple[int, int]] = []
    evaluate(
        dataset, ["default"], embedder=embedder, cache=tmp_path, progress=lambda *entry: reported.append(entry[:2])
    )
    assert (reported[-1], len(reported)) == ((18, 18), len(set(reported)))
    evaluate(dataset, ["default", "memini"], embedder=embedder, cache=tmp_path)
    assert len(embedder.documents) == 12


def test_evaluate_searches_as_of_the_question_date(tmp_path: Path, searches: list[tuple[str, dict[str, Any]]]) -> None:
    evaluate(load_dataset(HAYSTACKS), ["default"], embedder=None, cache=tmp_path)
    assert [str(options["question_date"] or "") for _, options in searches[::2]] == [
        "2023-06-01 10:00:00+00:00",
        "2023-07-10 19:30:00+00:00",
        "2023-06-01 10:00:00+00:00",
        "",
    ]
    assert [options["now"].day for _, options in searches[::2]] == [1, 10, 1, 21]
    searches.clear()
    evaluate(load_dataset(TALKS), ["default"], embedder=None, cache=tmp_path)
    assert {options["now"] for _, options in searches} == {
        datetime(2024, 4, 19, 12, 30, tzinfo=UTC),
        datetime(2023, 9, 13, 0, 9, tzinfo=UTC),
    }


def test_evaluate_unanswerable_questions(tmp_path: Path) -> None:
    (outcome,) = evaluate(load_dataset(HAYSTACKS, pool=True), ["default"], embedder=None, cache=tmp_path)
    assert list(outcome.rankings) == ["a1", "a2"]
    assert [len(values) for values in outcome.values.values()] == [2] * len(outcome.values)
    assert list(outcome.unanswerable) == ["a3_abs", "a4_abs"]
    assert outcome.unanswerable["a4_abs"].ids[0] == "s2"
    assert {stratum: indexes.tolist() for stratum, indexes in outcome.strata.items()} == {
        "single-session-user": [0],
        "temporal-reasoning": [1],
    }


def test_temporary_memory_dates_notes() -> None:
    notes = (Note(id="n1", content="Tea."), Note(id="n2", content="Milk.", created_at=datetime(2024, 1, 1, tzinfo=UTC)))
    with temporary_memory(Collection(id="home", notes=notes)) as (memory, _):
        dates = {note.id: note.created_at for note in memory.notes()}
    assert dates == {"n1": DEFAULT_CREATED_AT, "n2": notes[1].created_at}


def test_evaluate_embeds_queries_for_each_system(tmp_path: Path) -> None:
    dataset = load_dataset(KITCHEN).sample(2)
    embedder = LetterEmbedder()
    evaluate(dataset, ["default", "memini"], embedder=embedder, cache=tmp_path)
    assert len(embedder.queries) == 6


def dataset_without_notes(*pairs: tuple[str, str]) -> Dataset:
    questions = [
        Question(id=f"q{index}", text=text, collection="default", relevant={note: 1})
        for index, (text, note) in enumerate(pairs)
    ]
    collections = {"default": Collection(id="default", notes=())}
    return Dataset(name="mine", collections=collections, questions=tuple(questions))


def test_evaluate_a_given_memory(tmp_path: Path, searches: list[tuple[str, dict[str, Any]]]) -> None:
    dataset = dataset_without_notes(("green tea", "memory/tea.md"), ("flat white", "n2"))
    with recollect.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="memory/tea.md", namespace="work")
        memory.add("A flat white before ten.", id="n2", path="memory/coffee.md", namespace="work")
        options: dict[str, Any] = {"memory": memory, "namespace": "work", "cache": tmp_path / "cache"}
        reported: list[tuple[int, int]] = []
        (outcome,) = evaluate(dataset, ["default"], progress=lambda *entry: reported.append(entry[:2]), **options)
        assert {question: ranking.ids for question, ranking in outcome.rankings.items()} == {
            "q0": ("memory/tea.md",),
            "q1": ("n2",),
        }
        assert outcome.mean("mrr") == 1
        assert reported[-1] == (2, 2)
        latest = max(note.created_at for note in memory.notes(namespace="work") if note.created_at)
        assert searches[0][1]["now"] == latest
        memory.delete("n2", namespace="work")
        (outcome,) = evaluate(dataset, ["default"], **options)
        assert outcome.mean("mrr") == 0.5
        assert outcome.warnings == ("judgements name notes that this memory lacks",)
        with pytest.raises(ArgumentError, match="memory: has none of the judged notes in namespace 'd"):
            evaluate(dataset, ["default"], memory=memory, cache=tmp_path / "cache")
    with recollect.open(tmp_path / "m.db", embedder=None) as memory:
        assert [note.last_accessed_at for note in memory.notes(namespace="work")] == [None]
    assert not (tmp_path / "cache").exists()


def test_evaluate_in_a_store(tmp_path: Path, searches: list[tuple[str, dict[str, Any]]]) -> None:
    dataset = load_dataset(KITCHEN)
    with recollect.open(tmp_path / "home.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="mine")
    options: dict[str, Any] = {"embedder": None, "cache": tmp_path / "cache"}
    (temporary,) = evaluate(dataset, ["default"], **options)
    (in_store,) = evaluate(dataset, ["default"], store=tmp_path / "home.db", **options)
    store_namespaces = {options["namespace"] for _, options in searches if options["namespace"] != "default"}
    assert len(store_namespaces) == len(dataset.collections)
    assert {question: ranking.ids for question, ranking in in_store.rankings.items()} == {
        question: ranking.ids for question, ranking in temporary.rankings.items()
    }
    with recollect.open(tmp_path / "home.db", embedder=None) as memory:
        assert [note.id for note in memory.notes()] == ["mine"]
        assert sum(memory.stats().store.notes.values()) == 1


def test_evaluate_empties_the_store_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "search", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate(load_dataset(KITCHEN), ["default"], embedder=None, cache=tmp_path, store=tmp_path / "home.db")
    with recollect.open(tmp_path / "home.db", embedder=None) as memory:
        assert sum(memory.stats().store.notes.values()) == 0


def test_evaluate_refuses_a_store_of_another_model(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "home.db", embedder=None) as memory:
        memory.add("Prefers green tea.", vector=[1.0, 0.0])
    with pytest.raises(ArgumentError, match="store: has vectors of 'given', not of 'letters'; name an"):
        evaluate(
            load_dataset(KITCHEN), ["default"], embedder=LetterEmbedder(), cache=tmp_path, store=tmp_path / "home.db"
        )
    with recollect.open(tmp_path / "home.db", embedder=None, read_only=True) as memory:
        assert memory.stats().store.vectors == {"given": 1}


def test_evaluate_store_errors(tmp_path: Path) -> None:
    with (
        recollect.open(tmp_path / "m.db", embedder=None) as memory,
        pytest.raises(ArgumentError, match="store: is for the notes of a dataset"),
    ):
        evaluate(dataset_without_notes(("tea", "n1")), ["default"], memory=memory, store=tmp_path / "home.db")
    with pytest.raises(ArgumentError, match="store: no store opens 'redis://here'"):
        evaluate(load_dataset(KITCHEN), ["default"], embedder=None, cache=tmp_path, store="redis://here")


def test_evaluate_needs_notes_or_a_memory(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="memory: mine has questions but no notes: name the memory"):
        evaluate(dataset_without_notes(("tea", "n1")), ["default"], cache=tmp_path)
    with (
        recollect.open(tmp_path / "m.db", embedder=None) as memory,
        pytest.raises(ArgumentError, match="memory: kitchen has notes of its own"),
    ):
        evaluate(load_dataset(KITCHEN), ["default"], memory=memory)


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ([], "systems: must have at least one system, got none"),
        (["default", System("default")], "systems: 2 systems are called 'default'; their names must differ"),
        ("default", "systems: must be a list"),
    ],
)
def test_evaluate_argument_errors(tmp_path: Path, systems: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        evaluate(load_dataset(KITCHEN), systems, embedder=None, cache=tmp_path)


def test_evaluate_depth(tmp_path: Path, searches: list[tuple[str, dict[str, Any]]]) -> None:
    for measures, depth in ((["mrr", "any@5"], 20), (["nDCG@30"], 30)):
        searches.clear()
        evaluate(load_dataset(KITCHEN), ["default"], measures=measures, embedder=None, cache=tmp_path)
        assert {options["top_k"] for _, options in searches} == {depth}


def test_evaluate_ignores_namespace_without_memory(tmp_path: Path) -> None:
    (outcome,) = evaluate(load_dataset(KITCHEN), ["default"], embedder=None, namespace="work", cache=tmp_path)
    assert outcome.mean("any@5") > 0.5


def test_evaluate_missing_collection(tmp_path: Path) -> None:
    question = Question(id="q1", text="tea?", collection="nowhere", relevant={"n1": 1})
    with pytest.raises(ArgumentError, match="dataset: odd has no collection 'nowhere'"):
        evaluate(Dataset(name="odd", collections={}, questions=(question,)), ["default"], cache=tmp_path)


def test_evaluate_without_questions(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="dataset: empty has no questions"):
        evaluate(Dataset(name="empty", collections={}, questions=()), ["default"], cache=tmp_path)


def test_evaluate_collects_warnings(tmp_path: Path) -> None:
    class FailingEmbedder(LetterEmbedder):
        def embed_query(self, query: str) -> Any:  # noqa: ARG002 (it fails before)
            raise OSError("model gone")

    dataset = load_dataset(KITCHEN).sample(2)
    (outcome,) = evaluate(dataset, ["default"], embedder=FailingEmbedder(), cache=tmp_path)
    repeated: Outcome = evaluate(dataset, ["default"], embedder=FailingEmbedder(), cache=tmp_path)[0]
    assert outcome.warnings == repeated.warnings
    assert len(outcome.warnings) == 1


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_evaluate_vector_modes_need_an_embedder(tmp_path: Path, mode: Mode) -> None:
    with pytest.raises(ArgumentError, match=f"embedder: must not be none for default {mode}, which needs vector"):
        evaluate(load_dataset(KITCHEN), ["default", System("default", mode)], embedder=None, cache=tmp_path)


def test_default_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path))
    assert default_cache_folder() == tmp_path / "evaluation"
    evaluate(load_dataset(KITCHEN).sample(1), ["default"], embedder=LetterEmbedder())
    (cache,) = (tmp_path / "evaluation").iterdir()
    assert cache.name.startswith("letters.")

    def raise_no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("recollect.evaluation.cache.cache_folder", raise_no_home)
    with pytest.raises(RecollectError, match=r"no folder to store vectors in \(no home\): set RECOLLECT_CACHE"):
        default_cache_folder()
