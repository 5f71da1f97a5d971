"""The generations of a store: each a collection of all notes with the vectors of one model, one of them searched."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from recollect.stores.base import Model
from recollect.stores.milvus.schema import BLANK_DIMENSION, SCHEMA_VERSION

__all__ = ["STATE", "Generation", "State", "read_state"]

STATE = "store"
"""The key of the record that says which generations there are."""


class Generation(NamedTuple):
    """One collection of all notes."""

    number: int
    model: Model | None = None
    """Whose vectors it has; without one it has none."""

    @property
    def collection(self) -> str:
        """The name of the collection."""
        return f"notes_{self.number}"

    @property
    def dimension(self) -> int:
        """How many numbers its vectors have."""
        return self.model.dimension if self.model else BLANK_DIMENSION


class State(NamedTuple):
    """Which generations there are, the one that is searched first."""

    generations: tuple[Generation, ...]
    version: int = SCHEMA_VERSION

    @property
    def active(self) -> Generation:
        """The one that is searched."""
        return self.generations[0]

    @property
    def next_number(self) -> int:
        """The number of a generation that begins."""
        return max(each.number for each in self.generations) + 1

    def of(self, model: Model) -> Generation | None:
        """Return the generation with the vectors of a model."""
        return next((each for each in self.generations if each.model == model), None)

    def body(self) -> str:
        """Return it as a record holds it."""
        return json.dumps({"schema": self.version, "generations": self.generations})


def read_state(body: str) -> State:
    """Return what a record holds.

    >>> read_state(State((Generation(3, Model("tiny", 2)),)).body()).active
    Generation(number=3, model=Model(name='tiny', dimension=2, precision='float32'))
    """
    held: dict[str, Any] = json.loads(body)
    generations = [Generation(number, model and Model(*model)) for number, model in held["generations"]]
    return State(tuple(generations), held["schema"])
