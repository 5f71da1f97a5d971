"""Random histories of notes that mention one another, and the checks after a history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from recollect.stores.base import Store
from tests.stores import naming
from tests.stores.engines import ENGINES

NAMESPACE = "default"

TRIP: list[dict[str, Any]] = [
    {"id": "kyoto", "title": "Kyoto", "content": "A city of temples.", "metadata": {"entities": ["Japan"]}},
    {"id": "trip", "title": "Our trip", "content": "Kyoto in spring.", "metadata": {"entities": ["japan"]}},
    {"id": "plan", "title": "Plan", "content": "Our trip to Kyoto, our trips to Osaka."},
]

WORDS = ["run", "runs", "running", "green", "tea", "teas", "Café", "cafe\u0301", "note", "17", "\ue000", "the"]
texts = st.lists(st.sampled_from([*WORDS, "(", ")", "(film)", '"', "\0", "-"]), max_size=5).map(" ".join)
drafts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"id": st.sampled_from("abcd"), "content": texts},
    optional={
        "title": texts,
        "summary": texts,
        "metadata": st.lists(st.sampled_from(["Ines", "ines ", "Kyoto"])).map(lambda names: {"entities": names}),
    },
)
batches = st.lists(drafts, max_size=4)
deletions = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
histories = st.lists(st.one_of(batches, batches, deletions), max_size=8)


def apply_history(store: Store, history: list[list[Any]]) -> dict[str, dict[str, Any]]:
    """Write and delete notes; return the remaining ones by id."""
    notes: dict[str, dict[str, Any]] = {}
    for step in history:
        if step and isinstance(step[0], str):
            store.delete(step, namespace=NAMESPACE)
            notes = {key: note for key, note in notes.items() if key not in step}
        else:
            store.write(step)
            for draft in step:
                notes[draft["id"]] = {**notes.get(draft["id"], {}), **draft}
    return notes


def edges(store: Store, kind: str = "mention", direction: str = "out") -> set[tuple[str, str]]:
    results = store.edges([note.id for note in store.notes()], namespace=NAMESPACE)
    return {(edge.source, edge.target) for edge in results if (edge.kind, edge.direction) == (kind, direction)}


def problems(store: Store) -> dict[str, str]:
    return {finding.part: finding.problem for finding in store.check() if finding.problem}


@contextmanager
def temporary_store(engine: str) -> Iterator[Any]:
    """Open a temporary store."""
    with TemporaryDirectory() as folder, closing(ENGINES[engine](Path(folder))) as store:
        yield store


def check_against_brute_force(store: Store, history: list[list[Any]]) -> None:
    """Compare the edges after a history with a brute-force search; leave the store empty."""
    notes = apply_history(store, history)
    assert edges(store) == naming.mentions(notes)
    assert edges(store, direction="in") == {(target, source) for source, target in naming.mentions(notes)}
    assert edges(store, "entity") == naming.notes_with_common_entity(notes)
    assert problems(store) == {}
    assert not any(finding.problem for finding in store.repair())
    assert edges(store) == naming.mentions(notes)
    store.delete(list("abcd"), namespace=NAMESPACE)
