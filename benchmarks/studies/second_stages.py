"""Measure second stages, which reorder the best candidates of the default preset, against its own order.

    python -m benchmarks.studies.second_stages --datasets FOLDER [--embedder arctic-embed-s]
        [--reranker ms-marco-minilm-l12] [--questions 150]

The collections are those of ``studies.parts``. For each question the head, the first 20 candidates of the default
preset without a reranker, is collected once. Then each of these stages orders the same head:

- a cross-encoder, blended as in the default preset, alone, and with the rules of the default preset that skip it;
- late interaction (MaxSim) of the embedder's token vectors, blended with the default's score, and alone;
- a linear combination of features of the trace: logistic regression on pairs of candidates, fitted to relevance, to the
  scores of the cross-encoder (distillation), and to relevance with the score of a model as one more feature;
- pseudo-relevance feedback, which searches again: with a moved query vector (Rocchio), or with more terms (as in RM3).

Constants are never chosen on the collection that they are measured on, nor on another level of the same source: weights
of a blend and settings of feedback have the best mean over the other collections; the regression is fitted to the other
collections, and its penalty is chosen by leaving out each of these in turn (nested cross-validation).

Cross-encoder and late interaction read at most 2,000 characters of a note. They do not run on collections most of whose
notes are longer, because the default preset skips the reranker there. In the column ``all``, such a stage counts as the
default's order. Printed as Markdown: the differences to the default with paired 95 % intervals and the median time that
a stage adds to a query; the chosen settings; and the weights of the regression. The time of ``default`` is that of the
search. The time of a learned combination is that of computing its features, without reading vectors from the store.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.datasets import judged_datasets
from benchmarks.studies.heads import FEATURES, STORED, Head, collect_heads
from benchmarks.studies.pair_regression import fit_weights, pairs_of, standardised
from benchmarks.studies.tables import Values, difference_table, table
from benchmarks.studies.token_vectors import token_encoder
from recollect.embedders import embedder_from
from recollect.evaluation import CachingEmbedder, Dataset, Ranking, compute_measures
from recollect.evaluation.cache import default_cache_folder
from recollect.progress import shown_progress
from recollect.ranking import blend_reranked, merge_reranked
from recollect.rerankers import reranker_from
from recollect.retrieval import presets

__all__ = ["JudgedHeads", "fitted", "left_out", "reorderings", "report"]

Floats: TypeAlias = NDArray[np.float64]
Rankings: TypeAlias = list[Sequence[str]]
"""The ids of a ranking for each head of a collection."""

BLENDS = (0.1, 0.2, 0.3, 0.5, 0.7)
PENALTIES = (10.0, 1.0, 0.1, 0.01)
"""The penalties to choose from; the first of equal ones is chosen, so the largest, which changes the least."""
RELEVANT = 50.0
"""The target of a relevant candidate; with 0 for the others, the target probability of a pair is practically 1."""
ROWS = (
    "default",
    "cross-encoder, blended",
    "cross-encoder, skipped by the default's rules",
    "cross-encoder alone",
    "late interaction, blended",
    "late interaction alone",
    "learned from relevance",
    "learned from the cross-encoder",
    "learned from relevance, with late interaction",
    "learned from relevance, with cross-encoder",
    "vector feedback",
    "query expansion",
)


class JudgedHeads(NamedTuple):
    """The heads of one collection and the measure of the collection."""

    measure: str
    heads: Sequence[Head]

    def values(self, rankings: Rankings, measure: str = "") -> Values:
        """Return the value of the measure for each head."""
        name = measure or self.measure
        questions = [head.question for head in self.heads]
        by_id = {
            question.id: Ranking(tuple(ids), tuple(0.0 for _ in ids), 0.0)
            for question, ids in zip(questions, rankings, strict=True)
        }
        return compute_measures(questions, by_id, [name])[name]


Collections: TypeAlias = Mapping[str, JudgedHeads]


def order(head: Head, scores: Floats) -> list[str]:
    """Return the ids of the head by descending score; superseded notes come last, as after a reranker."""
    return [note.id for note in merge_reranked(head.candidates, list(enumerate(scores.tolist())), top_n=len(scores))]


def reorderings(head: Head) -> dict[tuple[str, str], Sequence[str]]:
    """Return the rankings of the stages that are not fitted, by the row of the table and the settings."""
    own_scores = standardised(head.features[:, 0])
    rankings: dict[tuple[str, str], Sequence[str]] = {("default", ""): [note.id for note in head.candidates]}
    if "cross-encoder" in head.scores:
        scores = head.scores["cross-encoder"]
        blend = presets()["default"].rerank.blend
        blended = blend_reranked(head.candidates, list(enumerate(scores.tolist())), weight=blend, top_n=len(scores))
        rankings["cross-encoder, blended", ""] = [note.id for note in blended]
        rankings["cross-encoder alone", ""] = order(head, scores)
    if "late interaction" in head.scores:
        scores = standardised(head.scores["late interaction"])
        rankings["late interaction alone", ""] = order(head, scores)
        for weight in BLENDS:
            mixed = (1 - weight) * own_scores + weight * scores
            rankings["late interaction, blended", f"weight {weight:g}"] = order(head, mixed)
    return {**rankings, **head.rankings}


def source(name: str) -> str:
    """Return the source of a collection; turns and sessions of the same conversations have the same source."""
    return name.split(maxsplit=1)[0]


def others(name: str, names: Sequence[str]) -> list[str]:
    """Return the names of the collections of other sources."""
    return [other for other in names if source(other) != source(name)]


def left_out(values: Mapping[str, Mapping[str, Values]]) -> dict[str, str]:
    """Return for each collection the settings with the best mean over the collections of other sources.

    ``values`` are by collection and settings. A collection without others has the first settings.
    """
    chosen = {}
    for name, by_settings in values.items():
        rest = others(name, list(values))
        means = {
            settings: float(np.mean([values[other][settings].mean() for other in rest])) if rest else 0.0
            for settings in by_settings
        }
        chosen[name] = max(means, key=means.__getitem__)
    return chosen


Example: TypeAlias = Callable[[Head], "tuple[Floats, Floats | None]"]
"""Returns the standardised features of a head and its targets, or ``None`` if it has none."""


def relevance_example(head: Head) -> tuple[Floats, Floats | None]:
    """Return the features of a head, and as targets whether a candidate is relevant."""
    return standardised(head.features), np.where(head.relevant, RELEVANT, 0.0)


def distillation_example(head: Head) -> tuple[Floats, Floats | None]:
    """Return the features of a head, and as targets the default's score blended with the cross-encoder's logit."""
    rows = standardised(head.features)
    scores = head.scores.get("cross-encoder")
    if scores is None:
        return rows, None
    bounded = np.clip(scores, 1e-6, 1 - 1e-6)
    logits = standardised(np.log(bounded / (1 - bounded)))
    blend = presets()["default"].rerank.blend
    return rows, (1 - blend) * rows[:, 0] + blend * logits


def model_example(model: str, head: Head) -> tuple[Floats, Floats | None]:
    """Return the features with the score of a model, which is 0 where it did not run; and the relevance."""
    scores = head.scores.get(model, np.full(len(head.candidates), np.nan))
    return standardised(np.column_stack([head.features, scores])), np.where(head.relevant, RELEVANT, 0.0)


class Regression(NamedTuple):
    """What a learned stage is fitted to, and the indexes of the features without a penalty."""

    example: Example
    free: Sequence[int] = (0,)


LEARNED: dict[str, Regression] = {
    "learned from relevance": Regression(relevance_example),
    "learned from the cross-encoder": Regression(distillation_example),
    "learned from relevance, with late interaction": Regression(partial(model_example, "late interaction"), (0, -1)),
    "learned from relevance, with cross-encoder": Regression(partial(model_example, "cross-encoder"), (0, -1)),
}


def fitted(collections: Collections, regression: Regression) -> Iterator[tuple[str, float, Floats, Rankings]]:
    """Yield for each collection its name, the penalty, the weights and the rankings, all fitted on other sources."""
    examples = {
        name: [(head, *regression.example(head)) for head in judged.heads] for name, judged in collections.items()
    }
    pairs = {
        name: pairs_of([(rows, targets) for _, rows, targets in heads if targets is not None])
        for name, heads in examples.items()
    }
    names = [name for name in collections if len(pairs[name].weights)]

    def rankings(name: str, weights: Floats) -> Rankings:
        return [order(head, rows @ weights) for head, rows, _ in examples[name]]

    def inner_mean(rest: Sequence[str], penalty: float) -> float:
        """Return the mean over ``rest``, each measured with weights that are fitted to the other sources of it."""
        means = []
        for inner in rest:
            if training := others(inner, rest):
                weights = fit_weights([pairs[other] for other in training], penalty, regression.free)
                means.append(float(collections[inner].values(rankings(inner, weights)).mean()))
        return float(np.mean(means)) if means else 0.0

    for name in collections:
        if rest := others(name, names):
            penalty = max(PENALTIES, key=lambda penalty: inner_mean(rest, penalty))
            weights = fit_weights([pairs[other] for other in rest], penalty, regression.free)
            yield name, penalty, weights, rankings(name, weights)


def report(collections: Collections) -> str:
    """Return the tables of the study as Markdown."""
    chosen: dict[str, dict[str, Rankings]] = {name: {} for name in collections}
    settings: dict[str, dict[str, str]] = {}
    candidates = {name: [reorderings(head) for head in judged.heads] for name, judged in collections.items()}
    for row in ROWS:
        rankings = {
            name: {key[1]: [by_key[key] for by_key in heads] for key in heads[0] if key[0] == row}
            for name, heads in candidates.items()
        }
        rankings = {name: by_settings for name, by_settings in rankings.items() if by_settings}
        values = {
            name: {key: collections[name].values(ids) for key, ids in by_settings.items()}
            for name, by_settings in rankings.items()
        }
        for name, key in left_out(values).items():
            chosen[name][row] = rankings[name][key]
            if key:
                settings.setdefault(row, {})[name] = key
    weights: dict[str, dict[str, Floats]] = {}
    for row, regression in LEARNED.items():
        for name, penalty, row_weights, ids in fitted(collections, regression):
            chosen[name][row] = ids
            settings.setdefault(row, {})[name] = f"penalty {penalty:g}"
            weights.setdefault(row, {})[name] = row_weights
    rows = [row for row in ROWS if any(row in by_row for by_row in chosen.values())]
    return "\n\n".join(
        (
            _differences(collections, chosen, rows, ""),
            _differences(collections, chosen, rows, "any@1"),
            table(
                ["chosen on other sources", *collections],
                [[row, *(by_name.get(name, "–") for name in collections)] for row, by_name in settings.items()],
            ),
            _weights_table(weights),
        )
    )


def _differences(
    collections: Collections, chosen: Mapping[str, Mapping[str, Rankings]], rows: Sequence[str], measure: str
) -> str:
    """Return the table of differences by the measure of each collection, or by ``measure``."""
    columns: dict[str, dict[str, Values]] = {}
    for name, judged in collections.items():
        heading = f"{name}, {measure or judged.measure} ({len(judged.heads):,})"
        columns[heading] = {row: judged.values(ids, measure) for row, ids in chosen[name].items()}
    parts = list(columns.values())
    columns["all"] = {row: np.concatenate([part.get(row, part["default"]) for part in parts]) for row in rows}
    times = {row: _median_time(row, collections) for row in rows}
    return difference_table("second stage", columns, "default", rows, texts={"median ms": times})


def _median_time(row: str, collections: Collections) -> str:
    """Return the median time of a stage for one query, in milliseconds."""
    key = row
    for model in ("late interaction", "cross-encoder"):
        if row in (f"{model}, blended", f"{model} alone", f"learned from relevance, with {model}"):
            key = model
    if key in LEARNED:
        key = "features"
    text = _median(key, collections)
    return f"{text} ({_median(STORED, collections)} with {STORED})" if key == "late interaction" else text


def _median(key: str, collections: Collections) -> str:
    times = [
        head.milliseconds[key] for judged in collections.values() for head in judged.heads if key in head.milliseconds
    ]
    return f"{median(times):.1f}" if times else "–"


def _weights_table(weights: Mapping[str, Mapping[str, Floats]]) -> str:
    """Return a table of the weights: the mean over the collections that are left out, and the lowest and highest."""
    names = (*FEATURES, "score of the model")
    body = []
    for index, feature in enumerate(names):
        cells = []
        for by_name in weights.values():
            values = [row[index] for row in by_name.values() if index < len(row)]
            cells.append(f"{np.mean(values):+.2f} ({min(values):+.2f} to {max(values):+.2f})" if values else "–")
        body.append([feature, *cells])
    return table(["feature", *weights], body)


def has_long_notes(dataset: Dataset) -> bool:
    """Return whether most notes are longer than what the reranker of the default preset reads."""
    lengths = [len(note.content) for collection in dataset.collections.values() for note in collection.notes]
    return median(lengths) > presets()["default"].rerank.characters


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect the heads and print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/bench studies.second_stages", description=__doc__)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--embedder", default="arctic-embed-s")
    parser.add_argument("--reranker", default="ms-marco-minilm-l12", help="none leaves out the cross-encoder")
    parser.add_argument("--questions", type=int, default=150, help="maximum for each collection, evenly spaced")
    options = parser.parse_args(arguments)
    model = embedder_from(options.embedder)
    if model is None:
        parser.error("--embedder must not be none")
    embedder = CachingEmbedder(model, default_cache_folder())
    reranker = reranker_from(options.reranker)
    tokens = token_encoder(model, options.embedder)
    collections = {}
    for name, measure, dataset in judged_datasets(options.datasets, options.questions):
        is_long = has_long_notes(dataset)
        models = (None, None) if is_long else (reranker, tokens)
        with shown_progress(name) as progress:
            collections[name] = JudgedHeads(measure, collect_heads(dataset, embedder, *models, progress=progress))
    print(report(collections))
    return 0


if __name__ == "__main__":
    sys.exit(main())
