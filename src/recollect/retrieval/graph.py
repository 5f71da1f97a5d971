"""The graph leg: notes that are connected with the best of what the other legs found."""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

from recollect.model import Candidate
from recollect.ranking import Loan, add_loans, multiply_by_loans, one_hop, random_walk
from recollect.retrieval.connections import IndexConnections
from recollect.retrieval.rules import GraphRules
from recollect.stores.supersession import SUPERSEDED_BY

__all__ = ["Neighbourhood", "explore", "lend"]


class Neighbourhood(NamedTuple):
    """What connections led to: the loans of each note, and the notes that no other leg had found."""

    loans: dict[str, list[Loan]]
    newcomers: list[Candidate]

    def as_list(self, seeds: list[Candidate], pool: list[Candidate], limit: int) -> list[Candidate]:
        """Return a ranked list: seeds by their own score and what they were lent, the others by what they were lent.

        Where nothing is connected there is no list.
        """
        if not self.loans:
            return []
        own = {seed.id: seed.score for seed in seeds}
        ranked = []
        for candidate in (*pool, *self.newcomers):
            lent = [loan.share for loan in self.loans.get(candidate.id, ())]
            score = fsum((own.get(candidate.id, 0.0), *lent))
            if score > 0:
                listed = candidate.copy()
                listed.score = score
                ranked.append(listed)
        ranked.sort(key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
        return ranked[:limit]


def explore(fused: list[Candidate], connections: IndexConnections, rules: GraphRules, *, most: int) -> Neighbourhood:
    """Return what the best of the fused notes lend, and to whom; at most so many notes that no leg found come in."""
    best = fused[: rules.seeds]
    edges = connections.edges(candidate.id for candidate in (best if rules.spread == "one_hop" else fused))
    replaced = {edge.source for edge in edges if (edge.kind, edge.direction) in SUPERSEDED_BY}
    seeds = [seed for seed in best if seed.id not in replaced]  # what was replaced speaks for nobody
    if rules.spread == "one_hop":
        loans = one_hop(seeds, edges, rules.edges, pool=fused, hubs=rules.hubs)
    else:
        loans = random_walk(seeds, edges, rules.edges, damping=rules.damping)
    pool = {candidate.id for candidate in fused}
    newcomers = []
    if most:
        lent = {note: fsum(loan.share for loan in each) for note, each in loans.items() if note not in pool}
        newcomers = connections.candidates(sorted(lent, key=lambda note: (-lent[note], note))[:most])
        for newcomer in newcomers:
            newcomer.ceiling = fused[0].ceiling
    allowed = pool | {newcomer.id for newcomer in newcomers}
    return Neighbourhood({note: lent for note, lent in loans.items() if note in allowed}, newcomers)


def lend(fused: list[Candidate], found: Neighbourhood, rules: GraphRules) -> list[Candidate]:
    """Return the fused notes with what they were lent, as a factor or added; what is lent brings newcomers in."""
    if rules.use == "multiplier":
        return multiply_by_loans(fused, found.loans, weight=rules.weight)
    known = {candidate.id for candidate in fused}  # a newcomer whose similarity is known was fused with the others
    newcomers = [newcomer for newcomer in found.newcomers if newcomer.id not in known]
    return add_loans([*fused, *newcomers], found.loans, weight=rules.weight, lift=rules.lift, own=rules.own)
