from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory, SearchResult
from recollect.cli.tables import score_bar
from recollect.embedders import choose_embedder
from tests.cli.conftest import NOTES, Run, error_of
from tests.requirements import skip_or_fail

PLAIN = ("--preset", "trovella")
"""Lexical and vector search only: no graph, no stages."""


WEAK = ("bicycle", "lantern", "harbour", "violin")
"""Terms of which only the first is in the memory."""


@pytest.mark.usefixtures("sample_path")
def test_search_without_answer(run: Run) -> None:
    result = run("search", *WEAK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(
        r"no answer to 'bicycle lantern harbour violin' in this memory: the best confidence is 0\.\d+, below the "
        r"answer threshold of 0\.25; --show-weak shows the weak candidates\n",
        result.stderr,
    )
    assert run("search", "-q", *WEAK).output == ""
    assert run("search", "--answer-threshold", "0", *WEAK).exit_code == 0


@pytest.mark.usefixtures("sample_path")
def test_search_show_weak(run: Run) -> None:
    result = run("search", "--show-weak", *WEAK)
    assert result.exit_code == 1
    assert result.stdout.startswith(" 1  n3\n    weak 0.")
    assert result.stderr.endswith("; the hits above are weak candidates\n")
    assert "weak" not in run("search", "--show-weak", "tea").output
    as_json = run("search", "--json", *WEAK)
    data = json.loads(as_json.stdout)
    assert (as_json.exit_code, data["has_answer"], [hit["id"] for hit in data["hits"]]) == (1, False, ["n3"])


@pytest.mark.usefixtures("sample_path")
def test_explain_and_compare_without_answer(run: Run) -> None:
    explained = run("explain", *WEAK)
    assert (explained.exit_code, explained.stderr) == (1, "")
    assert "\nno answer    the best confidence is 0." in explained.stdout
    compared = run("compare", "--preset", "default", "--preset", "memini", *WEAK)
    assert compared.exit_code == 0
    lines = [line for line in compared.stdout.splitlines() if "no answer" in line]
    assert [line.split()[0] for line in lines] == ["default"]
    assert "no answer: the best confidence is 0." in lines[0]


def ids(run: Run, *arguments: str) -> list[str]:
    result = run("search", "--json", *arguments)
    hit_ids = [hit["id"] for hit in json.loads(result.stdout)["hits"]]
    assert result.exit_code == (0 if hit_ids else 1)
    return hit_ids


@pytest.mark.usefixtures("sample_path")
def test_search_prints_hits(run: Run) -> None:
    result = run("search", "green", "tea", "-k", "1", *PLAIN)
    assert (result.exit_code, result.stderr) == (0, "")
    title, facts, snippet, blank, summary = result.stdout.splitlines()
    assert title == " 1  Tea"
    confidence, bar, details = re.findall(r"    (0\.\d\d) (.{8})  (.*)", facts)[0]
    with recollect.open("recollect.db", embedder=None) as memory:
        assert confidence == f"{memory.search('green tea', preset='trovella')[0].confidence:.2f}"
    assert bar == score_bar(float(confidence))
    assert details == "2026-01-10  lexical 1  memory/tea.md  #drink #preference"
    assert snippet == "    Prefers green tea."
    assert blank == ""
    assert summary.startswith("1 of 2 · 2 lexical · ")


def test_search_json_has_tags_and_metadata(run: Run) -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add("gyokuro", id="n9", tags=["drinks"], metadata={"author": "Ines"})
    (hit,) = json.loads(run("search", "--json", "gyokuro").stdout)["hits"]
    assert (hit["tags"], hit["metadata"]) == (["drinks"], {"author": "Ines"})


def test_search_names_notes_without_title(run: Run) -> None:
    run("add", "Leaves.", "--path", "tea.md")
    run("add", "tea", "--id", "n9")
    output = run("search", "tea").stdout
    assert re.search(r" \d  tea\.md\n    0\.\d\d .{8}  \d{4}-\d\d-\d\d  lexical \d\n    Leaves\.\n\n", output)
    assert re.search(r" \d  n9\n    0\.\d\d .{8}  \d{4}-\d\d-\d\d  lexical \d\n    tea\n\n", output)


@pytest.mark.usefixtures("sample_path")
def test_search_highlights_matches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    output = run("search", "green tea").stdout
    assert "\x1b[1;33mgreen\x1b[0m" in output
    assert "\x1b[1mTea\x1b[0m" in output


@pytest.mark.usefixtures("sample_path")
def test_search_quiet(run: Run) -> None:
    assert " lexical · " not in run("search", "tea", "-q").stdout


@pytest.mark.usefixtures("sample_path")
def test_search_json(run: Run) -> None:
    data = json.loads(run("search", "tea", "--json").stdout)
    with recollect.open("recollect.db", embedder=None) as memory:
        expected = memory.search("tea").to_dict()
    assert data["hits"] == expected["hits"]
    assert data["trace"].keys() == expected["trace"].keys()


@pytest.mark.usefixtures("sample_path")
def test_search_filters(run: Run) -> None:
    assert ids(run, "tea") == ["n1", "n2"]
    assert ids(run, "tea", "--tag", "drink", "--tag", "preference") == ["n1"]
    assert ids(run, "tea", "--path", "memory/c") == ["n2"]
    assert ids(run, "tea", "--session", "s1") == ["n2"]
    assert ids(run, "tea", "--where", "cups=3", "--where", "season=winter") == ["n1"]
    assert ids(run, "tea", "--where", "cups=4") == []
    assert ids(run, "tea", "--namespace", "other") == []
    assert ids(run, "tea", "-k", "1") == ["n1"]
    assert json.loads(run("search", "tea", "--json").stdout)["trace"]["candidateK"] == 200
    assert json.loads(run("search", "tea", "--json", "--preset", "memini").stdout)["trace"]["candidateK"] == 60
    assert ids(run, "tea", "--mode", "bm25", "--candidate-k", "5") == ["n1", "n2"]


@pytest.mark.usefixtures("sample_path")
def test_search_since_and_until(run: Run) -> None:
    assert ids(run, "bicycle", "--since", "2026-03-01", "--until", "2026-03-01") == ["n3"]
    assert ids(run, "bicycle", "--until", "2026-03-01T18:00:00Z") == []
    assert ids(run, "bicycle", "--since", "2026-03-01T18:00:00Z") == ["n3"]
    assert ids(run, "bicycle", "--until", "2026-02-28") == []


@pytest.mark.usefixtures("sample_path")
def test_search_aliases(run: Run) -> None:
    assert ids(run, "velo") == []
    assert ids(run, "velo", "--alias", "velo=bicycle, bike") == ["n3"]
    assert ids(run, "velo", "--alias", "velo=bike", "--alias", "velo=bicycle") == ["n3"]


@pytest.mark.usefixtures("sample_path")
def test_search_query_with_a_leading_dash(run: Run) -> None:
    assert ids(run, "--", "-tea") == ["n1", "n2"]


@pytest.mark.usefixtures("sample_path")
def test_search_operators(run: Run) -> None:
    assert ids(run, "tea", "NOT", "coffee") == ["n1"]
    assert ids(run, '"green tea"', *PLAIN) == ["n1"]
    assert ids(run, "bicyc*") == ["n3"]


@pytest.mark.usefixtures("sample_path")
def test_search_without_hits(run: Run) -> None:
    result = run("search", "rooibos")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "nothing was found for 'rooibos'; try other words, or fewer filters\n"
    assert run("search", "rooibos", "-q").output == ""
    assert run("search", "").exit_code == 1


@pytest.mark.usefixtures("sample_path")
def test_search_passes_every_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: dict[str, Any] = {}
    opened: dict[str, Any] = {}
    search, open_memory = Memory.search, recollect.opening.open

    def record_search(memory: Memory, query: str, **options: Any) -> SearchResult:
        passed.update(options)
        return search(memory, query, **options)

    def record_open(target: str, **options: Any) -> Memory:
        opened.update(options)
        return open_memory(target, **{**options, "reranker": None})

    monkeypatch.setattr(Memory, "search", record_search)
    monkeypatch.setattr(recollect.opening, "open", record_open)
    options = [
        "--preset",
        "memini",
        "--no-rerank",
        "--rerank-top-n",
        "7",
        "--skip-retry-ladder",
        "--min-confidence",
        "0.25",
    ]
    options += ["--answer-threshold", "0.5"]
    dates = ["--question-date", "2026/04/18 (Sat)", "--now", "2026-05-01", "--reranker", "tei:http://localhost:1"]
    assert run("search", "tea", *options, *dates).exit_code == 0
    expected = {
        "preset": "memini",
        "rerank": False,
        "rerank_top_n": 7,
        "skip_retry_ladder": True,
        "min_confidence": 0.25,
        "answer_threshold": 0.5,
    }
    assert {name: passed[name] for name in expected} == expected
    assert passed["question_date"] == "2026/04/18 (Sat)"
    assert passed["now"] == "2026-05-01"
    assert opened["reranker"] == "tei:http://localhost:1"
    run("search", "tea")
    assert (passed["preset"], passed["rerank"], passed["min_confidence"]) == ("default", True, None)
    assert opened["reranker"] is None
    monkeypatch.setenv("RECOLLECT_RERANKER", "cohere:m")
    run("search", "tea")
    assert opened["reranker"] == "cohere:m"


@pytest.mark.usefixtures("sample_path")
def test_search_min_confidence_and_own_preset(run: Run) -> None:
    assert ids(run, "tea coffee rooibos", "--min-confidence", "1") == []
    Path("mine.toml").write_text('base = "memini"\n[fusion]\nk = 7\n')
    data = json.loads(run("search", "tea", "--json", "--preset", "mine.toml").stdout)
    assert data["trace"]["preset"] == "mine"
    assert data["trace"]["rrfK"] == 7


def test_search_reports_the_fallback_step(run: Run) -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add("Sencha.", path="memory/kubernetes.md", title="Kubernetes")
    result = run("search", "sencha cups", "--preset", "weighted-graph")
    assert result.stderr == "nothing matched all words; showing notes that match any of them\n"
    assert " 1  Kubernetes\n" in result.stdout
    assert run("search", "sencha cups", "--preset", "weighted-graph", "-q").stderr == ""
    assert run("search", "sencha").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tea", "--since", "yesterday"], "must be an ISO-8601 date or time, got 'yesterday'"),
        (["tea", "--until", "2026-13-01"], "must be an ISO-8601 date or time, got '2026-13-01'"),
        (["tea", "--until", "9999-12-31"], "is too far in the future: 9999-12-31"),
        (["tea", "--where", "cups"], "must be KEY=VALUE, got 'cups'"),
        (["tea", "--alias", "velo"], "must be TERM=ALTERNATIVE,ALTERNATIVE, got 'velo'"),
        (["tea", "--alias", "=bike"], "must be TERM=ALTERNATIVE,ALTERNATIVE, got '=bike'"),
        (["tea", "--mode", "fast"], "'fast' is not one of"),
        (["tea", "-k", "-1"], "-1 is not in the range"),
        (["tea", "-k", "many"], "'many' is not a valid integer"),
        (["tea", "--min-confidence", "2"], "2.0 is not in the range"),
        (["tea", "--question-date", "some day"], "a time in ISO 8601 or RFC 2822, got 'some day'"),
        (["tea", "--now", "soon"], "must be an ISO-8601 date or time, got 'soon'"),
        (["tea", "--preset", "best"], "preset: must be one of default, "),
        (["tea", "--preset", "none.toml"], "preset: none.toml cannot be read"),
        (["tea", "--tag", ""], "filters.tags[0]: must not be empty"),
    ],
)
@pytest.mark.usefixtures("sample_path")
def test_search_wrong_use(run: Run, arguments: list[str], message: str) -> None:
    assert message in error_of(run("search", *arguments), 2)


@pytest.mark.usefixtures("sample_path")
def test_search_prints_warnings_once(run: Run) -> None:
    result = run("search", "tea", "--embedder", "openai:m@http://localhost:1/v1")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: no note has a vector yet")
    assert result.stderr.count("\n") == 1
    assert run("search", "tea", "-q", "--embedder", "openai:m@http://localhost:1/v1").stderr == ""


@pytest.mark.usefixtures("sample_path")
def test_search_reports_excluded_terms(run: Run) -> None:
    result = run("search", "tea NOT coffee")
    assert "excluding notes with: coffee\n" in result.stderr
    assert json.loads(run("search", "tea NOT coffee", "--json").stdout)["excluded"] == ["coffee"]
    assert "excluding" not in run("search", "tea").stderr


def test_search_reports_excluded_terms_without_answer(run: Run) -> None:
    run("add", "-q", "We do not use MongoDB because the billing joins got unbearable.")
    run("add", "-q", "Kafka has 24 partitions.")
    result = run("search", "MongoDB NOT billing")
    assert (result.exit_code, result.stdout) == (1, "")
    exclusion, nothing = result.stderr.splitlines()
    assert exclusion == "excluding notes with: billing"
    assert nothing.startswith("nothing ")
    explained = run("explain", "MongoDB NOT billing")
    assert (explained.exit_code, "excluded     billing\n" in explained.stdout) == (1, True)


@pytest.mark.usefixtures("sample_path")
def test_search_counts_dropped_candidates(run: Run) -> None:
    result = run("search", "--min-confidence", "1", "green tea")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "no note for 'green tea' reaches min_confidence: 2 candidates were found, all below it; lower it to see them\n"
    )


def test_search_hides_weak_candidates(run: Run) -> None:
    run("add", "-q", "--id", "best", "--title", "Glass chapel", "The glass chapel in Soglio opens at nine.")
    for number in range(3):
        run("add", "-q", "--id", f"n{number}", f"Wine number {number} was served in a tall glass with cheese.")
    output = run("search", "when does the glass chapel in Soglio open")
    assert output.exit_code == 0
    assert [line for line in output.stdout.splitlines() if line.startswith((" 1  ", " 2  "))] == [" 1  Glass chapel"]
    assert output.stdout.splitlines()[-1].startswith("1 of 4 · 3 weak candidates not shown (--show-weak) · ")
    every = run("search", "--show-weak", "when does the glass chapel in Soglio open")
    assert (every.exit_code, every.stderr, every.stdout.count("\n    weak 0.0")) == (0, "", 3)
    assert every.stdout.splitlines()[-1].startswith("4 of 4 · 4 lexical")
    data = json.loads(run("search", "--json", "when does the glass chapel in Soglio open").stdout)
    assert [hit["weak"] for hit in data["hits"]] == [False, True, True, True]


@pytest.mark.usefixtures("sample_path")
def test_search_not_in_a_question(run: Run) -> None:
    result = run("search", "why do we NOT drink green tea?")
    assert result.stderr == (
        "warning: NOT was read as a word, because the query is a question; to use operators, write the search terms "
        "alone\n"
    )


@pytest.mark.usefixtures("sample_path")
def test_search_in_a_namespace_without_notes(run: Run) -> None:
    run("add", "Green tea.", "--namespace", "tea")
    empty = "warning: there are no notes in namespace 'work'; choose --namespace from: default, tea\n"
    result = run("search", "tea", "--namespace", "work")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(empty)
    assert run("explain", "tea", "--namespace", "work").stderr.startswith(empty)
    assert run("search", "tea", "--namespace", "work", "-q").stderr == ""
    assert "namespace" not in run("search", "xyzzy").stderr


def test_search_in_a_memory_without_notes(run: Run) -> None:
    recollect.open("recollect.db", embedder=None).close()
    empty = "warning: there are no notes in namespace 'default'; recollect add stores a note\n"
    assert run("search", "tea").stderr.startswith(empty)


def test_search_with_a_real_model(run: Run) -> None:
    if choose_embedder("auto").embedder is None:
        skip_or_fail("no model is installed")
    with recollect.open("recollect.db") as memory:
        memory.add_many(NOTES)
    semantic = run("search", "two wheels and a saddle", "--embedder", "auto", "--mode", "semantic", "-k", "1", *PLAIN)
    assert " 1  n3\n" in semantic.stdout
    assert "  vector 1\n" in semantic.stdout
    assert "1 of 3 · 3 vector · " in semantic.stdout
    hybrid = run("search", "bicycle", "--embedder", "auto", *PLAIN)
    assert re.search(r" 1  n3\n    0\.\d\d .{8}  2026-03-01  lexical 1 · vector 1\n", hybrid.stdout)
    other_embedder = run("search", "bicycle", "--embedder", "openai:m@http://localhost:1/v1")
    assert other_embedder.stderr.count("warning: ") == 1
    assert "or reindex the memory to embed its notes again" in other_embedder.stderr
