"""The graph leg: score propagation from the best candidates along edges, and superseding notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.model import Candidate, Edge, Filters, as_candidates
from recollect.query import Query
from recollect.ranking.propagation import (
    Transfers,
    added_transfers,
    multiplied_by_transfers,
    one_hop,
    random_walk,
)
from recollect.ranking.stage import StageResult
from recollect.retrieval.request import SearchRequest, SearchScope
from recollect.retrieval.terms import error_summary
from recollect.stores.search_index import MAX_SUPERSESSIONS, SUPERSEDED_BY, SUPERSESSION_KINDS

if TYPE_CHECKING:
    from recollect.retrieval.preset import GraphRules
    from recollect.stores.search_index import IndexAbilities


class IndexGraph:
    """The edges of an index, for one search with its scope and exclusions."""

    def __init__(self, index: IndexAbilities, request: SearchRequest, scope: SearchScope, reach: int) -> None:
        self._index = index
        self._request = request
        self._scope = scope
        self._reach = reach
        self.failure = ""
        """The message of the first error of the index; from then on there are no edges."""

    @property
    def is_available(self) -> bool:
        """Whether the index knows edges, and none of its answers failed."""
        return not self.failure and self._index.graph is not None

    def edges(self, notes: Iterable[str], kinds: Collection[str] | None = None) -> list[Edge]:
        """Return the edges of notes, or those of some kinds."""
        ids = list(dict.fromkeys(notes))
        if not ids or not self.is_available or self._index.graph is None:
            return []
        try:
            edges = self._index.graph.edges(ids, namespace=self._scope.namespace, reach=self._reach, kinds=kinds)
            return [edge if type(edge) is Edge else Edge(*edge) for edge in edges]
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            return self._fail(error)

    def candidates(self, notes: Iterable[str]) -> list[Candidate]:
        """Return those of the notes that pass the filters and exclusions of the search."""
        return self._fetch(notes, self._scope.filters, self._request.excluding)

    def _fetch(self, notes: Iterable[str], filters: Filters, without: Query | None) -> list[Candidate]:
        ids = list(dict.fromkeys(notes))
        if not ids or not self.is_available or self._index.graph is None:
            return []
        try:
            answer = self._index.graph.candidates(
                ids, namespace=self._scope.namespace, filters=filters, without=without
            )
            return as_candidates("candidates", answer)
        except Exception as error:  # noqa: BLE001 (as above)
            return self._fail(error)

    def _fail(self, error: Exception) -> list[Any]:
        self.failure = error_summary(error)
        return []

    def current_notes(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Mapping[str, Sequence[str]]]:
        """Return current notes that are not among the candidates, and the current notes of each superseded candidate.

        A note is current if nothing supersedes it. Chains are followed to their end; superseded notes in between are
        not returned. Notes of a cycle do not supersede each other. A note supersedes another even if filters exclude it
        from the results, unless it was created at or after ``created_before``.
        """
        present = dict.fromkeys(candidate.id for candidate in candidates)
        successors = self.successors(present)
        if not successors:
            return [], {}
        current = _chain_ends(successors)
        superseded_by = {note: current[note] for note in present if note in successors}
        missing = dict.fromkeys(end for ends in superseded_by.values() for end in ends if end not in present)
        added = self.candidates(missing)
        for candidate in added:
            candidate.ceiling = candidates[0].ceiling
        return added, superseded_by

    def successors(self, notes: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return the notes that supersede each note directly, for these notes and all that supersede them."""
        ids = list(dict.fromkeys(notes))
        if not ids or not self.is_available:
            return {}
        if self._index.successors is None:
            return without_cycles(follow(ids, self._direct_successors))
        before = self._scope.filters.created_before
        try:
            answer = self._index.successors.successors(ids, namespace=self._scope.namespace, created_before=before)
            return without_cycles(answer)
        except Exception as error:  # noqa: BLE001 (as above)
            self._fail(error)
            return {}

    def _direct_successors(self, notes: Iterable[str]) -> dict[str, list[str]]:
        successors: dict[str, list[str]] = {}
        for edge in self.edges(notes, SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                successors.setdefault(edge.source, []).append(edge.target)
        before = Filters(created_before=self._scope.filters.created_before)
        targets = (target for targets in successors.values() for target in targets)
        existing = {candidate.id for candidate in self._fetch(targets, before, None)}
        return {note: [target for target in targets if target in existing] for note, targets in successors.items()}


def _chain_ends(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the notes at the ends of each superseded note's chains, which have no cycles.

    Chains are followed backwards from each end: the cost is the length of the chain, however many of its notes are
    candidates.
    """
    predecessors: dict[str, list[str]] = {}
    for note, later in successors.items():
        for successor in later:
            predecessors.setdefault(successor, []).append(note)
    ends: dict[str, list[str]] = {}
    for end in sorted(predecessors.keys() - successors.keys()):
        pending, seen = [end], {end}
        while pending:
            for note in predecessors.get(pending.pop(), ()):
                if note not in seen:
                    seen.add(note)
                    pending.append(note)
                    ends.setdefault(note, []).append(end)
    return ends


class GraphExpansion(NamedTuple):
    """The transfers to each note, and the notes that no other leg retrieved."""

    transfers: Transfers
    candidates: list[Candidate]


def expand_graph(fused: list[Candidate], graph: IndexGraph, rules: GraphRules, *, max_added: int) -> GraphExpansion:
    """Return the transfers from the best fused notes, and at most ``max_added`` notes that no leg retrieved."""
    best = fused[: rules.seeds]
    edges = graph.edges(candidate.id for candidate in (best if rules.spread == "one_hop" else fused))
    superseded = {edge.source for edge in edges if (edge.kind, edge.direction) in SUPERSEDED_BY}
    seeds = [seed for seed in best if seed.id not in superseded]
    if rules.spread == "one_hop":
        transfers = one_hop(seeds, edges, rules.edges, pool=fused, degree_penalty=rules.degree_penalty)
    else:
        transfers = random_walk(seeds, edges, rules.edges, damping=rules.damping)
    present = {candidate.id for candidate in fused}
    added = []
    if max_added:
        sums = {note: fsum(part.share for part in parts) for note, parts in transfers.items() if note not in present}
        added = graph.candidates(sorted(sums, key=lambda note: (-sums[note], note))[:max_added])
        for candidate in added:
            candidate.ceiling = fused[0].ceiling
    allowed = present | {candidate.id for candidate in added}
    return GraphExpansion({note: parts for note, parts in transfers.items() if note in allowed}, added)


def graph_list(expansion: GraphExpansion, seeds: list[Candidate], pool: list[Candidate], limit: int) -> list[Candidate]:
    """Return a ranked list for fusion: seeds by their score and transfers, other notes by their transfers."""
    if not expansion.transfers:
        return []
    own = {seed.id: seed.score for seed in seeds}
    ranked = []
    for candidate in (*pool, *expansion.candidates):
        shares = [transfer.share for transfer in expansion.transfers.get(candidate.id, ())]
        score = fsum((own.get(candidate.id, 0.0), *shares))
        if score > 0:
            scored = candidate.copy()
            scored.score = score
            ranked.append(scored)
    ranked.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    return ranked[:limit]


def propagate_scores(
    fused: list[Candidate], expansion: GraphExpansion, rules: GraphRules
) -> tuple[list[Candidate], StageResult]:
    """Return the candidates with those that the graph adds, and the adjustments of their scores."""
    if rules.use == "multiplier":
        return fused, multiplied_by_transfers(fused, expansion.transfers, weight=rules.weight)
    present = {candidate.id for candidate in fused}  # an added note with a similarity was fused with the others
    candidates = [*fused, *(candidate for candidate in expansion.candidates if candidate.id not in present)]
    result = added_transfers(
        candidates,
        expansion.transfers,
        weight=rules.weight,
        max_lift=rules.max_lift,
        min_own_score_ratio=rules.min_own_score_ratio,
    )
    return candidates, result


def follow(
    ids: Iterable[str], direct: Callable[[list[str]], Mapping[str, Collection[str]]]
) -> dict[str, tuple[str, ...]]:
    """Return for each superseded note, among ``ids`` and along their chains, the notes that supersede it directly.

    ``direct`` returns the direct successors of some notes. It is called once for each step of the longest
    chain, and for no note twice, so that cycles end. The successors of a note are sorted by id.

    >>> follow(["a"], lambda ids: {"a": ["b"], "b": ["c"], "c": ["b"]})
    {'a': ('b',), 'b': ('c',), 'c': ('b',)}
    """
    successors: dict[str, tuple[str, ...]] = {}
    pending = list(dict.fromkeys(ids))
    seen, pairs = set(pending), 0
    while pending and pairs < MAX_SUPERSESSIONS:
        results = direct(pending)
        step = {note: tuple(sorted(set(results[note]) - {note})) for note in pending if note in results}
        successors |= {note: later for note, later in step.items() if later}
        pairs += sum(map(len, step.values()))
        pending = list(dict.fromkeys(note for later in step.values() for note in later if note not in seen))
        seen.update(pending)
    return successors


def cycles(successors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the groups of notes that supersede each other in a circle, each sorted by id.

    They are the strongly connected components of more than one note, by the algorithm of Kosaraju and Sharir (Computers
    & Mathematics with Applications 7, 1981), in time linear in the number of supersessions.

    >>> cycles({"a": ("b",), "b": ("c",), "c": ("b",)})
    [('b', 'c')]
    """
    visited: set[str] = set()
    finished: list[str] = []
    pending = [(note, False) for note in successors]
    while pending:
        note, is_finished = pending.pop()
        if is_finished:
            finished.append(note)
        elif note not in visited:
            visited.add(note)
            pending += [(note, True), *((later, False) for later in successors.get(note, ()))]
    predecessors: dict[str, list[str]] = {}
    for note, later in successors.items():
        for other in later:
            predecessors.setdefault(other, []).append(note)
    components = []
    for root in reversed(finished):
        component, stack = [], [root]
        while stack:
            note = stack.pop()
            if note in visited:
                visited.remove(note)
                component.append(note)
                stack += predecessors.get(note, ())
        if len(component) > 1:
            components.append(tuple(sorted(component)))
    return sorted(components)


def without_cycles(successors: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the supersessions without those inside a cycle: of notes that supersede each other, none is out of date.

    A note outside the cycle that supersedes one of its notes still counts.

    >>> without_cycles({"a": ("b",), "b": ("c", "d"), "c": ("b",)})
    {'a': ('b',), 'b': ('d',)}
    """
    cycle_of = {note: number for number, cycle in enumerate(cycles(successors)) for note in cycle}
    remaining = {
        note: tuple(
            other
            for other in later
            if other != note and (note not in cycle_of or cycle_of.get(other) != cycle_of[note])
        )
        for note, later in successors.items()
    }
    return {note: later for note, later in remaining.items() if later}
