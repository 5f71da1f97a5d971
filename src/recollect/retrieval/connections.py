"""How the notes that were found are connected with others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect.model import Candidate, Edge, Filters, as_candidates
from recollect.query import Query
from recollect.retrieval.failures import told
from recollect.retrieval.request import Place, Request
from recollect.stores.supersession import SUPERSEDED_BY, SUPERSESSION_KINDS, follow, without_cycles

if TYPE_CHECKING:
    from recollect.stores.base import SearchIndex

__all__ = ["IndexConnections"]


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
        """Return the candidates and the current notes, and for each superseded candidate the ids of its current notes.

        A note is current if nothing supersedes it. Chains are followed to their end; superseded notes in between are
        not added. Notes of a cycle do not supersede each other. A note supersedes another even if filters exclude it
        from the results, unless it was created at or after ``created_before``.
        """
        known = {candidate.id: candidate for candidate in candidates}
        successors = self.successors(known)
        if not successors:
            return candidates, {}
        current = _current_notes(successors)
        replaced_by = {note: current[note] for note in known if note in successors}
        unseen = dict.fromkeys(last for note in replaced_by for last in current[note] if last not in known)
        for candidate in self.candidates(unseen):
            candidate.ceiling = candidates[0].ceiling
            known[candidate.id] = candidate
        return [_pointing(candidate, replaced_by.get(candidate.id)) for candidate in known.values()], replaced_by

    def successors(self, notes: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return what supersedes each note directly, for these notes and all that supersedes them.

        If the index has no method of this name, its edges are followed step by step. Notes of a cycle do not supersede
        each other, also where an index of the caller's own says so.
        """
        ids = list(dict.fromkeys(notes))
        if not ids or not self.known:
            return {}
        if not hasattr(self._index, "successors"):
            return without_cycles(follow(ids, self._direct_successors))
        before = self._place.filters.created_before
        try:
            found = self._index.successors(ids, namespace=self._place.namespace, created_before=before)
            return without_cycles(found)
        except Exception as error:  # noqa: BLE001 (as above)
            self._failed(error)
            return {}

    def _direct_successors(self, notes: Iterable[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for edge in self.edges(notes, SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                found.setdefault(edge.source, []).append(edge.target)
        there = self._then(target for targets in found.values() for target in targets)
        return {note: [target for target in targets if target in there] for note, targets in found.items()}


def _current_notes(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return for each superseded note the notes at the ends of its chains, which have no cycles.

    Chains are traversed backwards from each end: the cost is the length of the chain, however many of its notes are
    candidates.
    """
    predecessors: dict[str, list[str]] = {}
    for note, later in successors.items():
        for successor in later:
            predecessors.setdefault(successor, []).append(note)
    current: dict[str, list[str]] = {}
    for last in sorted(predecessors.keys() - successors.keys()):
        pending, seen = [last], {last}
        while pending:
            for note in predecessors.get(pending.pop(), ()):
                if note not in seen:
                    seen.add(note)
                    pending.append(note)
                    current.setdefault(note, []).append(last)
    return current


def _pointing(candidate: Candidate, successors: Sequence[str] | None) -> Candidate:
    if not successors:
        return candidate
    pointing = candidate.copy()
    pointing.superseded_by = tuple(successors)
    return pointing
