"""The graph leg: score propagation from the best candidates along edges, and chains of superseding notes.

Lexical and vector search may find only the turn beside the relevant turn of a conversation, or only the first of two
notes that answer a question together. So the best notes, the seeds, transfer a share of their score to connected notes.
The seeds keep their own score. If note B supersedes note A, B is the successor of A. A chain leads from a note to its
successor, to the successor of that note, and so on. A note without a successor is current.
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

ANY_LINK = "link"  # if the kind of an edge has no weight, the edge has the weight of this kind
_DECAY = 0.5  # if notes of a session are n positions apart, the weight of their edge is multiplied by 0.5 ** (n - 1)


class IndexGraph:
    """Reads edges and notes from an index, within the scope and the exclusions of one search."""

    def __init__(self, index: IndexAbilities, request: SearchRequest, scope: SearchScope, reach: int) -> None:
        self._graph = index.graph
        self._successors = index.successors
        self._query_with_exclusions = request.query_with_exclusions
        self._scope = scope
        self._reach = reach  # notes of a session up to this many positions apart are neighbours
        self.failure = ""  # the message of the first error of the index; after it, all methods return nothing

    @property
    def is_available(self) -> bool:
        """Whether edges can be read: the index supports edges, and so far no call of the index has failed."""
        return self._graph is not None

    def _call(self, call: Callable[[], T], default: T) -> T:
        """Return the result of a call of the index; if it fails, record the failure and return ``default``."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 (an index may be the caller's own and raise anything)
            self.failure, self._graph = error_summary(error), None
            return default

    def edges(self, note_ids: Iterable[str], kinds: Collection[str] | None = None) -> list[Edge]:
        """Return the edges of the notes with these ids: edges of all kinds, or only of ``kinds``."""
        ids, graph, namespace = list(dict.fromkeys(note_ids)), self._graph, self._scope.namespace
        if not ids or graph is None:
            return []

        def call() -> list[Edge]:
            edges = graph.edges(ids, namespace=namespace, reach=self._reach, kinds=kinds)
            return [edge if type(edge) is Edge else Edge(*edge) for edge in edges]  # some indexes return tuples

        return self._call(call, [])

    def candidates(self, note_ids: Iterable[str]) -> list[Candidate]:
        """Return the notes with these ids that pass the filters and exclusions of the search."""
        return self._fetch(note_ids, self._scope.filters, self._query_with_exclusions)

    def _fetch(self, note_ids: Iterable[str], filters: Filters, exclusions: Query | None) -> list[Candidate]:
        """Return the notes with these ids that pass ``filters`` and contain no excluded term of ``exclusions``."""
        ids, graph, namespace = list(dict.fromkeys(note_ids)), self._graph, self._scope.namespace
        if not ids or graph is None:
            return []

        def call() -> list[Candidate]:
            results = graph.candidates(ids, namespace=namespace, filters=filters, exclusions=exclusions)
            return as_candidates("candidates", results)

        return self._call(call, [])

    def current_notes(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Mapping[str, Sequence[str]]]:
        """Return the current notes at the ends of the candidates' chains.

        The first part of the result has the current notes that are not among the candidates. The second part maps the
        id of each superseded candidate to the ids of its current notes. Notes of a cycle do not supersede each other.
        A note supersedes another even if it does not pass the filters of the search, with one exception: notes that
        were created at or after the filter ``created_before`` are ignored.
        """
        candidate_ids = dict.fromkeys(candidate.id for candidate in candidates)
        successors = self._chain_links(list(candidate_ids))
        if not successors:
            return [], {}
        chain_ends = _chain_ends(successors)
        superseded_by = {note_id: chain_ends[note_id] for note_id in candidate_ids if note_id in successors}
        current_ids = (current for ids in superseded_by.values() for current in ids)
        added = self.candidates(current for current in current_ids if current not in candidate_ids)
        for candidate in added:
            candidate.ceiling = candidates[0].ceiling  # the highest possible score is the same for all
        return added, superseded_by

    def _chain_links(self, note_ids: list[str]) -> Mapping[str, Sequence[str]]:
        """Return the ids of the direct successors of each superseded note in the chains that start at ``note_ids``."""
        index, namespace, created_before = self._successors, self._scope.namespace, self._scope.filters.created_before
        if not note_ids or self._graph is None:
            return {}
        if index is None:
            return without_cycles(follow_successors(note_ids, self._successors_by_edges))
        return self._call(
            lambda: without_cycles(index.successors(note_ids, namespace=namespace, created_before=created_before)), {}
        )

    def _successors_by_edges(self, note_ids: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of the direct successors of each note, for an index without the method ``successors``."""
        successors: dict[str, list[str]] = {}
        for edge in self.edges(note_ids, SUPERSESSION_KINDS):
            if (edge.kind, edge.direction) in SUPERSEDED_BY:
                successors.setdefault(edge.source, []).append(edge.target)
        date_filter = Filters(created_before=self._scope.filters.created_before)
        successor_ids = (successor for ids in successors.values() for successor in ids)
        valid_ids = {candidate.id for candidate in self._fetch(successor_ids, date_filter, None)}
        return {note_id: [target for target in ids if target in valid_ids] for note_id, ids in successors.items()}


def previous_texts(candidates: Sequence[Candidate], graph: IndexGraph) -> dict[str, str]:
    """Return the texts of the notes before each candidate in its session, by the candidate's id."""
    edges = graph.edges([note.id for note in candidates if note.session], ("previous",))
    notes = {note.id: note for note in (*candidates, *graph.candidates(edge.target for edge in edges))}
    texts: dict[str, list[str]] = {}
    for edge in sorted(edges, key=lambda edge: -edge.distance):  # the earliest note first
        if edge.target in notes:
            texts.setdefault(edge.source, []).append(notes[edge.target].content)
    return {note_id: "\n".join(parts) for note_id, parts in texts.items()}


def _chain_ends(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the ids of the current notes at which the chains of each superseded note end, by the note's id.

    ``successors`` must have no cycles. Chains are followed backwards from each end, which visits a note at most once.
    """
    predecessors = _predecessors(successors)
    ends: dict[str, list[str]] = {}
    for end in sorted(predecessors.keys() - successors.keys()):
        pending, seen = [end], {end}
        while pending:
            for note_id in predecessors.get(pending.pop(), ()):
                if note_id not in seen:
                    seen.add(note_id)
                    pending.append(note_id)
                    ends.setdefault(note_id, []).append(end)
    return ends


def _predecessors(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the ids of the notes that each note directly supersedes, by the id of the superseding note."""
    predecessors: dict[str, list[str]] = {}
    for note_id, successor_ids in successors.items():
        for successor in successor_ids:
            predecessors.setdefault(successor, []).append(note_id)
    return predecessors


class ScoreTransfer(NamedTuple):
    """A part of a source note's score that another note, the target, receives along one edge or from its session.

    >>> ScoreTransfer("n1", "next", 0.25).to_dict()
    {'from': 'n1', 'kind': 'next', 'direction': 'out', 'score': 0.25}
    """

    source: str
    """The id of the source note; the session's name if the kind is ``session``."""
    kind: str
    """The kind of the edge, or ``session``."""
    score: float
    """The transferred score, in the unit of the source note's score."""
    direction: str = "out"
    """``out`` if the edge leads from the source note to the target, ``in`` if it leads to the source note."""

    def to_dict(self) -> dict[str, Any]:
        """Return the transfer as JSON-ready data."""
        return {"from": self.source, "kind": self.kind, "direction": self.direction, "score": self.score}


Transfers = dict[str, list[ScoreTransfer]]  # the transfers to each target, by the target's id


def one_hop(
    seeds: Sequence[Candidate],
    edges: Iterable[Edge],
    weights: Mapping[str, float],
    *,
    pool: Sequence[Candidate] = (),
    degree_penalty: float = 0.0,
) -> Transfers:
    """Return the transfers from ``seeds`` along ``edges``: the seed's score times the weight of the edge's kind.

    A kind without a weight has the weight of ``link``. The weight of an edge between two notes of a session halves with
    each position beyond the first. A note of the ``pool`` also receives ``weights["session"]`` times the sum of the
    scores of the other seeds in its session.

    Edges of a note with many edges are less informative. So a transfer is divided by ``(m * n) ** degree_penalty``,
    where ``m`` and ``n`` are the degrees of its two notes: the numbers of their neighbours along edges of this kind.
    With a penalty of 0.5, this is the symmetric normalisation of an adjacency matrix.
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
    session_weight = weights.get("session", 0.0)
    if session_weight:
        for note_id, session, score_sum in _shared_sessions(seeds, pool):
            transfers.setdefault(note_id, []).append(ScoreTransfer(session, "session", score_sum * session_weight))
    return transfers


def _degrees(edges: Iterable[Edge]) -> Counter[tuple[str, str]]:
    """Return the number of neighbours by note id and kind of edge; 1 for ``previous`` and ``next`` (no penalty)."""
    pairs = {(*sorted((edge.source, edge.target)), edge.kind) for edge in edges}  # both directions make one pair
    degrees: Counter[tuple[str, str]] = Counter()
    for first, second, kind in pairs:
        is_position = kind in ("previous", "next")
        for note_id in (first, second):
            degrees[note_id, kind] = 1 if is_position else degrees[note_id, kind] + 1
    return degrees


def _shared_sessions(seeds: Sequence[Candidate], pool: Sequence[Candidate]) -> Iterable[tuple[str, str, float]]:
    """For each note of the pool, yield its id, its session and the sum of the scores of other seeds in that session."""
    seed_scores: dict[str, dict[str, float]] = {}  # by session, then by the seed's id
    for seed in seeds:
        if seed.session:
            seed_scores.setdefault(seed.session, {})[seed.id] = seed.score
    for candidate in pool:
        session_scores = seed_scores.get(candidate.session, {})
        score_sum = fsum(score for seed_id, score in session_scores.items() if seed_id != candidate.id)
        if score_sum > 0:
            yield candidate.id, candidate.session, score_sum


class GraphExpansion(NamedTuple):
    """The transfers from the best candidates, and the notes that enter the search through the graph."""

    transfers: Transfers
    candidates: list[Candidate]  # the notes that neither the lexical nor the vector leg retrieved


def expand_graph(fused: list[Candidate], graph: IndexGraph, rules: GraphRules, *, max_added: int) -> GraphExpansion:
    """Return the transfers from the best current notes, and at most ``max_added`` notes that only the graph found."""
    best_notes = fused[: rules.seeds]
    edges = graph.edges(candidate.id for candidate in best_notes)
    superseded_ids = {edge.source for edge in edges if (edge.kind, edge.direction) in SUPERSEDED_BY}
    seeds = [seed for seed in best_notes if seed.id not in superseded_ids]
    transfers = one_hop(seeds, edges, rules.edges, pool=fused, degree_penalty=rules.degree_penalty)
    fused_ids = {candidate.id for candidate in fused}
    added = []
    if max_added:
        new_ids = transfers.keys() - fused_ids
        sums = {note_id: fsum(transfer.score for transfer in transfers[note_id]) for note_id in new_ids}
        added = graph.candidates(sorted(sums, key=lambda note_id: (-sums[note_id], note_id))[:max_added])
        for candidate in added:
            candidate.ceiling = fused[0].ceiling
    target_ids = fused_ids | {candidate.id for candidate in added}
    return GraphExpansion({note_id: transfers[note_id] for note_id in transfers if note_id in target_ids}, added)


def graph_list(expansion: GraphExpansion, seeds: list[Candidate], pool: list[Candidate], limit: int) -> list[Candidate]:
    """Return the graph leg's list, best first, by the sum of a note's transfers and, if it is a seed, its own score."""
    if not expansion.transfers:
        return []
    seed_scores = {seed.id: seed.score for seed in seeds}
    ranked = []
    for candidate in (*pool, *expansion.candidates):
        received = [transfer.score for transfer in expansion.transfers.get(candidate.id, ())]
        score = fsum((seed_scores.get(candidate.id, 0.0), *received))
        if score > 0:
            scored = candidate.copy()
            scored.score = score
            ranked.append(scored)
    ranked.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    return ranked[:limit]


def propagate_scores(
    fused: list[Candidate], expansion: GraphExpansion, rules: GraphRules
) -> tuple[list[Candidate], StageResult]:
    """Return candidates and their adjustments; ``use="addition"`` adds the notes that only the graph retrieved."""
    if rules.use == "multiplier":
        return fused, multiplied_by_transfers(fused, expansion.transfers, rules.weight)
    fused_ids = {candidate.id for candidate in fused}  # includes notes of the expansion that the vector leg scored
    candidates = [*fused, *(candidate for candidate in expansion.candidates if candidate.id not in fused_ids)]
    return candidates, added_transfers(candidates, expansion.transfers, rules)


def added_transfers(
    candidates: Sequence[Candidate], transfers: Mapping[str, Sequence[ScoreTransfer]], rules: GraphRules
) -> StageResult:
    """Return adjustments that add to each note's score the sum of its transfers times ``weight``.

    If ``max_lift`` is above 0, transfers lift a note to at most ``max_lift`` times the best score of its source notes.
    If the note's own score is below ``min_own_score_ratio`` times that best score, its addend is reduced in proportion.
    """
    by_id = {candidate.id: candidate for candidate in candidates}

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        incoming = transfers.get(candidate.id)
        if not incoming:
            return []
        addend = rules.weight * fsum(transfer.score for transfer in incoming)
        suffix = ""
        source_scores = [by_id[transfer.source].score for transfer in incoming if transfer.source in by_id]
        if source_scores:  # empty if all transfers come from a session, which has no single source note
            best_source_score = max(source_scores)
            min_own_score = rules.min_own_score_ratio * best_source_score
            if min_own_score > 0:
                addend *= min(1.0, max(0.0, candidate.score) / min_own_score)
            max_addend = max(0.0, rules.max_lift * best_source_score - candidate.score)
            if rules.max_lift and addend > max_addend:
                addend, suffix = max_addend, f", limited to {rules.max_lift:.0%} of its score"
        return [Adjustment(lambda: _reason(incoming, by_id) + suffix, addend=addend)]

    return StageResult([adjustments(candidate) for candidate in candidates])


def multiplied_by_transfers(
    candidates: Sequence[Candidate], transfers: Mapping[str, Sequence[ScoreTransfer]], weight: float
) -> StageResult:
    """Return adjustments that multiply each note's score by ``1 + weight * sum / largest_sum``.

    ``sum`` is the sum of the transfers to the note, and ``largest_sum`` is the largest ``sum`` of all candidates.
    """
    by_id = {candidate.id: candidate for candidate in candidates}
    sums = {note_id: fsum(transfer.score for transfer in incoming) for note_id, incoming in transfers.items()}
    largest_sum = max((sums.get(candidate.id, 0.0) for candidate in candidates), default=0.0)

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        transfer_sum = sums.get(candidate.id, 0.0)
        if transfer_sum <= 0:
            return []
        incoming = transfers[candidate.id]
        return [Adjustment(lambda: _reason(incoming, by_id), factor=1 + weight * transfer_sum / largest_sum)]

    return StageResult([adjustments(candidate) for candidate in candidates])


_CONNECTIONS = {
    "next": "after {}",
    "previous": "before {}",
    "session": "in the session {}",
    "entity": "shares an entity with {}",
    "mention": "named by {}",
}
"""How the target of a transfer is connected with its source note, by the kind of an edge from the source note."""
_INCOMING_CONNECTIONS = {"mention": "names {}"}
"""How the target is connected with its source note, by the kind of an edge from the target to the source note."""


def _reason(transfers: Sequence[ScoreTransfer], notes: Mapping[str, Candidate]) -> str:
    """Return a text with the two largest transfers and the number of further transfers; ``notes`` are by id."""
    largest = sorted(transfers, key=lambda transfer: (-transfer.score, transfer.source, transfer.kind))
    connections = dict.fromkeys(_connection(transfer, notes.get(transfer.source)) for transfer in largest[:2])
    more = f" and {len(transfers) - 2} more" if len(transfers) > 2 else ""
    return ", ".join(connections) + more


def _connection(transfer: ScoreTransfer, source: Candidate | None) -> str:
    """Return how the target is connected with the source note; user text is inserted, never used as a format string."""
    name = repr(display_name(source) if source else transfer.source)
    connections = _INCOMING_CONNECTIONS if transfer.direction == "in" else _CONNECTIONS
    if transfer.kind in connections:
        return connections[transfer.kind].format(name)
    return f"{'links to' if transfer.direction == 'in' else 'linked by'} {name} ({transfer.kind})"


def follow_successors(
    ids: Iterable[str], direct_successors: Callable[[list[str]], Mapping[str, Collection[str]]]
) -> dict[str, tuple[str, ...]]:
    """Return the ids of the direct successors of each superseded note in the chains that start at ``ids``.

    ``direct_successors`` returns the ids of the direct successors of a list of notes, by note id. It is called once for
    each step along the chains, and never twice for the same note, so that a cycle ends. No further step follows after
    :data:`MAX_SUPERSESSIONS` links. The successors of a note are sorted by id.
    """
    successors: dict[str, tuple[str, ...]] = {}
    pending = list(dict.fromkeys(ids))
    seen, link_count = set(pending), 0
    while pending and link_count < MAX_SUPERSESSIONS:
        results = direct_successors(pending)
        next_pending: dict[str, None] = {}
        for note_id in pending:
            successor_ids = tuple(sorted(set(results.get(note_id, ())) - {note_id}))
            if successor_ids:
                successors[note_id] = successor_ids
                link_count += len(successor_ids)
                next_pending |= dict.fromkeys(successor_ids)
        pending = [note_id for note_id in next_pending if note_id not in seen]
        seen.update(pending)
    return successors


def cycles(successors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the groups of notes that supersede each other in a cycle, each as a sorted tuple of note ids.

    The groups are the strongly connected components of more than one note. The algorithm is Kosaraju and Sharir's
    (Computers & Mathematics with Applications 7, 1981). It takes time linear in the number of supersessions.
    """
    # First pass, depth-first: a note enters ``finished`` after its successors, when its entry (id, True) is popped.
    visited: set[str] = set()
    finished: list[str] = []
    pending = [(note_id, False) for note_id in successors]
    while pending:
        note_id, is_finished = pending.pop()
        if is_finished:
            finished.append(note_id)
        elif note_id not in visited:
            visited.add(note_id)
            pending += [(note_id, True), *((successor, False) for successor in successors.get(note_id, ()))]
    # Second pass, along reversed links: a root reaches exactly those unassigned notes that are in its component.
    unassigned = set(finished)
    predecessors = _predecessors(successors)
    components = []
    for root in reversed(finished):
        component, stack = [], [root]
        while stack:
            note_id = stack.pop()
            if note_id in unassigned:
                unassigned.remove(note_id)
                component.append(note_id)
                stack += predecessors.get(note_id, ())
        if len(component) > 1:
            components.append(tuple(sorted(component)))
    return sorted(components)


def without_cycles(successors: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return ``successors`` without the links between notes of the same cycle; the links out of a cycle remain.

    Notes that supersede each other are thus all current, unless a note outside the cycle supersedes them.
    """
    cycle_by_id = {note_id: cycle for cycle in map(frozenset, cycles(successors)) for note_id in cycle}
    remaining: dict[str, tuple[str, ...]] = {}
    for note_id, successor_ids in successors.items():
        cycle = cycle_by_id.get(note_id) or {note_id}  # a note does not supersede itself
        outside = tuple(successor for successor in successor_ids if successor not in cycle)
        if outside:
            remaining[note_id] = outside
    return remaining
