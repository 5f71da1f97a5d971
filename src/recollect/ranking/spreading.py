"""Spreading: notes lend a part of their score to the notes that they are connected with.

A turn of a conversation is often found by the turn beside it, and the answer to a question in two steps by the note
that the first step names. :func:`one_hop` lends along single edges; :func:`random_walk` is personalised PageRank (Page
and others 1999; Haveliwala 2002), in which score also travels further. Those who lend keep what they have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from recollect import arguments
from recollect.model import Candidate, Edge, as_candidates
from recollect.ranking.stage import Effect, rescore, shown_name

__all__ = ["Loan", "add_loans", "multiply_by_loans", "one_hop", "random_walk"]

ANY_LINK = "link"
"""The kind of edge whose weight counts for kinds that have none of their own."""

_DECAY = 0.5
_ROUNDS = 30


class Loan(NamedTuple):
    """What one note lent to another, and how the two are connected.

    >>> Loan("n1", "next", 0.25).share
    0.25
    """

    source: str
    """The id of the note that lent; for a session, its name."""
    kind: str
    share: float
    direction: str = "out"
    """Whether the connection leads from the note that lent, or to it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the loan as JSON-ready data."""
        return {"from": self.source, "kind": self.kind, "direction": self.direction, "share": self.share}


Loans = dict[str, list[Loan]]
"""What each note was lent, by its id."""


def one_hop(
    seeds: Sequence[Candidate],
    edges: Iterable[Edge],
    weights: Mapping[str, float],
    *,
    pool: Sequence[Candidate] = (),
    hubs: float = 0.0,
) -> Loans:
    """Return what ``seeds`` lend to the notes at the other end of ``edges``: score times the weight of the edge's kind.

    An edge to a note several places away counts half for each further place. ``weights["session"]`` is what a note of
    the ``pool`` gets of the scores of the seeds in its session. A kind without a weight counts as ``link``.

    A note that is connected with many says little by each of these edges: with ``hubs`` a loan is divided by the number
    of notes that each end is connected with, by this kind of edge and among ``edges``, to this power. At 0.5 that is
    the symmetric normalisation of graph theory.

    >>> edges = [Edge("a", "b", "next", "out"), Edge("a", "c", "mention", "in")]
    >>> loans = one_hop([Candidate("a", score=0.8)], edges, {"next": 0.5, "mention": 0.25})
    >>> {target: [loan.share for loan in each] for target, each in loans.items()}
    {'b': [0.4], 'c': [0.2]}
    """
    scores = {seed.id: seed.score for seed in seeds}
    followed = [edge for edge in edges if edge.source in scores]
    crowd = _crowd(followed) if hubs else {}
    loans: Loans = {}
    for edge in followed:
        weight = _weight(edge, weights)
        if weight:
            if hubs:
                weight /= (crowd[edge.source, edge.kind] * crowd[edge.target, edge.kind]) ** hubs
            loan = Loan(edge.source, edge.kind, scores[edge.source] * weight, edge.direction)
            loans.setdefault(edge.target, []).append(loan)
    share = weights.get("session", 0.0)
    if share:
        for note, session, mass in _shared_sessions(seeds, pool):
            loans.setdefault(note, []).append(Loan(session, "session", mass * share))
    return loans


def random_walk(
    seeds: Sequence[Candidate], edges: Iterable[Edge], weights: Mapping[str, float], *, damping: float = 0.5
) -> Loans:
    """Return where a walk is found that starts at the seeds, by their scores, and follows edges, by their weights.

    With the chance ``damping`` the walk goes on, else it begins anew: personalised PageRank. What a note gets is its
    chance times the sum of the seeds' scores, so that nothing is made or lost.

    >>> edges = [Edge("a", "b", "next", "out")]
    >>> loans = random_walk([Candidate("a", score=1.0)], edges, {"next": 1.0}, damping=0.5)
    >>> {target: round(each[0].share, 3) for target, each in loans.items()}
    {'a': 0.667, 'b': 0.333}
    """
    chance_to_go_on = arguments.number("damping", damping, at_least=0)
    total = fsum(seed.score for seed in seeds)
    if total <= 0:
        return {}
    start = {seed.id: seed.score / total for seed in seeds}
    steps: dict[str, dict[str, float]] = {}
    for edge in edges:
        weight = _weight(edge, weights)
        if weight:  # an edge can be walked both ways; it may be listed from both ends
            steps.setdefault(edge.source, {})[edge.target] = weight
            steps.setdefault(edge.target, {})[edge.source] = weight
    if steps.keys().isdisjoint(start):
        return {}  # nothing leads anywhere
    chances = {note: _chances(ways) for note, ways in steps.items()}
    found = dict(start)
    for _ in range(_ROUNDS):
        arriving: dict[str, list[float]] = {}
        stranded = []
        for note, mass in found.items():
            ways = chances.get(note)
            if ways is None:
                stranded.append(mass)
                continue
            for other, chance in ways.items():
                arriving.setdefault(other, []).append(mass * chance)
        anew = 1 - chance_to_go_on + chance_to_go_on * fsum(stranded)
        reached = {note: chance_to_go_on * fsum(parts) for note, parts in arriving.items()}
        found = {note: anew * start.get(note, 0.0) + reached.get(note, 0.0) for note in {**start, **reached}}
    return {note: [Loan("", "walk", mass * total)] for note, mass in found.items()}


def _chances(ways: Mapping[str, float]) -> dict[str, float]:
    """Return with which chance a walk takes each way."""
    total = fsum(ways.values())
    return {note: weight / total for note, weight in ways.items()}


def add_loans(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    loans: Mapping[str, Sequence[Loan]],
    *,
    weight: float = 1.0,
    lift: float = 0.0,
    own: float = 0.0,
) -> list[Candidate]:
    """Return ``candidates`` with ``weight`` times what they were lent added to their scores, the best first.

    Unless ``lift`` is 0, loans lift no note above this share of the best score among those who lent to it. Unless
    ``own`` is 0, only a note whose own score is at least this share of that one gets the whole of its loans; one that
    has half as much gets half of them.

    >>> notes = [Candidate("a", score=0.5), Candidate("b", score=0.4)]
    >>> [(note.id, round(note.score, 3)) for note in add_loans(notes, {"b": [Loan("a", "next", 0.25)]}, weight=0.8)]
    [('b', 0.6), ('a', 0.5)]
    """
    found = as_candidates("candidates", candidates)
    names = {candidate.id: shown_name(candidate) for candidate in found}
    scores = {candidate.id: candidate.score for candidate in found}

    def effects_on(candidate: Candidate) -> list[Effect]:
        lent = loans.get(candidate.id)
        if not lent:
            return []
        addend, reason = weight * fsum(loan.share for loan in lent), _reason(lent, names)
        best = max((scores[loan.source] for loan in lent if loan.source in scores), default=None)
        if best is not None:  # a session or a walk is no one's in particular
            needed = own * best
            addend *= min(1.0, max(0.0, candidate.score) / needed) if needed > 0 else 1.0
            if lift and addend > (room := max(0.0, lift * best - candidate.score)):
                addend, reason = room, f"{reason}, limited to {lift:.0%} of its score"
        return [Effect(reason, addend=addend)]

    return rescore("graph", found, effects_on)


def multiply_by_loans(
    candidates: Iterable[Candidate | Mapping[str, Any]], loans: Mapping[str, Sequence[Loan]], *, weight: float = 1.0
) -> list[Candidate]:
    """Return ``candidates`` with each score multiplied by ``1 + weight·lent / most lent``, the best first.

    Unlike :func:`add_loans` it lifts no note that the legs did not find.

    >>> notes = [Candidate("a", score=0.5), Candidate("b", score=0.4)]
    >>> [(note.id, note.score) for note in multiply_by_loans(notes, {"b": [Loan("a", "next", 0.25)]}, weight=1.0)]
    [('b', 0.8), ('a', 0.5)]
    """
    found = as_candidates("candidates", candidates)
    names = {candidate.id: shown_name(candidate) for candidate in found}
    lent = {note: fsum(loan.share for loan in each) for note, each in loans.items()}
    most = max((lent.get(candidate.id, 0.0) for candidate in found), default=0.0)

    def effects_on(candidate: Candidate) -> list[Effect]:
        share = lent.get(candidate.id, 0.0)
        return [Effect(_reason(loans[candidate.id], names), factor=1 + weight * share / most)] if share > 0 else []

    return rescore("graph", found, effects_on)


def _weight(edge: Edge, weights: Mapping[str, float]) -> float:
    weight = weights.get(edge.kind, weights.get(ANY_LINK, 0.0))
    return weight * _DECAY ** (edge.distance - 1)


def _crowd(edges: Iterable[Edge]) -> Counter[tuple[str, str]]:
    """Return with how many others each note is connected by each kind of edge; beside each other is no crowd."""
    pairs = {(*sorted((edge.source, edge.target)), edge.kind) for edge in edges}
    crowd: Counter[tuple[str, str]] = Counter()
    for one, other, kind in pairs:
        many = kind not in ("previous", "next")
        for end in (one, other):
            crowd[end, kind] = crowd[end, kind] + 1 if many else 1
    return crowd


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


_WORDS = {
    "next": "after {}",
    "previous": "before {}",
    "session": "in the session {}",
    "entity": "about the same as {}",
    "mention": "named by {}",
}
"""How a note that was lent something is connected with the one that lent."""
_BACKWARDS = {"mention": "names {}"}
"""The same where the connection leads to the one that lent."""


def _reason(loans: Sequence[Loan], names: Mapping[str, str]) -> str:
    if loans[0].kind == "walk":
        return "reached on a walk from the best"
    largest = sorted(loans, key=lambda loan: (-loan.share, loan.source, loan.kind))
    told = dict.fromkeys(_connection(loan, repr(names.get(loan.source, loan.source))) for loan in largest[:2])
    more = f" and {len(loans) - 2} more" if len(loans) > 2 else ""
    return ", ".join(told) + more


def _connection(loan: Loan, name: str) -> str:
    """Say one connection; a kind is anybody's text, and no pattern to fill in."""
    known = _BACKWARDS if loan.direction == "in" else _WORDS
    if loan.kind in known:
        return known[loan.kind].format(name)
    return f"{'links to' if loan.direction == 'in' else 'linked by'} {name} ({loan.kind})"
