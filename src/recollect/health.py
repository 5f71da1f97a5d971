"""Statistics of a memory, and checks of its store, supersession links and embedder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from recollect.embedders import EmbedderChoice
from recollect.stores.base import Finding, Store, StoreStats
from recollect.text import collapse_whitespace
from recollect.writer import NoteWriter, supersession_problems


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The statistics of a memory: its store, its embedder, and the notes without a vector."""

    store: StoreStats
    embedder: str
    """The embedder, and why it was chosen."""
    unembedded: int
    """How many notes lack a vector of the current model: the embedder's, or else the model of the stored vectors."""

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON-ready data."""
        store = asdict(self.store)
        if self.store.model:
            store["model"] = self.store.model._asdict()
        return {**store, "embedder": self.embedder, "unembedded": self.unembedded}


def check_memory(store: Store, writer: NoteWriter, choice: EmbedderChoice, *, repair: bool) -> list[Finding]:
    """Check the store (after a repair, if requested), the supersession links and the embedder; return the findings."""
    findings = store.repair() if repair else store.check()
    link_problems = supersession_problems(store, store.notes()) if store.stats().links else []
    findings.append(Finding("supersessions", "", repairable=False, warning="; ".join(link_problems)))
    embedder_problem = _embedder_problem(choice)
    embedder_warning = ""
    if not embedder_problem:
        unembedded, model = writer.unembedded(), writer.model_name()
        notes_have = "note has" if unembedded == 1 else "notes have"
        embedder_problem = f"{unembedded} {notes_have} no vector of {model}; reindex the memory" if unembedded else ""
        if choice.embedder is None:
            embedder_warning = choice.warning or "vector search is off: to use it, choose an embedder"
    return [*findings, Finding("embedder", embedder_problem, repairable=False, warning=embedder_warning)]


def _embedder_problem(choice: EmbedderChoice) -> str:
    """Return in one line why the embedder cannot embed a word; empty if embedding works or there is no embedder."""
    if choice.embedder is None:
        return ""
    try:
        choice.embedder.embed_query("word")
    except Exception as error:  # noqa: BLE001 (a user's embedder may raise anything)
        return f"cannot embed: {collapse_whitespace(str(error)) or type(error).__name__}"
    return ""
