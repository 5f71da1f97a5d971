"""The conformance script accepts correct results and rejects wrong ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripts import conformance

CORRECT_CASES: dict[str, dict[str, Any]] = {
    "normalise": {"input": " a  b ", "expected": "a b"},
    "parse_query": {
        "input": "tea*",
        "expected": {"raw": "tea*", "tokens": [{"kind": "prefix", "text": "tea"}], "hasOperators": False},
    },
    "compile_fts5": {"input": "tea NOT cup", "expected": "tea AND NOT cup"},
    "expand_aliases": {"input": "tea", "aliases": {"tea": ["chai"]}, "expected": {"fts": "chai"}},
    "sanitise_query": {"input": "a,b", "expected": "a b"},
    "strongest_term": {"input": "the", "expected": None},
    "query_tokens": {"input": "the tea", "expected": ["tea"]},
    "slug_text_for": {"input": "a/b-c.md", "expected": "b c"},
    "compute_trigrams": {"input": "ab", "expected": ["$ab", "ab$"]},
    "jaccard": {"a": "ab", "b": "ab cd", "expected": 0.5},
    "trigram_search": {
        "chunks": [{"id": "n", "path": "tea.md"}],
        "tokens": ["tea"],
        "limit": 3,
        "expected": [{"id": "n", "path": "tea.md", "similarity": 1}],
    },
    "expand_temporal": {
        "question": "1 day ago",
        "questionDate": "2026-04-18",
        "expected": {"dateHints": ["2026/04/17"]},
    },
    "augment_with_temporal": {"question": "tea", "expected": "tea"},
    "parse_question_date": {"input": "2026-04-18T10:00:00.123Z", "expected": "2026-04-18T10:00:00.123Z"},
    "date_search_tokens": {"input": "never", "expected": []},
    "rrf": {
        "lists": [[{"id": "n", "path": "p", "bm25Rank": 4}], [{"id": "n", "path": "p", "vectorSimilarity": 0.5}]],
        "k": 60,
        "expected": [{"id": "n", "score": 2 / 61, "bm25Rank": 4, "vectorSimilarity": 0.5}],
    },
    "unanimity": {
        "bm25": ["a", "b", "c"],
        "vector": ["a", "b", "d"],
        "agreeMin": 2,
        "expected": {"ids": ["a", "b", "c"], "agreements": 2},
    },
    "detect_intent": {"input": "tips", "expected": {"preferenceQuery": True, "concreteFactQuery": False}},
    "intent_multiplier": {
        "note": {"id": "n", "path": "x.md", "content": "tips"},
        "preference": 0.82,
        "concreteFact": 0.75,
        "both": 0.615,
    },
    "reweight": {
        "query": "tips",
        "results": [{"id": "n", "path": "x.md", "content": "tips", "score": 1}],
        "expected": [{"id": "n", "path": "x.md", "score": 0.82}],
    },
    "pipeline": {
        "docs": {"n": {"id": "n", "path": "n.md", "content": "tea"}},
        "setup": {
            "request": {"query": "tea", "topK": 1, "rerankTopN": 3},
            "bm25": {"tea": ["n"]},
            "embedder": "ok",
            "vector": ["n"],
            "reranker": "identity",
        },
        "expected": {
            "results": [{"id": "n", "score": 2 / 61, "rerankScore": 10}],
            "trace": {"mode": "hybrid", "compiledQuery": "tea", "vectorCount": 1, "rerankProvider": "stub-rerank"},
        },
    },
    "rerank_text": {"input": {"title": "T", "summary": "", "content": "C"}, "expected": "T"},
}


def write(folder: Path, name: str, *cases: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"function": name, "about": "", "cases": cases}), encoding="utf-8")


def last_line(output: str) -> str:
    return output.rstrip().splitlines()[-1]


def test_runners_pass_right_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(CORRECT_CASES) == set(conformance.RUNNERS)
    for name, case in CORRECT_CASES.items():
        write(tmp_path, name, case)
    assert conformance.main(tmp_path) == 0
    assert last_line(capsys.readouterr().out) == f"{len(CORRECT_CASES)} passed, 0 failed"


@pytest.mark.parametrize("name", CORRECT_CASES)
def test_runners_fail_wrong_results(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"preference": 3} if name == "intent_multiplier" else {"expected": {"no": "such thing"}}
    write(tmp_path, name, CORRECT_CASES[name], {**CORRECT_CASES[name], **wrong})
    assert conformance.main(tmp_path) == 1
    assert last_line(capsys.readouterr().out) == "1 passed, 1 failed"


def test_unreadable_vectors_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "normalise", {"expected": ""}, CORRECT_CASES["normalise"])
    write(tmp_path, "no_such_function", {"input": "", "expected": ""})
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "shapeless.json").write_text("[]", encoding="utf-8")
    assert conformance.main(tmp_path) == 1
    assert last_line(capsys.readouterr().out) == "1 passed, 4 failed"


def test_folder_without_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(tmp_path) == 2
    assert "no vector files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        (1, 1.0 + 1e-10, True),
        (1, 1.0 + 1e-8, False),
        (True, 1, False),
        (None, None, True),
        (None, "", False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ([1, 2], [1], False),
        (0, None, False),
        ("", [], False),
    ],
)
def test_agrees(expected: object, actual: object, equal: bool) -> None:
    assert conformance.agrees(expected, actual) is equal
