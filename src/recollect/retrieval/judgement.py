"""How sure it is that what was found has to do with the query, and what is left out for want of it."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.model import Candidate, Hit
from recollect.ranking import Calibration, Loan, confidence
from recollect.retrieval.lexical import Worded
from recollect.retrieval.matching import coverage
from recollect.retrieval.snippets import snippet
from recollect.retrieval.trace import Trace

__all__ = ["Judge"]


class Judge:
    """Judges the candidates of one search by their similarity and by the words that they hold."""

    def __init__(self, worded: Worded, nearest: Sequence[Candidate], calibration: Calibration) -> None:
        """Keep what both legs found, and what the model's similarities mean."""
        self._worded = worded
        self._farthest = nearest[-1].score if nearest else None
        self._calibration = calibration

    def above(self, floor: float, candidates: Sequence[Candidate], trace: Trace) -> list[Candidate]:
        """Return the candidates of which one can be sure enough, and those that such led to, or were read with."""
        sure = {candidate.id for candidate in candidates if self._of(candidate) >= floor}
        led_to = sure | {note for note, lent in trace.loans.items() if any(_leads(loan, sure) for loan in lent)}
        led_to |= {note for note, context in trace.contexts.items() if not sure.isdisjoint(context.beside)}
        led_to |= {heir for candidate in candidates if candidate.id in led_to for heir in candidate.superseded_by}
        return [candidate for candidate in candidates if candidate.id in led_to]

    def hit(self, rank: int, candidate: Candidate) -> Hit:
        """Return a candidate as a hit: with the piece of its text that fits, and how sure one can be of it."""
        shown = snippet(candidate.content, self._worded.tree)
        judged = candidate.copy()
        judged.confidence = self._of(candidate, held=shown.words)
        if not shown.highlights:  # then its summary may say it
            summed = snippet(candidate.summary, self._worded.tree)
            shown = summed if summed.highlights else shown
        if judged.snippet:  # a leg's own
            return Hit(rank, judged)
        judged.snippet = shown.text
        return Hit(rank, judged, shown.highlights)

    def _of(self, candidate: Candidate, *, held: frozenset[int] | None = None) -> float:
        """Return the confidence in a candidate; ``held`` are the words that its content is known to hold."""
        texts = [candidate.title, candidate.summary, candidate.path]
        if held is None:
            texts.append(candidate.content)
        share = coverage(texts, self._worded.tree, held=held or ())
        if self._worded.by_name and candidate.lexical_score is not None:
            share = max(share, candidate.lexical_score)  # how alike the names are spelt
        # What the vector leg did not bring is no nearer than the farthest that it did.
        similarity = self._farthest if candidate.vector_similarity is None else candidate.vector_similarity
        return confidence(similarity, share, self._calibration)


def _leads(loan: Loan, sure: set[str]) -> bool:
    """Return whether score was lent by a note of which one is sure; a walk comes from all, a session from no one."""
    return bool(sure) if loan.kind == "walk" else loan.kind != "session" and loan.source in sure
