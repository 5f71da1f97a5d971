from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.evaluation import MEASURES, System, read_qrels
from tests.cli.conftest import Run, error_of
from tests.evaluation.samples import HAYSTACKS, KITCHEN, TALKS, TALKS_CORRECTIONS
from tests.rerankers.tiny import write_model

KEYS = {"dataset", "preset", "mode", "embedder", "queries", "metrics", "strata", "latency_ms"}


def test_eval_tables(run: Run) -> None:
    result = run("eval", str(KITCHEN), "--preset", "default", "--preset", "memini", "--cache", "cache")
    assert result.exit_code == 0
    assert result.stderr == "kitchen: 1 question left out: no note is relevant\n"
    heading, _, measures, default, memini, _, against, *rest = result.stdout.splitlines()
    assert heading == "kitchen  6 questions · 12 notes · no embedder"
    assert measures.split() == [*MEASURES, "p50", "ms", "p95", "ms"]
    assert default.split()[0] == "default"
    assert len(default.split()) == len(memini.split()) == 11
    assert against.split() == ["against", "default", "difference", "95", "%", "interval", "p"]
    assert rest[0].split()[:2] == ["memini", "any@1"]
    assert sum("inconclusive" in line for line in rest) == 8
    strata = rest[8:]
    assert strata[0] == ""
    assert strata[1].split() == ["questions", *MEASURES]
    assert [line.split()[:3] for line in strata[2:8:2]] == [
        ["exact", "3", "default"],
        ["multi-hop", "1", "default"],
        ["paraphrase", "2", "default"],
    ]
    empty, heads, default, memini = strata[8:]
    assert empty == ""
    expected = "trust threshold right first right first, but below threshold unanswerable recognised ECE 95 % interval"
    assert heads.split() == expected.split()
    assert [default.split()[0], memini.split()[0]] == ["default", "memini"]
    assert default.split()[4] == "–"  # every query has an answer


def test_eval_answer_threshold(run: Run) -> None:
    options = ("eval", str(HAYSTACKS), "--pool", "--cache", "cache", "-q", "--json", "-")
    default = json.loads(run(*options).stdout)[0]["trust"]
    strict = json.loads(run(*options, "--answer-threshold", "1").stdout)[0]["trust"]
    assert (default["threshold"], strict["threshold"]) == (System("default").loaded_preset.answer_threshold, 1.0)
    assert (strict["right_first"], strict["unanswerable_queries"]) == (1.0, 2)
    assert strict["unanswerable_recognised"] == 1.0
    assert sum(bin_["count"] for bin_ in strict["reliability"]) == 4


def test_eval_one_system_has_no_differences(run: Run) -> None:
    result = run("eval", str(HAYSTACKS), "--cache", "cache", "-q")
    assert result.stderr == ""
    assert result.stdout.startswith(
        "haystacks  2 questions · 2 without an answer · 12 notes in 4 collections · no embedder\n"
    )
    assert "against" not in result.stdout


def test_eval_with_reranker(run: Run, tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    options = ("eval", str(KITCHEN), "--preset", "jeffs-brain", "--cache", "cache", "-q", "--json", "-")
    metrics = json.loads(run(*options).stdout)[0]["metrics"]
    reranked = json.loads(run(*options, "--reranker", str(tmp_path / "tiny")).stdout)[0]["metrics"]
    assert reranked.keys() == metrics.keys()
    assert reranked != metrics
    assert "no folder" in error_of(run(*options, "--reranker", "./missing"), 1)


def test_eval_pools_longmemeval(run: Run) -> None:
    result = run("eval", str(HAYSTACKS), "--pool", "--level", "turn", "--cache", "cache", "-q", "--json", "-")
    (outcome,) = json.loads(result.stdout)
    assert (outcome["dataset"], outcome["queries"], outcome["unanswerable_queries"]) == (
        "haystacks, pooled, turns",
        2,
        2,
    )


def test_eval_json(run: Run) -> None:
    options = ("eval", str(TALKS), "--format", "locomo", "--mode", "auto", "--mode", "bm25", "--cache", "cache")
    assert run(*options, "--json", "out.json").stdout.startswith("talks  7 questions")
    outcomes: list[dict[str, Any]] = json.loads(Path("out.json").read_text())
    assert [(outcome["preset"], outcome["mode"]) for outcome in outcomes] == [("default", "auto"), ("default", "bm25")]
    for outcome in outcomes:
        assert set(outcome) >= KEYS
        assert list(outcome["metrics"]) == list(MEASURES)
        assert outcome["queries"] == 7
        assert set(outcome["latency_ms"]) == {"p50", "p95"}
        assert outcome["strata"]["5 adversarial"].keys() == outcome["metrics"].keys()
    assert len(json.loads(run(*options, "--json").stdout)) == len(outcomes)
    for printed, written in zip(json.loads(run(*options, "--json", "-").stdout), outcomes, strict=True):
        assert printed | {"latency_ms": {}} == written | {"latency_ms": {}}


def test_eval_level_limit_and_measures(run: Run) -> None:
    options = ("--level", "session", "--limit", "3", "--measure", "nDCG@20", "--measure", "mrr", "--cache", "cache")
    result = run("eval", str(TALKS), *options, "--json", "-")
    (outcome,) = json.loads(result.stdout)
    assert (outcome["dataset"], outcome["queries"]) == ("talks, sessions", 3)
    assert list(outcome["metrics"]) == [*MEASURES, "nDCG@20"]
    assert "talks, sessions: a sample of 3 of 7 questions" in result.stderr


def test_eval_corrections(run: Run) -> None:
    options = ("--corrections", str(TALKS_CORRECTIONS), "--cache", "cache")
    result = run("eval", str(TALKS), *options, "--json", "-")
    (outcome,) = json.loads(result.stdout)
    assert (outcome["dataset"], outcome["queries"]) == ("talks, corrected", 7)
    assert "talks, corrected: 2 questions with corrected evidence" in result.stderr
    assert "corrections: is for locomo; leave it out for beir" in error_of(run("eval", str(KITCHEN), *options), 2)


def test_eval_omits_measures_that_are_no_fractions_from_differences(run: Run) -> None:
    options = ("--preset", "default", "--preset", "memini", "--measure", "NumRet", "--cache", "cache")
    result = run("eval", str(KITCHEN), *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("NumRet") == 2  # in the figures and in the strata


def test_eval_writes_trec_files(run: Run) -> None:
    assert run("eval", str(KITCHEN), "--mode", "bm25", "--run-dir", "runs", "--cache", "cache").exit_code == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["kitchen.default-bm25.run", "kitchen.qrels"]
    assert read_qrels(Path("runs/kitchen.qrels"))["q3"] == {"k2": 2, "k1": 1}
    assert Path("runs/kitchen.default-bm25.run").read_text().startswith("q1 Q0 k5 1 ")


@pytest.mark.usefixtures("sample_path")
def test_eval_questions_for_the_memory(run: Run) -> None:
    Path("mine/qrels").mkdir(parents=True)
    Path("mine/queries.jsonl").write_text('{"_id": "q1", "text": "green tea", "metadata": {"synthetic": true}}\n')
    Path("mine/qrels/test.tsv").write_text("q1\tmemory/tea.md\t1\n")
    result = run("eval", "mine", "--cache", "cache")
    assert result.stdout.splitlines()[0] == (
        "mine  1 question · no embedder · synthetic: generated by rules, not representative of other questions"
    )
    assert result.stdout.splitlines()[3].split()[1] == "1.000"
    assert "no folder" in error_of(run("eval", "mine", "--reranker", "./missing"), 1)
    message = error_of(run("eval", "mine", "--db", "nowhere.db"), 2)
    assert message.startswith("there is no memory at nowhere.db; recollect add creates one")
    with recollect.open("recollect.db", embedder=None) as memory:
        assert memory.get("n1") is not None


@pytest.mark.usefixtures("sample_path")
def test_eval_prints_warnings_once(run: Run) -> None:
    Path("mine/qrels").mkdir(parents=True)
    Path("mine/queries.jsonl").write_text('{"_id": "q1", "text": "tea"}\n{"_id": "q2", "text": "milk"}\n')
    Path("mine/qrels/test.tsv").write_text("q1\tmemory/tea.md\t1\nq1\tgone.md\t1\nq2\tgone.md\t1\n")
    result = run("eval", "mine", "--cache", "cache")
    assert result.stderr == "warning: judgements name notes that this memory lacks\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 2, "Invalid value for 'DATASET': Path 'nowhere' does not exist"),
        ([str(KITCHEN), "--split", "train"], 2, "split: must be one of dev, test, got 'train'"),
        ([str(KITCHEN), "--preset", "best"], 2, "preset: must be one of default, "),
        ([str(KITCHEN), "--preset", "memini", "--preset", "memini"], 2, "systems: 2 systems are called 'memini'"),
        ([str(KITCHEN), "--level", "turn"], 2, "level: is for locomo and longmemeval; leave it out for beir"),
        ([str(TALKS), "--split", "dev"], 2, "split: is for beir; leave it out for locomo"),
        ([str(KITCHEN), "--mode", "semantic"], 2, "embedder: must not be none for default semantic"),
        ([str(KITCHEN), "--measure", "best"], 2, "measure: must be one of any@1, "),
        ([str(KITCHEN), "--json", "no/such/folder.json"], 1, "no/such/folder.json: No such file or directory"),
        ([str(KITCHEN), "--embedder", "word2vec"], 2, "embedder: must be "),
    ],
)
def test_eval_errors(run: Run, arguments: list[str], code: int, message: str) -> None:
    assert message in error_of(run("eval", *arguments, "--cache", "cache", "-q"), code)
