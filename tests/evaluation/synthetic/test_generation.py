"""Whole sets of questions from the sample notes, in a real memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import recollect
from recollect import Memory, Note
from recollect.errors import ArgumentError
from recollect.evaluation import Dataset, Question, evaluate, load_dataset
from recollect.evaluation.synthetic import STRATA, generate_questions, write_questions
from recollect.sample import sample_notes

FOREIGN = [
    Note(content=f"Comet {name} crossed the orbit of Neptune near asteroid {name}{number}, trailing ionised plasma.")
    for number, name in enumerate(
        f"{first}{second}ix" for first in ("Bor", "Kel", "Tam", "Vur", "Zan") for second in "aeiou"
    )
]
"""Notes about something else than the sample."""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with recollect.open(tmp_path_factory.mktemp("sample") / "memory.db", embedder=None) as memory:
        memory.add_many(sample_notes())
        yield memory


@pytest.fixture(scope="module")
def generated(memory: Memory) -> Dataset:
    return generate_questions(memory, per_stratum=20, foreign=FOREIGN)


def test_generate_questions_of_every_stratum(generated: Dataset, memory: Memory) -> None:
    assert generated.synthetic
    assert {stratum for stratum in generated.strata if ":" not in stratum} == set(STRATA)
    assert [question.strata[0] for question in generated.questions] == [
        stratum for stratum in STRATA for _ in range(20)
    ]
    assert len({question.id for question in generated.questions}) == 120
    for question in generated.questions:
        assert question.collection == "default"
        counts = {"multi-hop": {2}, "temporal": {1, 2, 3, 4, 5}, "unanswerable": {0}}
        assert len(question.relevant) in counts.get(question.strata[0], {1})
        assert all(memory.get(note) for note in question.relevant)
        assert bool(question.asked_at) == (question.strata[0] == "temporal")
    assert generated.remarks == (
        f"synthetic: made by rule from {memory.stats().store.notes['default']} notes with seed 0",
    )


def test_exact_questions_have_several_kinds(generated: Dataset) -> None:
    kinds = [question.strata[1] for question in generated.questions if question.strata[0] == "exact"]
    assert {"exact: identifier", "exact: number", "exact: name", "exact: phrase", "exact: words"} <= set(kinds)
    assert max(kinds.count(kind) for kind in kinds) < 10


def test_stale_questions_are_answered_by_current_notes(generated: Dataset, memory: Memory) -> None:
    superseded = {
        target.id
        for note in memory.notes()
        for link in note.links
        if link.kind == "supersedes" and (target := memory.get(link.target))
    }
    stale = [question for question in generated.questions if question.strata == ("stale",)]
    assert all(superseded.isdisjoint(question.relevant) for question in stale)


def test_same_seed_gives_same_questions(generated: Dataset, memory: Memory) -> None:
    assert generate_questions(memory, per_stratum=20, foreign=FOREIGN) == generated
    other = generate_questions(memory, per_stratum=20, seed=1, foreign=FOREIGN)
    assert {question.text for question in other.questions} != {question.text for question in generated.questions}


def test_larger_set_contains_the_smaller(generated: Dataset, memory: Memory) -> None:
    larger = generate_questions(memory, per_stratum=25, foreign=FOREIGN)
    texts = {question.text for question in larger.questions}
    assert {question.text for question in generated.questions} <= texts


def test_lexical_search_answers_exact_questions(generated: Dataset, memory: Memory) -> None:
    (outcome,) = evaluate(generated, ["trovella"], memory=memory)
    figures = {stratum: outcome.values["all@5"][places].mean() for stratum, places in outcome.strata.items()}
    assert figures["exact: phrase"] == figures["exact: words"] == figures["exact: name"] == 1
    assert figures["multi-hop"] < 0.5 < figures["exact"]  # words alone do not find the other end


def test_multi_hop_questions_need_connected_notes(generated: Dataset, memory: Memory) -> None:
    for question in generated.questions[20:40]:
        one, other = question.relevant
        assert other in {near.note.id for near in memory.neighbours(one) if near.kind not in ("previous", "next")}


def test_remarks_say_why_questions_are_missing(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        assert generate_questions(memory).questions == ()
        memory.add("Green tea.", namespace="home", id="n1")
        memory.add("Vermilion barges rent cheaply.", namespace="home", id="n2", links=["n3"])
        memory.add("Oolong calms.", namespace="home", id="n3", links=[("supersedes", "n1")])
        generated = generate_questions(memory, namespace="home", per_stratum=5)
    assert {name for question in generated.questions for name in question.relevant} == {"n1", "n2", "n3"}
    rest = "the other notes say nothing that they alone say and the rules can ask for"
    assert generated.remarks == (
        "synthetic: made by rule from 3 notes with seed 0",
        f"exact: 3 of 5 made; {rest}",
        "multi-hop: 2 of 5 made; no other notes are connected and have rare words of their own",
        "typo: 3 of 5 made; the other notes have no long word that they alone hold",
        "temporal: 0 of 5 made; the month or day of creation does not identify the other notes",
        "stale: 1 of 5 made; no other note was superseded that has words of its own",
        "unanswerable: 0 of 5 made; no other foreign note has few enough words in common with these",
    )


def test_foreign_notes_of_the_same_memory_make_no_question(memory: Memory) -> None:
    generated = generate_questions(memory, per_stratum=1, foreign=memory.notes())
    assert generated.remarks[-1] == (
        "unanswerable: 0 of 1 made; no other foreign note has few enough words in common with these"
    )


def test_remark_on_indistinguishable_connected_notes(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Green tea.", id="n1", links=["n2"])
        memory.add("Green tea.", id="n2")
        generated = generate_questions(memory, per_stratum=1)
    assert generated.remarks[2] == (
        "multi-hop: 0 of 1 made; no other notes are connected and have rare words of their own"
    )


def test_duplicate_questions_are_dropped(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Zephyr vermilion.", id="n1")
        generated = generate_questions(memory, per_stratum=2)
    assert [question.id for question in generated.questions] == ["exact-001", "typo-001"]


def test_wrong_use(memory: Memory) -> None:
    with pytest.raises(ArgumentError, match="per_stratum: must be at least 1"):
        generate_questions(memory, per_stratum=0)
    with pytest.raises(ArgumentError, match="seed: must not be negative"):
        generate_questions(memory, seed=-1)


class TestWriteQuestions:
    def test_write_questions_round_trip(self, generated: Dataset, tmp_path: Path) -> None:
        folder = write_questions(generated, tmp_path / "questions")
        assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [
            "qrels/test.tsv",
            "queries.jsonl",
        ]
        assert load_dataset(folder) == replace(generated, name="questions", remarks=())

    def test_questions_of_several_strata_or_none(self, tmp_path: Path) -> None:
        all_questions = [
            Question(id=f"q{index}", text="tea?", collection="default", relevant={"n1": 2}, strata=strata)
            for index, strata in enumerate([("hard", "long"), ()])
        ]
        generated = Dataset(name="tiny", collections={}, questions=tuple(all_questions))
        read = load_dataset(write_questions(generated, tmp_path))
        assert read.questions == tuple(all_questions)
        assert not read.synthetic

    def test_write_questions_refuses_a_folder_with_files(self, generated: Dataset, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        for target in (tmp_path, tmp_path / "mine.txt"):
            with pytest.raises(ArgumentError, match="has something in it already"):
                write_questions(generated, target)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
