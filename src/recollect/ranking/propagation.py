"""Score propagation: notes pass a part of their score on to the notes that they are connected with.

A turn of a conversation is often found by the turn beside it, and the answer to a two-hop question by the note that the
first hop names. :func:`one_hop` follows single edges; :func:`random_walk` is personalised PageRank (Page and others
1999; Haveliwala 2002), in which score also travels further. A source note keeps its own score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from recollect import arguments
from recollect.model import Candidate, Edge
from recollect.ranking.stage import Adjustment, StageResult, display_name

ANY_LINK = "link"
"""The kind of edge whose weight is used for kinds without a weight."""

_DECAY = 0.5
_ITERATIONS = 30


class ScoreTransfer(NamedTuple):
    """The score that a source note passed on to another, and how the two are connected.

    >>> ScoreTransfer("n1", "next", 0.25).share
    0.25
    """

    source: str
    """The id of the source note; for a session, its name."""
    kind: str
    """The kind of the edge, ``session`` or ``walk``."""
    share: float
    """The score that was passed on."""
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

    An edge to a note several positions away counts half for each further position. ``weights["session"]`` is the share
    that a note of the ``pool`` gets of the scores of the seeds in its session. A kind without a weight counts as
    ``link``.

    An edge of a note with many edges says little: a transfer is divided by the degrees of both ends, among the edges of
    its kind, to the power of ``degree_penalty``. 0.5 is the symmetric normalisation of graph theory.

    >>> edges = [Edge("a", "b", "next", "out"), Edge("a", "c", "mention", "in")]
    >>> transfers = one_hop([Candidate("a", score=0.8)], edges, {"next": 0.5, "mention": 0.25})
    >>> {target: [transfer.share for transfer in incoming] for target, incoming in transfers.items()}
    {'b': [0.4], 'c': [0.2]}
    """
    scores = {seed.id: seed.score for seed in seeds}
    followed = [edge for edge in edges if edge.source in scores]
    degrees = _degrees(followed) if degree_penalty else {}
    transfers: Transfers = {}
    for edge in followed:
        weight = _weight(edge, weights)
        if weight:
            if degree_penalty:
                weight /= (degrees[edge.source, edge.kind] * degrees[edge.target, edge.kind]) ** degree_penalty
            transfer = ScoreTransfer(edge.source, edge.kind, scores[edge.source] * weight, edge.direction)
            transfers.setdefault(edge.target, []).append(transfer)
    share = weights.get("session", 0.0)
    if share:
        for note, session, mass in _shared_sessions(seeds, pool):
            transfers.setdefault(note, []).append(ScoreTransfer(session, "session", mass * share))
    return transfers


def random_walk(
    seeds: Sequence[Candidate], edges: Iterable[Edge], weights: Mapping[str, float], *, damping: float = 0.5
) -> Transfers:
    """Return the personalised PageRank of each note, for a walk that starts at the seeds by their scores.

    With the probability ``damping`` the walk follows an edge, chosen by its weight, or else starts anew. A note gets
    its probability times the sum of the seeds' scores.

    >>> edges = [Edge("a", "b", "next", "out")]
    >>> transfers = random_walk([Candidate("a", score=1.0)], edges, {"next": 1.0}, damping=0.5)
    >>> {target: round(incoming[0].share, 3) for target, incoming in transfers.items()}
    {'a': 0.667, 'b': 0.333}
    """
    damping = arguments.number("damping", damping, at_least=0)
    total = fsum(seed.score for seed in seeds)
    if total <= 0:
        return {}
    start = {seed.id: seed.score / total for seed in seeds}
    neighbours: dict[str, dict[str, float]] = {}
    for edge in edges:
        weight = _weight(edge, weights)
        if weight:  # an edge is followed both ways; it may be listed from both ends
            neighbours.setdefault(edge.source, {})[edge.target] = weight
            neighbours.setdefault(edge.target, {})[edge.source] = weight
    if neighbours.keys().isdisjoint(start):
        return {}
    probabilities = {note: _probabilities(ways) for note, ways in neighbours.items()}
    masses = dict(start)
    for _ in range(_ITERATIONS):
        arriving: dict[str, list[float]] = {}
        dangling = []
        for note, mass in masses.items():
            ways = probabilities.get(note)
            if ways is None:
                dangling.append(mass)
                continue
            for other, probability in ways.items():
                arriving.setdefault(other, []).append(mass * probability)
        restart = 1 - damping + damping * fsum(dangling)
        reached = {note: damping * fsum(parts) for note, parts in arriving.items()}
        masses = {note: restart * start.get(note, 0.0) + reached.get(note, 0.0) for note in {**start, **reached}}
    return {note: [ScoreTransfer("", "walk", mass * total)] for note, mass in masses.items()}


def _probabilities(ways: Mapping[str, float]) -> dict[str, float]:
    """Return the probability of each edge of a note."""
    total = fsum(ways.values())
    return {note: weight / total for note, weight in ways.items()}


def added_transfers(
    candidates: Sequence[Candidate],
    transfers: Mapping[str, Sequence[ScoreTransfer]],
    *,
    weight: float,
    max_lift: float,
    min_own_score_ratio: float,
) -> StageResult:
    """Return adjustments that add ``weight`` times the transfers to each score.

    Unless ``max_lift`` is 0, transfers lift no note above this share of the best score among its source notes. Unless
    ``min_own_score_ratio`` is 0, a note gets its transfers in full only if its own score is at least this share of that
    best score; with half as much it gets half.
    """
    by_id = {candidate.id: candidate for candidate in candidates}

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        incoming = transfers.get(candidate.id)
        if not incoming:
            return []
        addend = weight * fsum(transfer.share for transfer in incoming)
        limit = ""
        best = max((by_id[transfer.source].score for transfer in incoming if transfer.source in by_id), default=None)
        if best is not None:  # a session or a walk has no single source note
            full = min_own_score_ratio * best
            addend *= min(1.0, max(0.0, candidate.score) / full) if full > 0 else 1.0
            if max_lift and addend > (room := max(0.0, max_lift * best - candidate.score)):
                addend, limit = room, f", limited to {max_lift:.0%} of its score"
        return [Adjustment(lambda: _reason(incoming, by_id) + limit, addend=addend)]

    return StageResult([adjustments(candidate) for candidate in candidates])


def multiplied_by_transfers(
    candidates: Sequence[Candidate], transfers: Mapping[str, Sequence[ScoreTransfer]], *, weight: float
) -> StageResult:
    """Return adjustments that multiply each score by ``1 + weight * transfers / most``.

    ``most`` is the largest sum of transfers to a candidate. Notes that the legs did not retrieve are not lifted.
    """
    by_id = {candidate.id: candidate for candidate in candidates}
    sums = {note: fsum(transfer.share for transfer in incoming) for note, incoming in transfers.items()}
    most = max((sums.get(candidate.id, 0.0) for candidate in candidates), default=0.0)

    def adjustments(candidate: Candidate) -> list[Adjustment]:
        share = sums.get(candidate.id, 0.0)
        if share <= 0:
            return []
        incoming = transfers[candidate.id]
        return [Adjustment(lambda: _reason(incoming, by_id), factor=1 + weight * share / most)]

    return StageResult([adjustments(candidate) for candidate in candidates])


def _weight(edge: Edge, weights: Mapping[str, float]) -> float:
    weight = weights.get(edge.kind, weights.get(ANY_LINK, 0.0))
    return weight * _DECAY ** (edge.distance - 1)


def _degrees(edges: Iterable[Edge]) -> Counter[tuple[str, str]]:
    """Return the number of notes that each note is connected with by each kind of edge; 1 for positions."""
    pairs = {(*sorted((edge.source, edge.target)), edge.kind) for edge in edges}
    degrees: Counter[tuple[str, str]] = Counter()
    for one, other, kind in pairs:
        is_position = kind in ("previous", "next")
        for end in (one, other):
            degrees[end, kind] = 1 if is_position else degrees[end, kind] + 1
    return degrees


def _shared_sessions(seeds: Sequence[Candidate], pool: Sequence[Candidate]) -> Iterable[tuple[str, str, float]]:
    """Yield each note of the pool that shares a session with seeds, the session, and the scores of the other seeds."""
    scores: dict[str, dict[str, float]] = {}
    for seed in seeds:
        if seed.session:
            scores.setdefault(seed.session, {})[seed.id] = seed.score
    for candidate in pool:
        others = scores.get(candidate.session)
        if others:
            mass = fsum(score for note, score in others.items() if note != candidate.id)
            if mass > 0:
                yield candidate.id, candidate.session, mass


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
    if transfers[0].kind == "walk":
        return "reached by a random walk from the best"
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
