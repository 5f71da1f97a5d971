"""How the notes that were found are connected with others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from recollect.model import Candidate, Edge, Filters, as_candidates
from recollect.query import Query
from recollect.retrieval.failures import told
from recollect.retrieval.request import Place, Request

if TYPE_CHECKING:
    from recollect.stores.base import SearchIndex

__all__ = ["REPLACED", "IndexConnections"]

_LONGEST_CHAIN = 32
"""How often in a row a note may have been replaced before one stops looking."""


class IndexConnections:
    """The edges of one search: all of them are seen from the same place, with the same filters and exclusions."""

    def __init__(self, index: SearchIndex, request: Request, place: Place, reach: int) -> None:
        """Keep the parts; an index that knows no edges has none."""
        self._index = index
        self._request = request
        self._place = place
        self._reach = reach
        self.failure = ""
        """What went wrong when the index was asked; from then on there are no edges."""

    @property
    def known(self) -> bool:
        """Whether the index can tell edges at all."""
        return not self.failure and hasattr(self._index, "edges") and hasattr(self._index, "candidates")

    def edges(self, notes: Iterable[str], kinds: Collection[str] | None = None) -> list[Edge]:
        """Return the edges of these notes, or those of some kinds."""
        asked = list(dict.fromkeys(notes))
        if not asked or not self.known:
            return []
        try:
            found = self._index.edges(asked, namespace=self._place.namespace, reach=self._reach, kinds=kinds)
            return [edge if type(edge) is Edge else Edge(*edge) for edge in found]
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            return self._failed(error)

    def candidates(self, notes: Iterable[str]) -> list[Candidate]:
        """Return those of these notes that may be found by the query at all."""
        return self._fetched(notes, self._place.filters, self._request.excluding)

    def _then(self, notes: Iterable[str]) -> set[str]:
        """Return those of these notes that were there at the time that the query looks back to."""
        until = Filters(created_before=self._place.filters.created_before)
        return {candidate.id for candidate in self._fetched(notes, until, None)}

    def _fetched(self, notes: Iterable[str], filters: Filters, without: Query | None) -> list[Candidate]:
        asked = list(dict.fromkeys(notes))
        if not asked or not self.known:
            return []
        try:
            found = self._index.candidates(asked, namespace=self._place.namespace, filters=filters, without=without)
            return as_candidates("candidates", found)
        except Exception as error:  # noqa: BLE001 (as above)
            return self._failed(error)

    def _failed(self, error: Exception) -> list[Any]:
        self.failure = told(error)
        return []

    def replacements(self, candidates: list[Candidate]) -> tuple[list[Candidate], Mapping[str, list[str]]]:
        """Return the candidates with what replaced any of them, and for each replaced one the ids of what did.

        What replaced a note does so, too, where filters keep it from being found; not so what came later than the time
        that is looked back to.
        """
        everyone = {candidate.id: candidate for candidate in candidates}
        replaced_by: dict[str, list[str]] = {}
        waiting, there = list(everyone), set(everyone)
        for _ in range(_LONGEST_CHAIN):
            newer: dict[str, list[str]] = {}
            for edge in self.edges(waiting, _KINDS):
                if (edge.kind, edge.direction) in REPLACED and edge.target not in newer.setdefault(edge.source, []):
                    newer[edge.source].append(edge.target)
            unseen = list(dict.fromkeys(note for heirs in newer.values() for note in heirs if note not in there))
            fetched = {candidate.id: candidate for candidate in self.candidates(unseen)}
            for candidate in fetched.values():
                candidate.ceiling = candidates[0].ceiling
            everyone |= fetched
            waiting = [*fetched, *sorted(self._then(note for note in unseen if note not in fetched))]
            there |= set(waiting)
            for note, heirs in newer.items():
                if found := [heir for heir in heirs if heir in there]:
                    replaced_by[note] = found
            if not waiting:
                break
        return [_pointing(candidate, replaced_by) for candidate in everyone.values()], replaced_by


REPLACED = frozenset((("supersedes", "in"), ("superseded-by", "out")))
"""The edges that lead from a note to what replaced it."""
_KINDS = frozenset(kind for kind, _ in REPLACED)


def _pointing(candidate: Candidate, replaced_by: Mapping[str, list[str]]) -> Candidate:
    """Return a replaced candidate pointing to what is in force now; in a circle, to what replaced it first."""
    if candidate.id not in replaced_by:
        return candidate
    seen, waiting, latest = {candidate.id}, [*replaced_by[candidate.id]], []
    while waiting:
        heir = waiting.pop(0)
        if heir not in seen:
            seen.add(heir)
            if heir in replaced_by:
                waiting += replaced_by[heir]
            else:
                latest.append(heir)
    pointing = candidate.copy()
    pointing.superseded_by = tuple(latest or replaced_by[candidate.id])
    return pointing
