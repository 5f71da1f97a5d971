"""Memory, with real SQLite and a small embedder whose vectors can be computed by hand."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import AsyncMemory, Filters, Link, Memory, Note, NoteNotFoundError, RecollectError, RecollectWarning
from recollect.embedders import EmbedderChoice, choose_embedder
from recollect.errors import ArgumentError, ArgumentTypeError, EmbedderError, SecretFoundError
from recollect.jsonl import line_of
from recollect.model import NOTE_FIELDS
from recollect.retrieval.options import Mode
from recollect.sample import sample_notes, sample_queries
from recollect.stores import open_store
from tests.embedders.test_registry import without

TOPICS = (("tea", "oolong", "sencha"), ("bike", "frame", "wheel"), ("dog", "leash", "bark"))


class Topics:
    """An embedder that counts words of three topics; texts about the same topic have similar vectors."""

    name = "topics"
    dimension = 4

    def __init__(self, name: str = "topics") -> None:
        self.name = name
        self.texts: list[str] = []
        self.fails = False

    def embed_documents(self, texts: Any) -> Any:
        if self.fails:
            raise EmbedderError("the model is asleep")
        self.texts += texts
        rows = [[*(sum(text.lower().count(word) for word in topic) for topic in TOPICS), 0.1] for text in texts]
        matrix = np.array(rows, dtype=np.float32)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


@pytest.fixture
def embedder() -> Topics:
    return Topics()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path, embedder: Topics) -> Iterator[Memory]:
    with recollect.open(path, embedder=embedder) as memory:
        yield memory


def paths(result: Any) -> list[str]:
    return [hit.path for hit in result]


class TestAdding:
    def test_added_note_is_found_by_lexical_and_vector_search(self, memory: Memory) -> None:
        memory.add("Prefers sencha.", path="tea.md", importance=0.8)
        memory.add("New wheel.", path="bike.md")
        assert paths(memory.search("sencha", mode="bm25")) == ["tea.md"]
        assert paths(memory.search("oolong", mode="semantic", top_k=1)) == ["tea.md"]
        result = memory.search("oolong sencha", top_k=1)
        assert paths(result) == ["tea.md"]
        assert result.trace.mode == "hybrid"
        assert result[0].candidate.importance == 0.8

    def test_unchanged_text_is_not_embedded_again(self, memory: Memory, embedder: Topics) -> None:
        note = memory.add("Prefers sencha.", path="tea.md")
        memory.add("Prefers sencha.", path="tea.md", tags=["drinks"])
        memory.update(note, importance=1)
        memory.add_many([{"path": "tea.md", "content": "Prefers sencha."}, "a", "a"])
        assert embedder.texts == ["Prefers sencha.", "a"]
        memory.update("tea.md", content="Prefers oolong.")
        assert embedder.texts[2:] == ["Prefers oolong."]

    def test_failing_embedder_stores_nothing(self, memory: Memory, embedder: Topics) -> None:
        embedder.fails = True
        with pytest.raises(EmbedderError, match="the model is asleep"):
            memory.add("Prefers sencha.", path="tea.md")
        assert memory.get("tea.md") is None

    def test_add_many_notes_mappings_and_texts(self, memory: Memory) -> None:
        steps: list[tuple[int, int, str]] = []
        notes: list[Any] = ["text", {"content": "mapping", "path": "m.md"}, Note(content="note", id="n")]
        stored = memory.add_many(notes, namespace="alice", progress=lambda *step: steps.append(step))
        assert [note.content for note in stored] == ["text", "mapping", "note"]
        assert {note.namespace for note in stored} == {"alice"}
        assert steps == [(3, 3, "n")]
        assert memory.add_many(iter(["one more"]))[0].namespace == "default"
        assert memory.add_many([]) == []
        with pytest.raises(ArgumentError, match=r"^notes\[1\]: has no field 'contents'"):
            memory.add_many(["fine", {"contents": "typo"}])

    def test_update(self, memory: Memory) -> None:
        note = memory.add("Prefers sencha.", path="tea.md", tags=["drinks"])
        changed = memory.update("tea.md", title="Tea", path="drinks/tea.md")
        assert (changed.id, changed.title, changed.tags) == (note.id, "Tea", ("drinks",))
        assert memory.get("tea.md") is None
        with pytest.raises(NoteNotFoundError, match="there is no note 'nothing' in namespace 'default'"):
            memory.update("nothing", title="x")
        with pytest.raises(ArgumentError, match="^id: of a note cannot be changed"):
            memory.update(note, id="other")
        with pytest.raises(ArgumentError, match="^note: has no field 'colour'"):
            memory.update(note, colour="green")

    def test_update_of_deleted_note_keeps_note_at_its_path(self, memory: Memory) -> None:
        gone, precious = memory.add("one", path="a.md"), memory.add("precious", path="b.md")
        memory.delete(gone)
        memory._get_existing = lambda *_, **__: gone  # type: ignore[method-assign]
        with pytest.raises(NoteNotFoundError, match="there is no note"):
            memory.update(gone, path="b.md", content="overwritten")
        assert list(memory.notes()) == [precious]

    def test_get_and_delete(self, memory: Memory) -> None:
        note = memory.add("Prefers sencha.", path="tea.md", namespace="alice")
        memory.add("Prefers oolong.", path="tea.md")
        assert memory.get(note) == note
        assert memory.get("tea.md", namespace="alice") == note
        assert memory.delete(note, "tea.md") == 2
        assert memory.get(note) is None
        assert memory.delete("tea.md", "lone \udc00") == 0
        assert list(memory.notes()) == []


class TestSearching:
    @pytest.fixture(autouse=True)
    def _notes(self, memory: Memory) -> None:
        memory.add("Prefers sencha over coffee.", path="tea.md", tags=["drinks"])
        memory.add("The frame number is WVB-7741.", path="bike.md", created_at="2026-01-01")
        memory.add("Needs a new leash.", path="dog.md")

    def test_hybrid_search_is_explained(self, memory: Memory) -> None:
        result = memory.search("coffee or oolong")
        assert result[0].path == "tea.md"
        assert len(result) == 3
        assert [hit.rank for hit in result[:2]] == [1, 2]
        assert {part.leg for part in result[0].candidate.contributions} == {"lexical", "vector"}
        assert "\n 1  tea.md  (" in result.explain(limit=1)
        data = result.to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["trace"]["embedder"] == "topics"
        assert data["trace"]["embedderUsed"] is True
        assert data["hits"][0]["snippet"] == "Prefers sencha over coffee."
        (span,) = result[0].highlights
        assert result[0].snippet[slice(*span)] == "coffee"
        assert result.warnings == []

    def test_search_modes(self, memory: Memory) -> None:
        assert paths(memory.search("oolong", mode="bm25")) == []
        assert paths(memory.search("oolong", mode="semantic"))[0] == "tea.md"
        assert memory.search("oolong", mode="hybrid").trace.mode == "hybrid"
        with pytest.raises(ArgumentError, match="^mode: must be one of auto, hybrid, bm25, semantic"):
            memory.search("oolong", mode="fuzzy")  # type: ignore[arg-type]

    def test_search_filters(self, memory: Memory) -> None:
        assert paths(memory.search("frame", filters={"tags": ["drinks"]})) == ["tea.md"]
        assert paths(memory.search("frame", filters=Filters(created_before="2026-02-01"))) == ["bike.md"]  # type: ignore[arg-type]
        assert list(memory.search("frame", namespace="alice")) == []

    def test_missing_model_warns_in_search_stats_and_doctor(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        without(monkeypatch, "onnxruntime", "wordllama")
        with recollect.open(tmp_path / "words.db") as lexical:
            lexical.add("Green tea.")
            warning = lexical.embedder_warning
            assert warning.startswith(
                "vector search is off, because no embedding model is installed: arctic-embed-s needs"
            )
            assert lexical.search("tea").warnings == [warning]
            assert lexical.search("tea", mode="bm25").warnings == []
            assert lexical.compare("tea", ["memini"])["memini"].warnings == [warning]
            assert warning in lexical.stats().embedder
            assert lexical.doctor()[-1].warning == warning
        with recollect.open(tmp_path / "words.db", embedder=None) as lexical:
            assert (lexical.search("tea").warnings, lexical.embedder_warning) == ([], "")

    def test_with_secrets(self, memory: Memory) -> None:
        careful = memory.with_secrets("refuse")
        with pytest.raises(SecretFoundError):
            careful.add("The card is 4111 1111 1111 1111.")
        with pytest.raises(SecretFoundError):
            AsyncMemory(memory).with_secrets("refuse").memory.add("The card is 4111 1111 1111 1111.")
        stored = memory.add("The card is 4111 1111 1111 1111.")
        assert careful.get(stored.id) == memory.get(stored.id)

    def test_result_repr_has_no_texts(self, memory: Memory) -> None:
        result = memory.search("oolong", answer_threshold=0.0)
        assert len(repr(result)) < 200
        assert repr(result).startswith(f"<SearchResult 'oolong': {len(result)} hits, has_answer=True, ['tea.md', ")

    def test_top_k_results_are_a_prefix(self, memory: Memory) -> None:
        memory.add_many(f"note {number} on {'tea' * (number % 4)} and bikes" for number in range(150))
        ids = [hit.id for hit in memory.search("tea bikes", top_k=150)]
        assert len(ids) >= 150
        assert [hit.id for hit in memory.search("tea bikes", top_k=60)] == [
            hit.id for hit in memory.search("tea bikes", top_k=5)
        ] + [hit.id for hit in memory.search("tea bikes", top_k=60)][5:]

    def test_exclusion_applies_to_vector_search(self, memory: Memory) -> None:
        memory.add("Oolong on Fridays.", path="friday.md")
        assert paths(memory.search("oolong"))[0] == "friday.md"
        assert "friday.md" not in paths(memory.search("oolong NOT friday"))
        assert "friday.md" not in paths(
            memory.search("oolong NOT friday", mode="semantic", filters={"path_prefix": "f"})
        )
        assert sorted(paths(memory.search("coffee NOT coffee"))) == ["bike.md", "dog.md", "friday.md"]
        assert memory.search("tea NOT friday", mode="semantic")[0].path == "tea.md"

    def test_query_of_stopwords_only(self, memory: Memory) -> None:
        memory.add("To be or not to be", path="hamlet.md")
        assert paths(memory.search("to be", mode="bm25")) == ["hamlet.md"]

    def test_search_many(self, memory: Memory) -> None:
        results = memory.search_many(["oolong", "wheel"], top_k=1)
        assert [paths(result) for result in results] == [["tea.md"], ["bike.md"]]

    def test_empty_query_returns_no_lexical_hits(self, memory: Memory) -> None:
        assert list(memory.search("", mode="bm25")) == []
        assert memory.search("   ").trace.bm25_count == 0

    def test_search_with_aliases(self, path: Path) -> None:
        with recollect.open(path, embedder=None, aliases={"bicycle": ["frame"]}) as memory:
            result = memory.search("bicycle")
            assert paths(result) == ["bike.md"]
            assert result.trace.compiled_query == "frame"

    def test_search_falls_back_to_lexical_if_embedder_fails(self, memory: Memory, embedder: Topics) -> None:
        embedder.fails = True
        result = memory.search("sencha", mode="semantic")
        assert paths(result) == ["tea.md"]
        assert result.trace.fell_back_to_bm25
        assert not result.trace.embedder_used
        assert result.warnings == ["only lexical search ran: the model is asleep"]
        assert "errorStage" not in result.trace.to_dict()

    @pytest.mark.parametrize(
        "arguments", [{"preset": "magic"}, {"reranker": "magic"}, {"aliases": {"tea": 3}}, {"reranker_timeout": -1}]
    )
    def test_invalid_arguments_create_no_file(self, tmp_path: Path, arguments: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError):
            recollect.open(tmp_path / "new.db", embedder=None, **arguments)
        assert not (tmp_path / "new.db").exists()

    def test_reranker_timeout(self, path: Path, memory: Memory) -> None:  # noqa: ARG002 (fills the store)
        def slow(_: str, documents: list[str]) -> list[float]:
            time.sleep(0.5)
            return [1.0] * len(documents)

        with recollect.open(path, embedder=None, reranker=slow, reranker_timeout=0.01) as impatient:
            assert impatient.search("sencha").trace.error_detail == "no answer within 0.01 seconds"

    def test_changed_dimension_is_refused(self, memory: Memory, embedder: Topics) -> None:
        embedder.embed_query = lambda _: embedder.embed_documents(["tea"])[0][:2]  # type: ignore[method-assign,assignment]
        result = memory.search("sencha")
        assert paths(result) == ["tea.md"]
        assert "the vectors of topics have 2 numbers now and 4 in the store" in result.warnings[0]

    def test_invalid_vectors_are_refused(self, memory: Memory, embedder: Topics) -> None:
        embedder.embed_query = lambda _: [float("nan")] * 4  # type: ignore[method-assign,assignment]
        assert memory.search("sencha").warnings == [
            "only lexical search ran: topics returned numbers that are not finite"
        ]
        embedder.embed_documents = lambda _: [[1, 2, 3, 4]] * 7  # type: ignore[method-assign,assignment]
        with pytest.raises(EmbedderError, match=r"topics returned an array of shape \(7, 4\) instead of 1 vector"):
            memory.add("something new")

    def test_model_changes_during_query_embedding(self, path: Path, memory: Memory, embedder: Topics) -> None:
        embed = embedder.embed_query

        def overtaken(text: str) -> Any:
            with pytest.warns(RecollectWarning), recollect.open(path, embedder=Topics("other")) as second_memory:
                second_memory.reindex()
            return embed(text)

        embedder.embed_query = overtaken  # type: ignore[method-assign]
        result = memory.search("sencha", mode="hybrid")
        assert paths(result) == ["tea.md"]
        assert (result.trace.vector_count, result.trace.embedder_used) == (0, False)
        assert "vectors are of other, not of topics" in result.warnings[0]

    def test_huge_numbers_are_normalised(self, memory: Memory) -> None:
        assert len(memory.search("sencha", top_k=2**70, candidate_k=2**64)) == 3
        assert len(memory.search("sencha", filters={"metadata": {"x": 10**400}})) == 0

    def test_search_with_vector(self, path: Path) -> None:
        with recollect.open(path, embedder=None) as memory:
            result = memory.search("anything", vector=[0, 1, 0, 0], top_k=1, mode="semantic")
            assert paths(result) == ["bike.md"]
            assert memory.search("anything").trace.mode == "bm25"
            with pytest.raises(ArgumentError, match="^vector: has 2 numbers; those of 'topics' have 4"):
                memory.search("anything", vector=[0, 1])


class TestModelChange:
    def test_reindex_changes_the_embedder_of_an_open_memory(self, memory: Memory) -> None:
        careful = memory.with_secrets("refuse")
        memory.add("A first note about tea.")
        other = EmbedderChoice(Topics("other"), "test")
        late: list[Note] = []

        def add_note(*_: Any) -> None:
            if not late:
                late.append(memory.add("A late note about tea."))

        assert memory.reindex(embedder=other, progress=add_note) == 2
        assert (memory.vector_model, memory.stats().unembedded, careful.embedder_choice) == ("other", 0, other)
        careful.add("A note about a bike.")
        assert memory.search("tea").warnings == []
        assert memory.stats().unembedded == 0

    def test_search_ends_with_the_embedder_with_which_it_began(self, memory: Memory, embedder: Topics) -> None:
        memory.add("A note about tea.", path="tea.md")
        embed_query = embedder.embed_query

        def change_embedder(text: str) -> Any:
            memory.set_embedder(EmbedderChoice(None, "changed"))
            return embed_query(text)

        embedder.embed_query = change_embedder  # type: ignore[method-assign]
        result = memory.search("oolong")
        assert (paths(result), result.trace.mode, result.trace.embedder) == (["tea.md"], "hybrid", "topics")
        assert memory.search("oolong").trace.mode == "bm25"

    def test_reindex_with_another_model(self, path: Path, memory: Memory) -> None:
        for number in range(150):
            memory.add(f"note {number} about tea", path=f"{number}.md")
        memory.close()
        new_embedder = Topics("other")
        with pytest.warns(RecollectWarning, match="are of topics, the embedder is other; reindex the memory"):
            changed = recollect.open(path, embedder=new_embedder)
        result = changed.search("tea", mode="hybrid")
        assert result.trace.mode == "bm25"
        assert len(result) == 10
        assert "the store's vectors are of topics, not of other" in result.warnings[0]
        assert changed.stats().unembedded == 150
        assert "150 notes have no vector of other; reindex the memory" in [
            finding.problem for finding in changed.doctor()
        ]

        def interrupt(done: int, total: int, name: str) -> None:
            assert (total, name) == (150, "")
            if done >= 100:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            changed.reindex(progress=interrupt)
        assert changed.stats().unembedded == 150 - 128
        changed.add("new while half done: tea", path="new.md")
        assert changed.reindex() == 22
        assert len([text for text in new_embedder.texts if text.startswith("note 1 ")]) == 1
        result = changed.search("oolong", mode="semantic")
        assert result.trace.mode == "semantic"
        assert result.warnings == []
        assert changed.stats().unembedded == 0
        assert changed.reindex() == 0
        changed.close()

    def test_reindex_with_concurrent_adds(self, path: Path, memory: Memory) -> None:
        memory.add("one tea", path="1.md")
        memory.close()
        with recollect.open(path, embedder=None) as plain, recollect.open(path, embedder=Topics("topics")) as changed:
            plain.add("two teas", path="2.md")

            def add_after_first(done: int, _total: int, _name: str) -> None:
                if done == 1:
                    plain.add("three teas", path="3.md")

            activate = changed._store.activate

            def add_and_activate(model: Any) -> bool:
                if not plain.has("4.md"):
                    plain.add("four teas", path="4.md")
                return activate(model)

            changed._store.activate = add_and_activate  # type: ignore[method-assign]
            assert changed.reindex(progress=add_after_first) == 3
            assert changed.stats().unembedded == 0
            assert len(changed.search("oolong", mode="semantic")) == 4

    def test_reindex_embeds_notes_without_vectors(self, path: Path) -> None:
        with recollect.open(path, embedder=None) as memory:
            memory.add("Prefers sencha.", path="tea.md")
            with pytest.raises(RecollectError, match="this memory has no embedder"):
                memory.reindex()
            assert memory.stats().unembedded == 0
        with recollect.open(path, embedder=Topics()) as memory:
            result = memory.search("sencha")
            assert paths(result) == ["tea.md"]
            assert result.warnings == [
                "no note has a vector yet, so only lexical search ran; reindex the memory to embed them"
            ]
            assert memory.reindex() == 1
            assert paths(memory.search("oolong")) == ["tea.md"]

    def test_write_without_embedder_drops_stale_vector(self, path: Path, memory: Memory) -> None:
        memory.add("Prefers sencha.", path="tea.md")
        memory.close()
        with recollect.open(path, embedder=None) as plain:
            plain.update("tea.md", content="Prefers wheels.")
            assert plain.stats().unembedded == 1
        with recollect.open(path, embedder=Topics()) as again:
            assert again.reindex() == 1
            assert paths(again.search("bike", mode="semantic")) == ["tea.md"]


class TestLinks:
    def test_links_and_neighbours(self, memory: Memory) -> None:
        tea, coffee = memory.add("tea", path="tea.md"), memory.add("coffee", path="coffee.md")
        assert memory.link(tea, coffee, kind="supersedes")
        assert not memory.link("tea.md", coffee, kind="supersedes")
        (out,) = memory.neighbours("tea.md")
        assert (out.note.path, out.kind, out.direction) == ("coffee.md", "supersedes", "out")
        (back,) = memory.neighbours(coffee)
        assert (back.note.path, back.kind, back.direction) == ("tea.md", "supersedes", "in")
        note = memory.get(tea)
        assert note is not None
        assert note.links == (Link("supersedes", coffee.id),)
        assert memory.unlink(tea, coffee, kind="supersedes")
        assert memory.neighbours(tea) == []


BLANK = (
    "must not be blank or only punctuation in a note without title and summary; give the note some text, or delete it"
)


class TestQuestionDate:
    @pytest.mark.parametrize(
        "date_text",
        [
            "2026-13-40", "2026-02-30", "2026-04-18 25:00", "2026-04-18T10:61:00Z", "yesterday", "1.2.2026",
            "31 Feb 2026 10:00", "Sat, 18 Apr 2026 10:00:61 +0000", "x" * 100,
        ],
    )  # fmt: skip
    def test_invalid_question_date_is_refused(self, memory: Memory, date_text: str) -> None:
        message = r"^question_date: must be a date such as 2026-04-18, 2026/04/18 \(Sat\) 09:30, or a time in ISO 8601 "
        with pytest.raises(ArgumentError, match=message + rf"or RFC 2822, got '{date_text[:60]}'$".replace("+", r"\+")):
            memory.search("tea", question_date=date_text)
        with pytest.raises(ArgumentError, match=message):
            memory.compare("tea", ["default"], question_date=date_text)

    @pytest.mark.parametrize(
        "date_text",
        [
            None, "2026-02-28", "2026/04/18 (Sat) 09:30", "2026-04-18T10:00:59.5+02:00", "2024-02-29",
            date(2026, 4, 18), "18 apr\ufeff2026 10:00", "Sat, 18 Apr 2026 10:00:59 +0000 (CET)",
            datetime(2026, 4, 18, 9, tzinfo=UTC),
        ],
    )  # fmt: skip
    def test_question_date_formats(self, memory: Memory, date_text: Any) -> None:
        assert not any("date" in warning for warning in memory.search("tea", question_date=date_text).warnings)

    @pytest.mark.parametrize("empty", ["", "  "])
    def test_empty_question_date_is_ignored(self, memory: Memory, empty: str) -> None:
        memory.add("Tea.", id="n1")
        assert memory.search("tea 2 days ago", question_date=empty).trace.date_hints == ()
        assert memory.compare("tea", ["default"], question_date=empty)["default"].trace.date_hints == ()

    def test_question_date_of_wrong_type(self, memory: Memory) -> None:
        with pytest.raises(ArgumentError, match="^question_date: must be a string or a date, got int$"):
            memory.search("tea", question_date=7)  # type: ignore[arg-type]


class TestBlankNotes:
    @pytest.mark.parametrize("text", ["", " \n\t", "\u3000\ufeff\u200b", "...", "---", "?! _\n`~`", "¿…—"])
    def test_add_refuses_note_without_text(self, memory: Memory, text: str) -> None:
        with pytest.raises(ArgumentError, match=f"^content: {BLANK}$"):
            memory.add(text, tags=["tea"], title=text)
        with pytest.raises(ArgumentError, match=rf"^notes\[1\].content: {BLANK}$"):
            memory.add_many(["Tea.", {"content": text}])
        assert memory.count() == 0

    def test_title_or_summary_is_enough_text(self, memory: Memory) -> None:
        assert memory.add("", title="Tea").title == "Tea"
        assert memory.add("", summary="Tea", path="tea.md").summary == "Tea"
        assert memory.add(" ", path="tea.md").summary == "Tea"

    @pytest.mark.parametrize("text", ["🎻", "→ ✓", "茶", "7", "…a", "C", "é"])
    def test_letter_digit_or_symbol_counts_as_text(self, memory: Memory, text: str) -> None:
        assert memory.add(text).content == text

    def test_update_must_not_remove_the_last_text(self, memory: Memory) -> None:
        memory.add("Green.", path="tea.md", title="Tea")
        assert memory.update("tea.md", content="").title == "Tea"
        with pytest.raises(ArgumentError, match=f"^title: {BLANK}$"):
            memory.update("tea.md", title=" ")
        memory.update("tea.md", title="", content="Green.")
        with pytest.raises(ArgumentError, match=f"^content: {BLANK}$"):
            memory.add("", path="tea.md")
        assert memory.get("tea.md").content == "Green."  # type: ignore[union-attr]

    def test_load_names_the_line_without_text(self, memory: Memory) -> None:
        lines = [line_of(Note(content="Tea."), "", None), line_of(Note(content=" "), "", None)]
        with pytest.raises(RecollectError, match=f"^line 2: content: {BLANK}; 1 note before it is stored$"):
            memory.load(lines)

    def test_stored_blank_notes_stay_usable(self, path: Path, embedder: Topics) -> None:
        store = open_store(path)
        store.write([{"id": "old", "path": "old.md", "content": ""}, {"id": "tea", "content": "Tea."}])
        store.close()
        with recollect.open(path, embedder=embedder) as memory:
            assert memory.update("old", importance=0.9).importance == 0.9
            memory.reindex()
            assert [hit.id for hit in memory.search("tea", mode="bm25")] == ["tea"]
            assert memory.search("tea").trace.warnings == []
            assert len(list(memory.export())) == 2
            assert not any(finding.problem for finding in memory.doctor())
            assert memory.update("old", content="Coffee.").content == "Coffee."


def test_importance_counts_in_documented_presets(path: Path) -> None:
    with recollect.open(path, embedder=None) as memory:
        memory.add("Green tea.", path="tea.md", importance=0)

        def scores() -> dict[str, float]:
            return {name: result[0].score for name, result in memory.compare("tea").items()}

        before = scores()
        memory.update("tea.md", importance=1)
        changed = {name for name, score in scores().items() if score != before[name]}
    documented = (
        NOTE_FIELDS["importance"].description.partition("Used by the presets ")[2].partition(";")[0].split(" and ")
    )
    assert changed == set(documented) == {"memini", "weighted-graph"}


class TestIngest:
    @pytest.mark.parametrize("mode", ["bm25", "auto"])
    def test_search_finds_alias_and_field(self, memory: Memory, tmp_path: Path, mode: Mode) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "rao.md").write_text(
            "---\naliases: [Shiv]\nemployer: Northwind\n---\n# Shivani Rao\n\nPlays the sitar."
        )
        (vault / "tea.md").write_text("# Tea\n\nPrefers sencha.")
        memory.ingest(vault)
        assert paths(memory.search("who is Shiv?", mode=mode))[0] == "rao.md"
        assert paths(memory.search("Northwind", mode=mode))[0] == "rao.md"

    def test_section_does_not_mention_its_document(self, memory: Memory, tmp_path: Path) -> None:
        prose = "Words that fill the section, so that it is long enough to become a note of its own. " * 2
        (tmp_path / "server.md").write_text(
            f"# Running servers\n\n{prose}\n\n## Keys\n\n{prose}\n\n## Logs\n\nSee running servers above. {prose}"
        )
        memory.ingest(tmp_path)
        assert [note.title for note in memory.notes()] == [
            "Running servers",
            "Running servers › Keys",
            "Running servers › Logs",
        ]
        mentions = {
            note.path: [item.note.path for item in memory.neighbours(note) if item[1:3] == ("mention", "out")]
            for note in memory.notes()
        }
        assert mentions == {"server.md": [], "server.md#keys": [], "server.md#logs": []}
        memory.add("How about running servers?", path="log.md")
        assert [item.note.path for item in memory.neighbours("log.md")] == ["server.md"]

    def test_ingest_is_incremental(self, memory: Memory, embedder: Topics, tmp_path: Path) -> None:
        vault = tmp_path / "vault"
        vault.mkdir()
        (vault / "tea.md").write_text("# Tea\n\nPrefers sencha. See [[bike]].")
        (vault / "bike.md").write_text("---\ntags: [ride]\n---\n# Bike\n\nA new wheel.")
        names: list[str] = []
        report = memory.ingest(vault, progress=lambda _done, _total, name: names.append(name))
        assert (report.files_read, report.notes_added) == (2, 2)
        assert names == ["bike.md", "tea.md"]
        assert paths(memory.search("sencha"))[0] == "tea.md"
        assert paths(memory.search("wheel", filters={"tags": ["ride"]})) == ["bike.md"]
        assert [(item.note.path, item.kind) for item in memory.neighbours("tea.md")] == [
            ("bike.md", "wikilink"),
            ("bike.md", "mention"),
        ]
        embedded_count = len(embedder.texts)
        assert memory.ingest(vault).files_unchanged == 2
        assert len(embedder.texts) == embedded_count
        (vault / "tea.md").unlink()
        report = memory.ingest(str(vault))
        assert (report.files_removed, report.notes_removed) == (1, 1)
        assert memory.get("tea.md") is None


class TestChunks:
    """A long note has a vector for every chunk of its text."""

    LONG = "\n".join(
        [
            "About sencha and oolong tea. " * 10,
            "A word on the bike. " * 14,
            "The dog. " * 33,
            "Nothing, for once. " * 15,
        ]
    )

    def test_similarity_of_note_is_that_of_best_chunk(self, memory: Memory, embedder: Topics) -> None:
        memory.add(self.LONG, path="long.md", title="Diary")
        memory.add("A dog and some tea.", path="short.md")
        # Lines of 289, 279, 296 and 284 characters, all with the title; the short note is one chunk.
        assert [len(text) for text in embedder.texts] == [295, 285, 302, 290, 19]
        assert [text.split("\n")[0] for text in embedder.texts[:4]] == ["Diary"] * 4
        for query in ("tea", "bike", "dog"):
            near, far = memory.search(f"a {query} x", mode="semantic")
            assert near.path == "long.md"
            assert near.candidate.vector_similarity == pytest.approx(1.0, abs=0.01)
            assert (far.candidate.vector_similarity or 0) < 0.8

    def test_export_and_load_vectors_are_identical(self, memory: Memory, embedder: Topics, tmp_path: Path) -> None:
        memory.add(self.LONG, path="long.md")
        memory.add("A dog.", path="short.md")
        lines = list(memory.export())
        long, short = (json.loads(line)["vector"] for line in lines)
        assert (long["pieces"], "pieces" in short) == (4, False)
        model, (rows, row) = memory._store.vectors_of(list(memory.notes()))
        embedded_count = len(embedder.texts)
        with recollect.open(tmp_path / "other.db", embedder=embedder) as copy:
            assert copy.load(lines) == 2
            assert list(copy.export()) == lines
            copied_model, (same_rows, same_row) = copy._store.vectors_of(list(copy.notes()))
        assert len(embedder.texts) == embedded_count
        assert copied_model == model
        assert rows is not None
        assert row is not None
        assert same_rows is not None
        assert same_row is not None
        assert (rows.shape, row.shape) == ((4, 4), (4,))
        assert (same_rows.tobytes(), same_row.tobytes()) == (rows.tobytes(), row.tobytes())

    def test_load_without_embedder_uses_model_of_lines(self, memory: Memory, tmp_path: Path) -> None:
        memory.add(self.LONG, path="long.md")
        with recollect.open(tmp_path / "other.db", embedder=None) as copy:
            copy.load(memory.export())
            model = copy.stats().to_dict()["model"]
            assert model == {"name": "topics", "dimension": 4, "precision": "float32"}
            (hit,) = copy.search("x", vector=[0, 1, 0, 0], mode="semantic")
            assert hit.candidate.vector_similarity == pytest.approx(1.0, abs=0.01)

    def test_reindex_splits_into_chunks(self, memory: Memory, path: Path) -> None:
        memory.add(self.LONG, path="long.md", title="Diary")
        new_embedder = Topics("other")
        with pytest.warns(RecollectWarning, match="; reindex the memory"):
            reopened = recollect.open(path, embedder=new_embedder)
        with reopened:
            reopened.reindex()
            assert [text.split("\n")[0] for text in new_embedder.texts] == ["Diary"] * 4
            assert reopened.stats().store.vectors == {"other": 1}

    @pytest.mark.parametrize("content", [" " * 2000, "\n" * 2000, "x" * 100_000, "🍵" * 5000])
    def test_any_text_can_be_embedded(self, memory: Memory, content: str) -> None:
        memory._store.write([{"id": "n", "content": content}])  # Memory.add refuses blank notes
        memory.reindex()
        note = memory.get("n")
        assert note is not None
        (vector,) = memory._store.vectors_of([note])[1]
        assert vector is not None
        assert len(np.atleast_2d(vector)) <= 64


def line_with_chunk_count(chunks: str) -> str:
    """Return a JSON line whose vector of two numbers claims this number of chunks."""
    return f'{{"content": "x", "vector": {{"model": "topics", "float32": "AACAPwAAgD8=", "pieces": {chunks}}}}}'


class TestExportAndLoad:
    def test_export_and_load_round_trip(self, memory: Memory, tmp_path: Path) -> None:
        memory.add_many(sample_notes())
        memory.add("elsewhere", namespace="alice", metadata={"x": [1, None]}, last_accessed_at="2026-01-01")
        lines = list(memory.export())
        with recollect.open(tmp_path / "other.db", embedder=None) as copy:
            steps: list[int] = []
            assert copy.load([*lines, "", "\n"], progress=lambda done, _total, _name: steps.append(done)) == len(lines)
            assert steps[-1] == len(lines)
            assert list(copy.export()) == lines
            assert copy.stats().store.model == memory.stats().store.model
            assert [hit.path for hit in copy.search("tea", vector=[1, 0, 0, 0], mode="semantic")] == [
                hit.path for hit in memory.search("tea", vector=[1, 0, 0, 0], mode="semantic")
            ]
            assert copy.load(lines) == len(lines)
            assert list(copy.export()) == lines
        assert list(memory.export(namespace="alice", vectors=False)) == [
            json.dumps({key: value for key, value in json.loads(lines[-1]).items() if key != "vector"})
        ]

    def test_load_embeds_vectors_of_other_model(self, memory: Memory, tmp_path: Path) -> None:
        memory.add("Prefers sencha.", path="tea.md")
        new_embedder = Topics("other")
        with recollect.open(tmp_path / "other.db", embedder=new_embedder) as loaded:
            assert loaded.load(memory.export(), namespace="mine") == 1
            assert new_embedder.texts == ["Prefers sencha."]
            assert loaded.get("tea.md", namespace="mine") is not None

    def test_failed_batch_is_written_line_by_line(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        batches: list[int] = []
        write = memory._store.write

        def fail_once(drafts: Any, **options: Any) -> Any:
            batches.append(len(drafts))
            if len(batches) == 1:
                raise ArgumentError("path", "was taken, and is free again")
            return write(drafts, **options)

        monkeypatch.setattr(memory._store, "write", fail_once)
        assert memory.load(['{"content": "fine"}', '{"content": "good"}']) == 2
        assert batches[0] == 2
        assert [note.content for note in memory.notes()] == ["fine", "good"]

    def test_load_names_the_failing_line(self, memory: Memory) -> None:
        with pytest.raises(RecollectError, match="^line 3: content: is needed for a new note; 'x' does not exist yet"):
            memory.load(['{"content": "fine"}', '{"content": "good"}', '{"path": "x"}', '{"content": "never reached"}'])
        assert [note.content for note in memory.notes()] == ["fine", "good"]

    def test_load_refuses_vector_of_other_dimension(self, memory: Memory) -> None:
        note, vector = Note(content="x", id="x"), np.ones(3, np.float32)
        with pytest.raises(
            RecollectError, match="^line 2: vector: has 3 numbers; the model 'topics' makes vectors of 4"
        ):
            memory.load(
                [line_of(Note(content="fine"), "topics", np.ones(4, np.float32)), line_of(note, "topics", vector)]
            )

    def test_load_keeps_order(self, memory: Memory, tmp_path: Path) -> None:
        memory.add("one", path="1")
        with recollect.open(tmp_path / "memory.db", embedder=None) as plain:
            plain.add("two", path="2")
        memory.add("three", path="3")
        lines = list(memory.export())
        assert ["vector" in json.loads(line) for line in lines] == [True, False, True]
        with recollect.open(tmp_path / "other.db", embedder=None) as copy:
            copy.load(lines)
            assert list(copy.export()) == lines

    def test_export_while_a_note_changes(self, memory: Memory) -> None:
        memory.add_many({"content": f"tea {n}", "path": f"{n}"} for n in range(200))
        lines = memory.export()
        first = json.loads(next(lines))
        memory.update("190", content="a bike")
        by_path = {(note := json.loads(line))["path"]: note for line in lines}
        assert "vector" in first
        assert by_path["190"]["content"] == "tea 190"
        assert "vector" not in by_path["190"]
        assert "vector" in by_path["191"]

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("{", "line 2: is not JSON"),
            ("[" * 100_000, "line 2: is not JSON"),
            ("7", "line 2: is not a JSON object"),
            ('{"content": 7}', "line 2: content: must be a string"),
            ('{"content": "x", "vector": [1]}', "line 2: has a vector without the name of its model"),
            ('{"content": "x", "vector": {"model": "topics"}}', "line 2: has a vector that cannot be read"),
            ('{"content": "x", "vector": {"model": "topics", "float32": "!"}}', "line 2: has a vector that cannot"),
            *(
                (line_with_chunk_count(chunks), "line 2: has a vector that cannot be read")
                for chunks in ("3", "0", "-1", "1e99", "9" * 40, '"2"', "[1, 2]", "null")
            ),
        ],
    )
    def test_load_names_the_invalid_line(self, memory: Memory, line: str, problem: str) -> None:
        with pytest.raises(RecollectError, match=f"^{problem}"):
            memory.load(['{"content": "fine"}', line])
        assert [note.content for note in memory.notes()] == ["fine"]

    @pytest.mark.parametrize(("count", "subject"), [(0, "no notes before it are"), (1, "1 note before it is")])
    def test_load_error_has_one_line_number_and_the_count(self, memory: Memory, count: int, subject: str) -> None:
        message = f"line {count + 1}: is not JSON: Expecting property name enclosed in double quotes at character 2"
        with pytest.raises(RecollectError) as caught:
            memory.load([*['{"content": "fine"}'] * count, "{oops"])
        assert str(caught.value) == f"{message}; {subject} stored"

    @pytest.mark.parametrize("invalid", ["{oops", '{"path": "x"}'])
    def test_load_stores_every_note_before_the_invalid_line(self, memory: Memory, invalid: str) -> None:
        with pytest.raises(RecollectError, match="^line 101: .*; 100 notes before it are stored$"):
            memory.load([*(f'{{"content": "tea {number}"}}' for number in range(100)), invalid, '{"content": "later"}'])
        assert len(list(memory.notes())) == 100

    @pytest.mark.parametrize("file", ["notes.jsonl", b"notes.jsonl", Path("notes.jsonl")])
    def test_load_refuses_a_path(self, memory: Memory, file: Any) -> None:
        with pytest.raises(ArgumentTypeError, match="^lines: must be lines or an open file, got .*; pass open"):
            memory.load(file)


class TestMaintenance:
    def test_stats_and_doctor_name_the_embedder(self, memory: Memory) -> None:
        memory.add("Prefers sencha.")
        stats = memory.stats()
        assert stats.embedder.startswith("topics")
        data = stats.to_dict()
        assert data["model"] == {"name": "topics", "dimension": 4, "precision": "float32"}
        assert data["notes"] == {"default": 1}
        assert json.loads(json.dumps(data)) == data
        assert not any(finding.problem for finding in memory.doctor())
        assert not any(finding.problem for finding in memory.doctor(repair=True))
        assert memory.embedder is not None

    def test_stats_of_empty_memory(self, memory: Memory) -> None:
        assert memory.stats().to_dict()["model"] is None

    def test_backup_can_be_opened(self, memory: Memory, tmp_path: Path) -> None:
        memory.add("Prefers sencha.", path="tea.md")
        memory.backup(tmp_path / "copy.db")
        with recollect.open(tmp_path / "copy.db", embedder=None, read_only=True) as copy:
            assert copy.get("tea.md") == memory.get("tea.md")


def test_auto_uses_model_of_stored_vectors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recollect.open(path, embedder="static") as memory:
        memory.add("Prefers sencha.", path="tea.md")
    with recollect.open(path) as memory:
        assert memory.stats().embedder.endswith(": the model of the stored vectors")
        assert memory.search("sencha").trace.mode == "hybrid"

    def choose(spec: Any) -> EmbedderChoice:
        if spec == "static":
            raise EmbedderError("it was taken away")
        return choose_embedder(spec)

    monkeypatch.setattr("recollect.opening.choose_embedder", choose)
    with pytest.warns(RecollectWarning, match="are of wordllama.*, the embedder is arctic-embed-s"):
        recollect.open(path).close()


def test_default_model_finds_by_similarity(path: Path) -> None:
    """The neural model that ``auto`` chooses finds notes that share no word with the query."""
    with warnings.catch_warnings(), recollect.open(path) as memory:
        assert memory.embedder is not None
        assert memory.embedder.name == "arctic-embed-s/int8"
        memory.add_many(note for note in sample_notes() if "#" not in note["path"])
        for query in sample_queries():
            if query["query"] in ("which medicine is dangerous for my daughter?", "ERR_4021", '"measure the reveal"'):
                assert query["finds"][0] in paths(memory.search(query["query"], top_k=5))


def test_has_is_no_access(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        note = memory.add("Tea.", path="tea.md")
        assert (memory.has("tea.md"), memory.has(note), memory.has("milk.md")) == (True, True, False)
        assert not memory.has("tea.md", namespace="work")
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        stored = memory.get("tea.md")
        assert stored is not None
        assert stored.last_accessed_at is None


def test_page_and_count(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add_many([f"note {number}" for number in range(3)])
        first = memory.page(2)
        assert [note.content for note in first.notes] == ["note 0", "note 1"]
        assert first.next is not None
        second = memory.page(2, after=first.next, filters={"tags": []})
        assert ([note.content for note in second.notes], second.next) == (["note 2"], None)
        assert (memory.count(), memory.count(namespace="work")) == (3, 0)
        with pytest.raises(ArgumentError, match="limit: must be at least 1"):
            memory.page(0)


def test_add_many_whole_is_atomic(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        if "bad" in texts[-1]:
            raise RuntimeError("no")
        return [[1.0, 0.0]] * len(texts)

    with recollect.open(tmp_path / "memory.db", embedder=embed) as memory:
        drafts = [{"content": f"note {number}", "id": str(number)} for number in range(200)]
        assert len(memory.add_many(drafts, whole=True)) == 200
        memory.add("y", id="other", path="q")
        new = [{"content": f"new {number}"} for number in range(150)]
        conflicting = [*new, {"content": "x", "id": "0", "path": "q"}]  # another note has this path
        with pytest.raises(ArgumentError):
            memory.add_many(conflicting, whole=True)
        assert memory.count() == 201
        with pytest.raises(ArgumentError):
            memory.add_many(conflicting)
        assert memory.count() > 201  # without whole=True, the first batches stay
