"""Ranking measures such as nDCG and MRR, computed for each question by the library ``ir_measures``."""

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

MEASURES = ("any@1", "any@5", "any@10", "all@5", "recall@5", "recall@10", "ndcg@10", "mrr")
"""The measures that are computed by default."""

_LIBRARY_NAMES = {"any": "Success", "all": "R", "recall": "R", "ndcg": "nDCG"}
"""The ir_measures name of each of our measures. ``R`` is recall: ``all@k`` is 1 if ``R@k`` is 1, else 0."""
_MEASURE_WITH_CUTOFF = re.compile(r"(any|all|recall|ndcg)@([1-9]\d*)")
"""Matches one of our measures with its cutoff k, such as ``ndcg@10``."""


def compute_measures(
    questions: Sequence[Question], rankings: Mapping[str, Ranking], measures: Sequence[str] = MEASURES
) -> dict[str, NDArray[np.float64]]:
    """Return for each measure an array with one value for each question, in the order of ``questions``.

    ``any@k`` is 1 if at least one relevant note is in the top k, else 0; ``all@k`` is 1 if every relevant note is in
    the top k, else 0. ``recall@k`` is the fraction of relevant notes in the top k. ``ndcg@k`` is the sum of
    grade / log2(rank + 1) over the top k, divided by the same sum for the best possible ranking. ``mrr`` is 1 / rank of
    the first relevant note. Other measures are named as in ``ir_measures``, such as ``nDCG@20`` or ``AP``.

    >>> question = Question(id="q1", text="which tea?", collection="", relevant={"n1": 1, "n2": 1})
    >>> rankings = {"q1": Ranking(("n3", "n1"), (0.9, 0.9), 1.5)}
    >>> values = compute_measures([question], rankings, ["any@5", "recall@5", "mrr"])
    >>> {measure: value.tolist() for measure, value in values.items()}
    {'any@5': [1.0], 'recall@5': [0.5], 'mrr': [0.5]}
    """
    library = require_module("ir_measures", RecollectError)
    library_measures = {name: _parse_measure(library, name) for name in measures}
    qrels = {question.id: dict(question.relevant) for question in questions}
    # The library sorts by score, and equal scores by id; with negative ranks as scores it keeps our order.
    run = {
        question.id: {note_id: float(-rank) for rank, note_id in enumerate(rankings[question.id].ids)}
        for question in questions
    }
    indexes = {question.id: index for index, question in enumerate(questions)}
    # The library yields no value for a question without hits: the value of such a question stays 0.
    values = {measure: np.zeros(len(questions)) for measure in library_measures.values()}
    try:
        for result in library.iter_calc(list(values), qrels, run):
            values[result.measure][indexes[result.query_id]] = result.value
    except (ValueError, RuntimeError, ImportError) as error:  # the packages behind measures raise different errors
        raise RecollectError(f"{', '.join(measures)} cannot be computed: {error}") from error
    return {
        name: (values[measure] == 1).astype(np.float64) if name.startswith("all@") else values[measure].copy()
        for name, measure in library_measures.items()
    }


def cutoff(measure: str) -> int:
    """Return the cutoff k of a measure; 0 if it uses the whole ranking."""
    match = re.search(r"@(\d+)$", measure)
    return int(match[1]) if match else 0


def _parse_measure(library: Any, name: str) -> Any:
    match = _MEASURE_WITH_CUTOFF.fullmatch(name)
    library_name = f"{_LIBRARY_NAMES[match[1]]}@{match[2]}" if match else name
    try:
        return library.parse_measure("RR" if name == "mrr" else library_name)
    except (NameError, ValueError, SyntaxError) as error:
        raise ArgumentError(
            "measure", f"must be one of {', '.join(MEASURES)} or a name that ir_measures knows, got {name!r} ({error})"
        ) from None
