"""A superseding note ranks above the superseded ones in every search mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import ArgumentError, Link, Memory, NoteNotFoundError, SearchResult
from recollect.retrieval.options import MODES, Mode


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, float("wifi" in text.lower()), float("Amsel" in text)] for text in texts]


def prefers_amsel(_: str, documents: Sequence[str]) -> list[tuple[int, float]]:
    return [(position, 1.0 if "Amsel" in document else 0.1 * position) for position, document in enumerate(documents)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=embed) as opened:
        opened.add("The wifi is called Amsel.", id="a", path="wifi.md")
        opened.add("The wifi in the attic is weak.", id="z")
        yield opened


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result]


def cycle(first: str, second: str) -> list[dict[str, Any]]:
    """Return the drafts of two notes that supersede each other."""
    links = ((first, second), (second, first))
    return [{"id": source, "content": source, "links": [("supersedes", target)]} for source, target in links]


class TestAdding:
    def test_supersedes_links_to_the_id(self, memory: Memory) -> None:
        note = memory.add("Drossel.", id="b", links=["z"], supersedes="wifi.md")
        assert note.links == (Link("related", "z"), Link("supersedes", "a"))
        assert [(item.kind, item.direction, item.note.id) for item in memory.neighbours("a")] == [
            ("supersedes", "in", "b")
        ]
        memory.update("a", path="moved.md")
        assert memory.search("wifi called Amsel")[0].id == "b"

    @pytest.mark.parametrize("single", [False, True])
    def test_supersedes_several_notes(self, memory: Memory, single: bool) -> None:
        old = memory.get("a")
        assert old is not None
        note = memory.add("Drossel.", supersedes=old if single else [old, "z", "a"])
        assert [link.target for link in note.links] == (["a"] if single else ["a", "z"])

    def test_supersedes_keeps_existing_links(self, memory: Memory) -> None:
        memory.add("Drossel.", path="b.md", links=["z"])
        assert memory.add(path="b.md", supersedes=["a"]).links == (Link("related", "z"), Link("supersedes", "a"))
        assert memory.add(path="b.md", supersedes="a").links == (Link("related", "z"), Link("supersedes", "a"))
        assert memory.add(path="b.md", links=[], supersedes="a").links == (Link("supersedes", "a"),)

    def test_supersedes_path_equal_to_other_id(self, memory: Memory) -> None:
        memory.add("Shelf.", id="b.md", links=["z"])
        assert memory.add("Drossel.", path="b.md", supersedes="a").links == (Link("supersedes", "a"),)

    def test_namespaces_are_isolated(self, memory: Memory) -> None:
        with pytest.raises(NoteNotFoundError, match="^there is no note 'a' in namespace 'ines' to supersede$"):
            memory.add("Drossel.", namespace="ines", supersedes="a")
        memory.add("Amsel", id="a", namespace="ines")
        assert memory.add("Drossel.", namespace="ines", supersedes="a").links == (Link("supersedes", "a"),)

    def test_supersedes_refuses_missing_note_and_itself(self, memory: Memory) -> None:
        with pytest.raises(NoteNotFoundError, match="^there is no note 'nobody' in namespace 'default' to supersede$"):
            memory.add("Drossel.", supersedes=["a", "nobody"])
        names: tuple[dict[str, Any], ...] = ({"id": "a"}, {"path": "wifi.md"})
        for name in names:
            with pytest.raises(
                ArgumentError, match=r"^supersedes: 'wifi\.md' is the note itself; remove it from supersedes"
            ):
                memory.add("Drossel.", supersedes="wifi.md", **name)
        with pytest.raises(ArgumentError, match="^supersedes: must be a list, got 7"):
            memory.add("Drossel.", supersedes=7)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="^key: must be a string, got 7"):
            memory.add("Drossel.", supersedes=[7])  # type: ignore[list-item]
        assert len(list(memory.notes())) == 2


@pytest.mark.parametrize("mode", MODES)
class TestSearching:
    def test_superseding_note_replaces_superseded(self, memory: Memory, mode: Mode) -> None:
        assert ids(memory.search("wifi called Amsel", mode=mode)) == ["a", "z"]
        memory.add("It is Drossel now.", id="b", supersedes="a")
        result = memory.search("wifi called Amsel", mode=mode)
        before, after = ids(result).index("b"), ids(result).index("a")
        assert (before, ids(result)[0]) == (0, "b")
        assert after > 0
        assert {hit.id: hit.superseded_by for hit in result} == {"b": (), "a": ("b",), "z": ()}
        assert result[after].score < result[before].score

    def test_superseding_with_identical_text(self, memory: Memory, mode: Mode) -> None:
        memory.add("The wifi is called Amsel.", id="b", supersedes="a")
        assert ids(memory.search("wifi called Amsel", mode=mode)) == ["b", "z"]

    def test_supersession_chain_ends_at_current_note(self, memory: Memory, mode: Mode) -> None:
        memory.add("It is Drossel now.", id="b", supersedes="a")
        memory.add("Now Fink.", id="c", supersedes="b")
        result = memory.search("wifi called Amsel", mode=mode)
        assert ids(result)[0] == "c"
        expected = {"c": (), "z": (), "a": ("c",), "b": ("c",)}
        if mode == "bm25":
            del expected["b"]  # of the notes that do not match, only the current one is added
        assert {hit.id: hit.superseded_by for hit in result} == expected

    def test_superseded_note_has_no_higher_confidence(self, memory: Memory, mode: Mode) -> None:
        before = {hit.id: hit for hit in memory.search("wifi called Amsel", mode=mode)}
        memory.add("It is Drossel now.", id="b", supersedes="a")
        result = memory.search("wifi called Amsel", mode=mode)
        new, old = (next(hit for hit in result if hit.id == name) for name in ("b", "a"))
        # Confidence depends on the margin, which changes with the candidates.
        assert new.confidence == pytest.approx(before["a"].confidence, abs=0.2)
        assert (old.confidence or 0.0) < (new.confidence or 0.0)
        assert new.relevance is not None
        assert new.relevance >= (old.relevance or 0.0) > 0.5
        data = result.trace.to_dict()["results"][new.rank - 1]
        assert (data["confidence"], data["inheritedConfidence"]) == (new.confidence, new.confidence)
        assert data["inheritedRelevance"] == new.relevance
        assert ", inherited" in result.explain()
        (alone,) = memory.search("wifi called Amsel", mode=mode, top_k=1)  # the old note is not in the result
        assert (alone.id, alone.confidence) == ("b", new.confidence)

    def test_better_matching_successor_keeps_its_confidence(self, memory: Memory, mode: Mode) -> None:
        memory.add("The wifi called Amsel is called Drossel.", id="b", supersedes="a")
        result = memory.search("wifi called Drossel", mode=mode)
        new, old = (next(hit for hit in result if hit.id == name) for name in ("b", "a"))
        assert (new.confidence or 0.0) >= (old.confidence or 1.0)
        assert new.candidate.inherited_confidence is None

    def test_long_supersession_chain_ends_at_current_note(self, memory: Memory, mode: Mode) -> None:
        last = "a"
        for number in range(60):
            last = memory.add(f"Wifi number {number}.", id=f"c{number}", supersedes=last).id
        result = memory.search("wifi called Amsel", mode=mode, top_k=100, candidate_k=100)
        assert ids(result)[0] == "c59"
        assert {hit.id for hit in result if not hit.superseded_by} == {"c59", "z"}
        assert {hit.superseded_by for hit in result if hit.id not in ("c59", "z")} == {("c59",)}

    def test_cycle_demotes_no_note(self, memory: Memory, mode: Mode) -> None:
        memory.add("It is Drossel now.", id="b", supersedes="a")
        memory.add("Now Fink.", id="c", supersedes="b")
        with pytest.warns(recollect.RecollectWarning, match="supersede each other"):
            assert memory.add(id="a", supersedes="c").links == (Link("supersedes", "c"),)
        result = memory.search("wifi called Amsel or Drossel or Fink", mode=mode)
        assert {hit.id: hit.superseded_by for hit in result} == {"a": (), "b": (), "c": (), "z": ()}
        assert not any(step.stage == "superseded" for hit in result for step in hit.candidate.steps)
        assert all(hit.candidate.inherited_confidence is None for hit in result)

    def test_filtered_out_successor_still_demotes(self, memory: Memory, mode: Mode) -> None:
        memory.add("It is Drossel now.", id="b", supersedes="a")
        results = memory.search("wifi called Amsel NOT Drossel", mode=mode)
        assert {hit.id: hit.superseded_by for hit in results} == {"a": ("b",), "z": ()}
        (hit,) = memory.search("wifi called Amsel", mode=mode, filters={"path_prefix": "wifi"})
        assert (hit.id, hit.superseded_by) == ("a", ("b",))

    def test_reranker_keeps_superseded_note_demoted(self, tmp_path: Path, mode: Mode) -> None:
        default = recollect.presets()["default"]
        preset = replace(default, rerank=replace(default.rerank, max_margin=0))  # so that the reranker always runs
        options: dict[str, Any] = {"embedder": embed, "reranker": prefers_amsel, "preset": preset}
        with recollect.open(tmp_path / "reranked.db", **options) as memory:
            memory.add("The wifi is called Amsel.", id="a")
            memory.add("The wifi in the attic is weak.", id="z")
            memory.add("It is Drossel now.", id="b", supersedes="a")
            result = memory.search("wifi called Amsel", mode=mode)
            assert result.trace.reranked
            assert ids(result)[0] == "b"
            assert {hit.id: hit.superseded_by for hit in result} == {"b": (), "z": (), "a": ("b",)}


def test_expired_successor_no_longer_demotes(memory: Memory) -> None:
    memory.add("It is Drossel for now.", id="b", supersedes="a", expires_at="2999-01-01")
    assert ids(memory.search("wifi called Amsel"))[0] == "b"
    memory._store.write([{"id": "b", "expires_at": datetime(2020, 2, 2, tzinfo=UTC)}])
    result = memory.search("wifi called Amsel")
    assert [(hit.id, hit.superseded_by) for hit in result] == [("a", ()), ("z", ())]


@pytest.mark.parametrize("length", [2, 5, 150])
def test_supersession_takes_constant_queries(tmp_path: Path, length: int) -> None:
    requests: list[str] = []

    class Counting:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            member = getattr(self._store, name)
            if not callable(member):
                return member

            def call(*args: Any, **options: Any) -> Any:
                requests.append(name)
                return member(*args, **options)

            return call

    with recollect.open(tmp_path / "chain.db", embedder=None) as memory:
        memory.add("The wifi is Amsel", id="n0")
        memory.add_many(
            {"id": f"n{n}", "content": f"No {n}.", "links": [("supersedes", f"n{n - 1}")]} for n in range(1, length)
        )
        results = recollect.Retrieval(Counting(memory._store)).search("wifi Amsel", mode="bm25")
    assert [(hit.id, hit.superseded_by) for hit in results] == [(f"n{length - 1}", ()), ("n0", (f"n{length - 1}",))]
    assert requests == ["note_counts", "search_text", "edges", "successors", "candidates"]


class TestCycles:
    MESSAGE = (
        r"^these notes supersede each other, so none of them is demoted: "
        r"'p', 'wifi\.md'; remove one of the links$"
    )

    def test_cycle_warns_and_demotes_no_note(self, memory: Memory) -> None:
        memory.add("The wifi is called Drossel.", id="p", supersedes="a")
        with pytest.warns(recollect.RecollectWarning, match=self.MESSAGE):
            memory.add(id="a", supersedes="p")
        result = memory.search("wifi called Amsel")
        assert {hit.id: hit.superseded_by for hit in result} == {"a": (), "p": (), "z": ()}
        assert not any(step.stage == "superseded" for hit in result for step in hit.candidate.steps)
        memory.add("The wifi is called Fink.", id="f", supersedes="a")  # a note outside the cycle still supersedes
        results = {hit.id: hit.superseded_by for hit in memory.search("wifi called Amsel")}
        assert results == {"a": ("f",), "p": (), "z": (), "f": ()}

    def test_add_many_update_and_link_warn_of_cycles(self, memory: Memory) -> None:
        with pytest.warns(recollect.RecollectWarning, match="supersede each other.*'b', 'c'; remove"):
            memory.add_many(cycle("b", "c"))
        with pytest.warns(recollect.RecollectWarning, match="supersede each other.*'d', 'z'; remove"):
            memory.add("d", id="d", links=[("supersedes", "z"), ("superseded-by", "z")])
        memory.update("d", title="D")  # no warning: the links do not change
        with pytest.warns(recollect.RecollectWarning, match="supersede each other.*'b', 'c'; remove"):
            memory.update("b", links=[("supersedes", "c")])
        with pytest.warns(recollect.RecollectWarning, match="supersede each other"):
            memory.link("d", "z", kind="supersedes")
        names = ", ".join(f"'l{n:02}'" for n in range(10))
        with pytest.warns(recollect.RecollectWarning, match=rf"{names} and 2 more; remove one of the links$"):
            memory.add_many(
                {"id": f"l{n:02}", "content": "x", "links": [("supersedes", f"l{(n + 1) % 12:02}")]} for n in range(12)
            )

    def test_self_supersession_warns(self, memory: Memory) -> None:
        message = "^the note 'wifi.md' has a link 'supersedes' to itself, which is ignored$"
        with pytest.warns(recollect.RecollectWarning, match=message):
            memory.link("a", "wifi.md", kind="supersedes")
        assert memory.search("Amsel")[0].superseded_by == ()

    def test_doctor_reports_cycles_of_all_namespaces(self, memory: Memory) -> None:
        def warning() -> str:
            (supersessions,) = (finding for finding in memory.doctor() if finding.part == "supersessions")
            assert not supersessions.problem
            return supersessions.warning

        assert warning() == ""
        memory.add("B.", id="b", supersedes="z")
        assert warning() == ""
        with pytest.warns(recollect.RecollectWarning):
            memory.link("z", "b", kind="supersedes")
        with pytest.warns(recollect.RecollectWarning):
            memory.add_many(cycle("c", "d"), namespace="ines")
        assert "'b', 'z'; remove one of the links; these" in warning()
        assert "'c', 'd'; remove one of the links" in warning()


def test_doctor_loads_the_embedder(tmp_path: Path) -> None:
    def broken(_: Sequence[str]) -> list[list[float]]:
        raise ImportError("onnxruntime is\nbroken")

    with recollect.open(tmp_path / "memory.db", embedder=broken) as memory:
        assert memory.doctor()[-1].problem == (
            "cannot embed: test_doctor_loads_the_embedder.<locals>.broken raised ImportError: onnxruntime is broken"
        )
