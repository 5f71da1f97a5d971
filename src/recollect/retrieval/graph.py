"""The graph leg: score propagation from the best candidates along edges, and superseding notes.

A turn of a conversation is often found by the turn beside it, and the answer to a two-hop question by the note that the
first hop names. So notes pass a part of their score on to the notes that they are connected with, and keep their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from recollect.model import Candidate, Edge, Filters, as_candidates
from recollect.query import Query
from recollect.ranking.stage import Adjustment, StageResult, display_name
from recollect.retrieval.messages import error_summary
from recollect.retrieval.request import SearchRequest, SearchScope
from recollect.stores.search_index import MAX_SUPERSESSIONS, SUPERSEDED_BY, SUPERSESSION_KINDS

if TYPE_CHECKING:
    from recollect.retrieval.preset import GraphRules
    from recollect.stores.search_index import IndexAbilities

T = TypeVar("T")

ANY_LINK = "link"
"""The kind of edge whose weight is used for kinds without a weight."""
_DECAY = 0.5
"""The factor of an edge's weight for each further position."""


class IndexGraph:
    """The edges of an index, for one search with its scope and exclusions."""

    def __init__(self, index: IndexAbilities, request: SearchRequest, scope: SearchScope, reach: int) -> None:
        self._graph = index.graph
        self._successors = index.successors
        self._exclusions = request.exclusions
        self._scope = scope
        self._reach = reach
        self.failure = ""
        """The message of the first error of the index; from then on there are no edges."""

    @property
    def is_available(self) -> bool:
        """Whether the index has edges, and no call of it failed."""
        return self._graph is not None

    def _call(self, call: Callable[[], T], default: T) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            self.failure, self._graph = error_summary(error), None
            return default

    def edges(self, notes: Iterable[str], kinds: Collection[str] | None = None) -> list[Edge]:
        """Return the edges of notes, or those of some kinds."""
        ids, graph, namespace = list(dict.fromkeys(notes)), self._graph, self._scope.namespace
        if not ids or graph is None:
            return []

        def call() -> list[Edge]:
            edges = graph.edges(ids, namespace=namespace, reach=self._reach, kinds=kinds)
            return [edge if type(edge) is Edge else Edge(*edge) for edge in edges]

        return self._call(call, [])

    def candidates(self, notes: Iterable[str]) -> list[Candidate]:
        """Return the notes with these ids that pass the filters and exclusions of the search."""
        return self._fetch(notes, self._scope.filters, self._exclusions)

    def _fetch(self, notes: Iterable[str], filters: Filters, without: Query | None) -> list[Candidate]:
        ids, graph, namespace = list(dict.fromkeys(notes)), self._graph, self._scope.namespace
        if not ids or graph is None:
            return []

        def call() -> list[Candidate]:
            answer = graph.candidates(ids, namespace=namespace, filters=filters, without=without)
            return as_candidates("candidates", answer)

        return self._call(call, [])

    def current_notes(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Mapping[str, Sequence[str]]]:
        """Return the current notes that are not candidates yet, and the current notes of each superseded candidate.

        A note is current if nothing supersedes it. Chains are followed to their end; superseded notes in between are
        not returned. Notes of a cycle do not supersede each other. A note supersedes another even if filters exclude it
        from the results, unless it was created at or after ``created_before``.
        """
        present = dict.fromkeys(candidate.id for candidate in candidates)
        successors = self._direct_successors(list(present))
        if not successors:
            return [], {}
        current = _chain_ends(successors)
        superseded_by = {note: current[note] for note in present if note in successors}
        missing = dict.fromkeys(end for ends in superseded_by.values() for end in ends if end not in present)
        added = self.candidates(missing)
        for candidate in added:
            candidate.ceiling = candidates[0].ceiling
        return added, superseded_by

    def _direct_successors(self, notes: list[str]) -> Mapping[str, Sequence[str]]:
        """Return the direct successors of these notes, and of their direct and indirect successors."""
        index, namespace, before = self._successors, self._scope.namespace, self._scope.filters.created_before
        if not notes or self._graph is None:
            return {}
        if index is None:
            return without_cycles(follow_successors(notes, self._successors_by_edges))
        return self._call(
            lambda: without_cycles(index.successors(notes, namespace=namespace, created_before=before)), {}
        )

    def _successors_by_edges(self, notes: Iterable[str]) -> dict[str, list[str]]:
        successors: dict[str, list[str]] = {}
        for edge in self.edges(notes, SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                successors.setdefault(edge.source, []).append(edge.target)
        before = Filters(created_before=self._scope.filters.created_before)
        targets = (target for targets in successors.values() for target in targets)
        existing = {candidate.id for candidate in self._fetch(targets, before, None)}
        return {note: [target for target in targets if target in existing] for note, targets in successors.items()}


def _chain_ends(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the last notes of the chains of each superseded note; ``successors`` must have no cycles.

    Chains are followed backwards from each end, so that each is followed only once.
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


class ScoreTransfer(NamedTuple):
    """The score that a source note gave to another note, and how the two are connected.

    >>> ScoreTransfer("n1", "next", 0.25).to_dict()
    {'from': 'n1', 'kind': 'next', 'direction': 'out', 'share': 0.25}
    """

    source: str
    """The id of the source note; for a session, its name."""
    kind: str
    """The kind of the edge, or ``session``."""
    share: float
    """The score that is transferred."""
    direction: str = "out"
    """Whether the edge leads from the source note (``out``) or to it (``in``)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the transfer as JSON-ready data."""
        return {"from": self.source, "kind": self.kind, "direction": self.direction, "share": self.share}


Transfers = dict[str, list[ScoreTransfer]]
"""The transfers to each note, by its id."""


def one_hop(
    seeds: Sequence[Candidate],
    edges: Iterable[Edge],
    weights: Mapping[str, float],
    *,
    pool: Sequence[Candidate] = (),
    degree_penalty: float = 0.0,
) -> Transfers:
    """Return the transfers from ``seeds`` along ``edges``: the seed's score times the weight of the edge's kind.

    The weight halves with each further position. ``weights["session"]`` is the share that a note of the ``pool`` gets
    of the scores of the seeds in its session. A kind without a weight has the weight of ``link``.

    Edges of a note with many edges are less informative: a transfer is divided by the product of the degrees of both
    notes, among edges of its kind, to the power of ``degree_penalty``. 0.5 is the symmetric normalisation.
    """
    scores = {seed.id: seed.score for seed in seeds}
    followed = [edge for edge in edges if edge.source in scores]
    degrees = _degrees(followed) if degree_penalty else {}
    transfers: Transfers = {}
    for edge in followed:
        weight = weights.get(edge.kind, weights.get(ANY_LINK, 0.0)) * _DECAY ** (edge.distance - 1)
        if weight:
            if degree_penalty:
                weight /= (degrees[edge.source, edge.kind] * degrees[edge.target, edge.kind]) ** degree_penalty
            transfer = ScoreTransfer(edge.source, edge.kind, scores[edge.source] * weight, edge.direction)
            transfers.setdefault(edge.target, []).append(transfer)
    share = weights.get("session", 0.0)
    if share:
        for note, session, other_scores in _shared_sessions(seeds, pool):
            transfers.setdefault(note, []).append(ScoreTransfer(session, "session", other_scores * share))
    return transfers


def _degrees(edges: Iterable[Edge]) -> Counter[tuple[str, str]]:
    """Return the number of neighbours of each note by each kind of edge; 1 for ``previous`` and ``next``."""
    pairs = {(*sorted((edge.source, edge.target)), edge.kind) for edge in edges}
    degrees: Counter[tuple[str, str]] = Counter()
    for one, other, kind in pairs:
        is_position = kind in ("previous", "next")
        for end in (one, other):
            degrees[end, kind] = 1 if is_position else degrees[end, kind] + 1
    return degrees


def _shared_sessions(seeds: Sequence[Candidate], pool: Sequence[Candidate]) -> Iterable[tuple[str, str, float]]:
    """Yield each note of the pool that shares a session with seeds, the session, and the sum of the seeds' scores."""
    scores: dict[str, dict[str, float]] = {}
    for seed in seeds:
        if seed.session:
            scores.setdefault(seed.session, {})[seed.id] = seed.score
    for candidate in pool:
        others = scores.get(candidate.session, {})
        other_scores = fsum(score for note, score in others.items() if note != candidate.id)
        if other_scores > 0:
            yield candidate.id, candidate.session, other_scores


class GraphExpansion(NamedTuple):
    """The transfers to each note, and the notes that no other leg retrieved."""

    transfers: Transfers
    candidates: list[Candidate]


def expand_graph(fused: list[Candidate], graph: IndexGraph, rules: GraphRules, *, max_added: int) -> GraphExpansion:
    """Return the transfers from the best fused notes, and at largest_sum ``max_added`` notes that no leg retrieved."""
    best = fused[: rules.seeds]
    edges = graph.edges(candidate.id for candidate in best)
    superseded = {edge.source for edge in edges if (edge.kind, edge.direction) in SUPERSEDED_BY}
    seeds = [seed for seed in best if seed.id not in superseded]
    transfers = one_hop(seeds, edges, rules.edges, pool=fused, degree_penalty=rules.degree_penalty)
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
    seed_scores = {seed.id: seed.score for seed in seeds}
    ranked = []
    for candidate in (*pool, *expansion.candidates):
        shares = [transfer.share for transfer in expansion.transfers.get(candidate.id, ())]
        score = fsum((seed_scores.get(candidate.id, 0.0), *shares))
        if score > 0:
            scored = candidate.copy()
            scored.score = score
            ranked.append(scored)
    ranked.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    return ranked[:limit]


def propagate_scores(
    fused: list[Candidate], expansion: GraphExpansion, rules: GraphRules
) -> tuple[list[Candidate], StageResult]:
    """Return the candidates, including those that the graph adds, and the adjustments of their scores."""
    if rules.use == "multiplier":
        return fused, multiplied_by_transfers(fused, expansion.transfers, rules.weight)
    present = {candidate.id for candidate in fused}  # an added note with a similarity was fused with the others
    candidates = [*fused, *(candidate for candidate in expansion.candidates if candidate.id not in present)]
    return candidates, added_transfers(candidates, expansion.transfers, rules)


def added_transfers(
    candidates: Sequence[Candidate], transfers: Mapping[str, Sequence[ScoreTransfer]], rules: GraphRules
) -> StageResult:
    """Return adjustments that add ``weight`` times the transfers to each score.

    Unless ``max_lift`` is 0, transfers raise no note above this share of the best score of its source notes. Unless
    ``min_own_score_ratio`` is 0, a note gets its transfers in full only if its own score is at least this share of that
    best score, and proportionally less below it.
    """
    by_id = {candidate.id: candidate for candidate in candidates}

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        incoming = transfers.get(candidate.id)
        if not incoming:
            return []
        addend = rules.weight * fsum(transfer.share for transfer in incoming)
        limit = ""
        best = max((by_id[transfer.source].score for transfer in incoming if transfer.source in by_id), default=None)
        if best is not None:  # a session has no single source note
            full = rules.min_own_score_ratio * best
            addend *= min(1.0, max(0.0, candidate.score) / full) if full > 0 else 1.0
            if rules.max_lift and addend > (max_addend := max(0.0, rules.max_lift * best - candidate.score)):
                addend, limit = max_addend, f", limited to {rules.max_lift:.0%} of its score"
        return [Adjustment(lambda: _reason(incoming, by_id) + limit, addend=addend)]

    return StageResult([adjustments(candidate) for candidate in candidates])


def multiplied_by_transfers(
    candidates: Sequence[Candidate], transfers: Mapping[str, Sequence[ScoreTransfer]], weight: float
) -> StageResult:
    """Return adjustments that multiply each score by ``1 + weight * transfers / largest``.

    ``largest`` is the largest sum of transfers to a candidate. Notes that no leg retrieved are not added.
    """
    by_id = {candidate.id: candidate for candidate in candidates}
    sums = {note: fsum(transfer.share for transfer in incoming) for note, incoming in transfers.items()}
    largest_sum = max((sums.get(candidate.id, 0.0) for candidate in candidates), default=0.0)

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        share = sums.get(candidate.id, 0.0)
        if share <= 0:
            return []
        incoming = transfers[candidate.id]
        return [Adjustment(lambda: _reason(incoming, by_id), factor=1 + weight * share / largest_sum)]

    return StageResult([adjustments(candidate) for candidate in candidates])


_CONNECTIONS = {
    "next": "after {}",
    "previous": "before {}",
    "session": "in the session {}",
    "entity": "shares an entity with {}",
    "mention": "named by {}",
}
"""How the target of a transfer is connected with its source note."""
_INCOMING_CONNECTIONS = {"mention": "names {}"}
"""The same for an edge that leads to the source note."""


def _reason(transfers: Sequence[ScoreTransfer], notes: Mapping[str, Candidate]) -> str:
    largest = sorted(transfers, key=lambda transfer: (-transfer.share, transfer.source, transfer.kind))
    connections = dict.fromkeys(_connection(transfer, notes.get(transfer.source)) for transfer in largest[:2])
    more = f" and {len(transfers) - 2} more" if len(transfers) > 2 else ""
    return ", ".join(connections) + more


def _connection(transfer: ScoreTransfer, source: Candidate | None) -> str:
    """Return the text for one connection; a link's kind is the user's text, so it is no format string."""
    name = repr(display_name(source) if source else transfer.source)
    connections = _INCOMING_CONNECTIONS if transfer.direction == "in" else _CONNECTIONS
    if transfer.kind in connections:
        return connections[transfer.kind].format(name)
    return f"{'links to' if transfer.direction == 'in' else 'linked by'} {name} ({transfer.kind})"


def follow_successors(
    ids: Iterable[str], direct: Callable[[list[str]], Mapping[str, Collection[str]]]
) -> dict[str, tuple[str, ...]]:
    """Return the direct successors of each superseded note in the chains that start at ``ids``.

    ``direct`` returns the direct successors of some notes. It is called once for each step of the longest
    chain, and for no note twice, so that cycles end. The successors of a note are sorted by id.

    >>> follow_successors(["a"], lambda ids: {"a": ["b"], "b": ["c"], "c": ["b"]})
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
    """Return the groups of notes that supersede each other in a cycle, each sorted by id.

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
    """Return the successors without those in the same cycle: notes that supersede each other are all current.

    A successor outside the cycle remains.

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
