"""Notes whose names the ladder's last rung compares, given by the caller: for an index that cannot do so itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from recollect.model import Candidate, as_candidates
from recollect.query import TrigramIndex

__all__ = ["Chunks", "NamedChunks"]

Chunks = Iterable[Candidate | Mapping[str, Any]]


class NamedChunks:
    """The caller's notes; their trigrams are made when they are first needed, and kept."""

    def __init__(self, chunks: Chunks) -> None:
        """Keep the notes; of a repeated id the first counts."""
        self._chunks = {chunk.id: chunk for chunk in reversed(as_candidates("trigram_chunks", list(chunks)))}

    @cached_property
    def _index(self) -> TrigramIndex:
        return TrigramIndex(list(self._chunks.values())[::-1])

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the notes whose names are spelt like one of the words, the most alike first."""
        return [
            replace(self._chunks[match.id], score=match.similarity, lexical_rank=None)
            for match in self._index.search(words, limit)
        ]
