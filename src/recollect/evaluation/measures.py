"""What a ranking is worth, by the measures of the field, computed by ``ir_measures``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation.dataset import Question
from recollect.evaluation.outcome import Ranking
from recollect.inference.runtime import require_module

__all__ = ["MEASURES", "compute_measures", "cutoff"]

MEASURES = ("any@1", "any@5", "any@10", "all@5", "recall@5", "recall@10", "ndcg@10", "mrr")
"""What is measured unless told otherwise."""

_USUAL = {"any": "Success", "all": "R", "recall": "R", "ndcg": "nDCG"}
"""Our names, and those of the field: every relevant note is in the top k where the recall is 1."""
_AT = re.compile(r"(any|all|recall|ndcg)@([1-9]\d*)")


def compute_measures(
    questions: Sequence[Question], rankings: Mapping[str, Ranking], measures: Sequence[str] = MEASURES
) -> dict[str, NDArray[np.float64]]:
    """Return the value of each question, in their order, by measure.

    ``any@k`` is 1 where at least one relevant note is in the top k, ``all@k`` where every one is; ``recall@k`` is the
    fraction of them that is there; ``ndcg@k`` weighs each note by its grade over the logarithm of its rank plus 1,
    against the best order of all judged notes; ``mrr`` is 1 over the rank of the first relevant note. Other measures go
    by their names in ``ir_measures``, such as ``nDCG@20`` or ``AP``.

    >>> asked = Question(id="q1", text="which tea?", collection="", relevant={"n1": 1, "n2": 1})
    >>> found = {"q1": Ranking(("n3", "n1"), (0.9, 0.9), 1.5)}
    >>> {name: value.tolist() for name, value in compute_measures([asked], found, ["any@5", "recall@5", "mrr"]).items()}
    {'any@5': [1.0], 'recall@5': [0.5], 'mrr': [0.5]}
    """
    library = require_module("ir_measures", RecollectError)
    wanted = {name: _parsed(library, name) for name in measures}
    judged = {question.id: dict(question.relevant) for question in questions}
    # The library sorts by score, and equal scores by id: places from the end stand in for scores, so that our order
    # holds. It knows of no question without any note: such a one is worth nothing.
    run = {
        question.id: {note: float(-place) for place, note in enumerate(rankings[question.id].ids)}
        for question in questions
    }
    places = {question.id: place for place, question in enumerate(questions)}
    values = {measure: np.zeros(len(questions)) for measure in wanted.values()}
    try:
        for found in library.iter_calc(list(values), judged, run):
            values[found.measure][places[found.query_id]] = found.value
    except (ValueError, RuntimeError, ImportError) as error:  # each provider has its own way to say that it cannot
        raise RecollectError(f"{', '.join(measures)} cannot be computed: {error}") from error
    return {
        name: (values[measure] == 1).astype(np.float64) if name.startswith("all@") else values[measure].copy()
        for name, measure in wanted.items()
    }


def cutoff(measure: str) -> int:
    """Return how deep a measure looks; 0 if it looks at the whole ranking.

    >>> cutoff("nDCG@20"), cutoff("mrr")
    (20, 0)
    """
    found = re.search(r"@(\d+)$", measure)
    return int(found[1]) if found else 0


def _parsed(library: Any, name: str) -> Any:
    """Return the measure that a name means."""
    ours = _AT.fullmatch(name)
    try:
        return library.parse_measure("RR" if name == "mrr" else f"{_USUAL[ours[1]]}@{ours[2]}" if ours else name)
    except (NameError, ValueError, SyntaxError) as error:
        raise ArgumentError(
            "measure", f"must be one of {', '.join(MEASURES)} or a name that ir_measures knows, got {name!r} ({error})"
        ) from None
