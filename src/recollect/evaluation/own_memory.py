"""Questions to a memory that the user has: what it holds of what they ask for, and from when they count time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Question
from recollect.memory import Memory
from recollect.model import DEFAULT_NAMESPACE, Hit

__all__ = ["Held", "held_by"]


class Held(NamedTuple):
    """What judgements name that is in a memory, and when its latest note was made."""

    judged: frozenset[str]
    """The ids and paths."""
    latest: datetime

    def name(self, hit: Hit) -> str:
        """Return what judgements call a note: its path, where they name that and not its id."""
        return hit.path if hit.path in self.judged and hit.id not in self.judged else hit.id

    def lacking(self, question: Question) -> tuple[str, ...]:
        """Return a remark if something that answers a question is not there, so that it can never be found."""
        return () if question.relevant.keys() <= self.judged else ("judgements name notes that this memory lacks",)


def held_by(memory: Memory, namespace: str | None, questions: Sequence[Question]) -> Held:
    """Return what a namespace holds of what judgements name; an error if that is nothing at all.

    >>> import recollect, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> asked = Question(id="q1", text="which tea?", collection="", relevant={"tea.md": 1, "milk.md": 1})
    >>> with recollect.open(f"{folder.name}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="tea.md", created_at="2026-04-18")
    ...     held = held_by(memory, None, [asked])
    >>> sorted(held.judged), held.latest.year, held.lacking(asked)
    (['tea.md'], 2026, ('judgements name notes that this memory lacks',))
    >>> folder.cleanup()
    """
    named = {name for question in questions for name in question.relevant}
    judged: set[str] = set()
    latest = None
    for note in memory.notes(namespace=namespace):
        judged |= {note.id, note.path} & named
        if latest is None or (note.created_at and note.created_at > latest):
            latest = note.created_at
    if not judged or latest is None:
        raise ArgumentError(
            "memory",
            f"holds none of the notes that judgements name in namespace {namespace or DEFAULT_NAMESPACE!r}: "
            "name the memory and the namespace that the questions were made for",
        )
    return Held(frozenset(judged), latest)
