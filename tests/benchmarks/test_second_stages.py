"""Second stages: the formulas by hand, and the study end to end on small samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from pathlib import Path
from shutil import copy, copytree
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.studies import datasets as judged
from benchmarks.studies import second_stages
from benchmarks.studies.heads import CachedReranker, Head, expansion_terms, rocchio
from benchmarks.studies.pair_regression import Pairs, fit_weights, pairs_of, standardised
from benchmarks.studies.second_stages import JudgedHeads, fitted, left_out, reorderings
from benchmarks.studies.token_vectors import maxsim, token_encoder

from recollect.embedders import StaticEmbedder, embedder_from
from recollect.embedders.onnx import OnnxEmbedder
from recollect.evaluation import Question
from recollect.model import Candidate
from recollect.rerankers import FunctionReranker
from tests.embedders.tiny import write_json, write_model

REGRESSION = second_stages.LEARNED["learned from relevance"]
SAMPLES = Path(__file__).parents[1] / "evaluation" / "samples"


def head_of(scores: Sequence[float], relevant: str, **model_scores: Sequence[float]) -> Head:
    """Return a head of the notes a, b, c … with a feature for the score and one that is 1 for the relevant note."""
    candidates = [Candidate(name, score=score, ceiling=1.0) for name, score in zip("abcdef", scores, strict=False)]
    features = np.array([[note.score, float(note.id == relevant)] for note in candidates])
    question = Question(id=f"{relevant}{scores}", text="tea", collection="", relevant={relevant: 1})
    scores_by_model = {name.replace("_", " "): np.array(values) for name, values in model_scores.items()}
    return Head(question, candidates, features, scores_by_model)


def test_maxsim_is_the_mean_of_the_best_similarities() -> None:
    query = np.array([[1, 0], [0, 1]], dtype=np.float32)
    text = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    assert maxsim(query, text) == pytest.approx((1 + 0.6) / 2)
    assert maxsim(query[:0], text) == maxsim(query, text[:0]) == 0.0


def test_token_encoder_skips_special_tokens_and_prefix(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query ", "passage": "passage "}})
    encoder = token_encoder(OnnxEmbedder(folder), str(folder))
    assert encoder
    assert encoder.query_vectors("tea green").tolist() == [[0, 1, 0], [1, 0, 0]]  # of length 3 before
    assert encoder.text_vectors("green jar").tolist() == [[1, 0, 0], [0, 0, 0]]  # jar is unknown
    assert encoder.text_vectors("").shape == (0, 3)


def test_token_encoder_of_the_catalogue() -> None:
    encoder = token_encoder(embedder_from("arctic-embed-s"), "arctic-embed-s")
    assert encoder
    vectors = encoder.query_vectors("green tea")
    assert vectors.shape == (2, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    tea = encoder.text_vectors("Prefers green tea.")
    assert maxsim(vectors, tea) > maxsim(vectors, encoder.text_vectors("The bike is at the station."))


def test_token_encoder_needs_onnx() -> None:
    assert token_encoder(StaticEmbedder(), "static") is None
    assert token_encoder(None, "none") is None


def test_rocchio_moves_the_query_towards_the_hits() -> None:
    query, hits = np.array([1, 0], dtype=np.float32), np.array([[0, 1], [0, 0]], dtype=np.float32)
    assert rocchio(query, hits, 0.0).tolist() == [1, 0]
    assert rocchio(query, hits, 2.0) == pytest.approx([1 / sqrt(2), 1 / sqrt(2)])  # 2 · mean = (0, 1)


def test_expansion_terms_by_weight() -> None:
    hits = [Candidate("a", content="Sencha tea, sencha.", score=1.0), Candidate("b", content="green jar", score=0.5)]
    idf = {"sencha": log(2), "tea": log(4), "green": log(4), "jar": log(16)}
    # sencha: 2/3 · ln 2 = 0.46; jar: 0.5 · 1/2 · ln 16 = 0.69; green: 0.5 · 1/2 · ln 4 = 0.35
    assert expansion_terms("Which tea?", hits, idf, 2) == ["jar", "sencha"]
    assert expansion_terms("Which tea?", hits, idf, 5) == ["jar", "sencha", "green"]


def test_cached_reranker_computes_each_pair_once() -> None:
    read: list[str] = []

    def lengths(_: str, documents: list[str]) -> list[float]:
        read.extend(documents)
        return [len(document) for document in documents]

    reranker = CachedReranker(FunctionReranker(lengths, name="lengths"))
    assert reranker.name == "lengths"
    assert reranker.rerank("tea", ["aa", "b", "aa"]) == [(0, 2.0), (1, 1.0), (2, 2.0)]
    assert reranker.rerank("tea", ["b", "ccc"]) == [(0, 1.0), (1, 3.0)]
    assert reranker.rerank("tea", ["b"]) == [(0, 1.0)]
    assert sorted(read) == ["aa", "b", "ccc"]


def test_standardised_columns() -> None:
    columns = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, 0.0], [5.0, 2.0, 2.0]])
    first = 2 / sqrt(8 / 3)
    assert standardised(columns).tolist() == [[-first, 0, 0], [0, 0, -1], [first, 0, 1]]


def test_pairs_have_different_targets() -> None:
    rows = np.array([[3.0], [2.0], [0.0]])
    pairs = pairs_of([(rows, np.array([log(3), 0.0, 0.0])), (rows, np.zeros(3)), (rows[:2], np.array([0.0, log(4)]))])
    assert pairs.differences.tolist() == [[1], [3], [1]]
    assert pairs.probabilities == pytest.approx([0.75, 0.75, 0.2])
    # The ranks 1, 2 and 3 have the discounts 1, 0.6309 and 0.5; the second head has no pair.
    assert pairs.weights == pytest.approx([0.3691 / 0.8691 / 2, 0.5 / 0.8691 / 2, 0.5], abs=1e-4)
    assert not len(pairs_of([]).weights)


def test_fit_weights_of_one_feature() -> None:
    pairs = Pairs(np.array([[1.0], [1.0]]), np.array([1.0, 0.0]), np.array([0.8, 0.2]))
    assert fit_weights([pairs], penalty=1e-9) == pytest.approx([log(4)])  # the logit of 0.8


def test_fit_weights_penalises_all_features_but_the_free() -> None:
    differences = np.array([[1.0, 0.0], [0.0, 1.0]])
    pairs = Pairs(differences, np.array([0.8, 0.8]), np.array([0.5, 0.5]))
    first, second = fit_weights([pairs, pairs], penalty=1.0)
    assert 0.8 - 1 / (1 + np.exp(-first)) == pytest.approx(0.001 * first)  # gradient 0, each part has the weight 1
    assert 0.8 - 1 / (1 + np.exp(-second)) == pytest.approx(1.0 * second)
    assert fit_weights([pairs, pairs], penalty=1.0, free=(0, -1)) == pytest.approx([first, first])


def test_left_out_ignores_the_same_source() -> None:
    values = {
        "LoCoMo turns": {"x": np.array([1.0]), "y": np.array([0.0])},
        "LoCoMo sessions": {"x": np.array([1.0]), "y": np.array([0.0])},
        "SciFact": {"x": np.array([0.0]), "y": np.array([0.5])},
    }
    assert left_out(values) == {"LoCoMo turns": "y", "LoCoMo sessions": "y", "SciFact": "x"}
    assert left_out({"SciFact": values["SciFact"]}) == {"SciFact": "x"}


def test_reorderings_of_a_head() -> None:
    head = head_of([0.8, 0.6, 0.4], "b", cross_encoder=[0.1, 0.9, 0.5], late_interaction=[0.1, 0.2, 0.3])
    head.scores["cross-encoder"] = head.scores.pop("cross encoder")
    head.rankings["vector feedback", "2 hits"] = ["c"]
    rankings = reorderings(head)
    assert rankings["default", ""] == ["a", "b", "c"]
    # 0.3 · score + 0.7 · 0.8 · reranker: a 0.296, b 0.684, c 0.4
    assert rankings["cross-encoder, blended", ""] == rankings["cross-encoder alone", ""] == ["b", "c", "a"]
    assert rankings["late interaction, blended", "weight 0.3"] == ["a", "b", "c"]  # 0.7 · 1.22 − 0.3 · 1.22 is best
    assert rankings["late interaction, blended", "weight 0.7"] == ["c", "b", "a"]
    assert rankings["vector feedback", "2 hits"] == ["c"]


def test_fitted_learns_from_other_sources() -> None:
    judged_heads = JudgedHeads("mrr", [head_of([0.9, 0.5, 0.1], relevant) for relevant in "abc"])
    results = list(fitted(dict.fromkeys("ABC", judged_heads), REGRESSION))
    assert [name for name, *_ in results] == ["A", "B", "C"]
    for _, penalty, weights, rankings in results:
        assert penalty in second_stages.PENALTIES
        assert weights[1] > abs(weights[0])  # only the second feature says which note is relevant
        assert [ids[0] for ids in rankings] == ["a", "b", "c"]
    assert not list(fitted({"LoCoMo turns": judged_heads, "LoCoMo sessions": judged_heads}, REGRESSION))


def test_distillation_targets() -> None:
    head = head_of([0.8, 0.6], "b")
    assert second_stages.distillation_example(head)[1] is None
    head.scores["cross-encoder"] = np.array([0.5, 1.0])
    rows, targets = second_stages.distillation_example(head)
    assert rows[:, 0] == pytest.approx([1, -1])
    assert targets == pytest.approx([0.3 * 1 - 0.7 * 1, -0.3 * 1 + 0.7 * 1])


def test_second_stages_of_small_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(SAMPLES / "talks.json", tmp_path / "locomo.json")
    for name in ("scifact", "musique"):
        copytree(SAMPLES / "kitchen", tmp_path / name)
    embedder = write_model(tmp_path / "tiny")
    reranker = FunctionReranker(lambda _, documents: [len(document) / 1e4 for document in documents], name="length")
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(judged, "OWN_DATASETS", {})
    monkeypatch.setattr(second_stages, "reranker_from", lambda _: reranker)
    monkeypatch.setattr(second_stages, "has_long_notes", lambda dataset: dataset.name == "musique")
    assert second_stages.main(["--datasets", str(tmp_path), "--embedder", str(embedder), "--questions", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
    assert set(second_stages.ROWS) <= rows.keys()
    assert lines[0].startswith("| second stage | LoCoMo turns, mrr (4) | LoCoMo sessions, mrr (4) | SciFact, ndcg@10 (")
    assert " | – | " in rows["cross-encoder alone"]
    assert rows["similarity to the head"].count(" to ") == 5  # its own name, and the ranges of four regressions


def test_second_stages_need_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        second_stages.main(["--datasets", str(tmp_path), "--embedder", "none"])


def test_long_notes() -> None:
    def dataset(length: int) -> Any:
        notes = [SimpleNamespace(content="x" * length)] * 3
        return SimpleNamespace(collections={"a": SimpleNamespace(notes=notes)})

    assert not second_stages.has_long_notes(dataset(1200))
    assert second_stages.has_long_notes(dataset(1201))
