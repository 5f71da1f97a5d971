from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import recollect
from recollect import Candidate, Hit, SearchResult, Trace
from recollect.cli.tables import print_comparison
from recollect.retrieval import presets
from tests.cli.conftest import Run, error_of


def result(*titles: str, **fields: object) -> SearchResult:
    hits = tuple(Hit(rank, Candidate(title, title=title, path=f"p/{title}")) for rank, title in enumerate(titles, 1))
    trace = Trace(mode="bm25", original_query="tea", fusion={"method": "rrf", "k": 60.0})
    for name, value in fields.items():
        setattr(trace, name, value)
    return SearchResult("tea", hits, trace)


def printed(results: dict[str, SearchResult], width: int = 80) -> list[str]:
    console = Console(file=StringIO(), width=width)
    print_comparison(console, results, summaries=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_comparison_shows_ranks_and_moves() -> None:
    results = {"one": result("a", "b", "c"), "two": result("d", "c", "a"), "three": result("e", "b", "f")}
    assert printed(results) == [
        "   one     two     three",
        "a   1       3 ▼2    –",
        "b   2       –       2",
        "c   3       2 ▲1    –",
        "d   –       1 new   –",
        "e   –       –       1 new",
        "f   –       –       3 new",
        "",
    ]


def test_comparison_wraps_titles_in_a_narrow_terminal() -> None:
    long = "The tea that is drunk before ten o'clock"
    results = {name: result(long, "日本のお茶" * 4) for name in presets()}
    assert long in printed(results, 120)[1]
    lines = printed(results, 80)
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["The", "tea", "that", "is", "drunk", *"11111"]


def test_comparison_names_notes_of_the_same_title_by_path() -> None:
    hits = tuple(Hit(rank, Candidate(f"n{rank}", title="Maren", path=f"talk/#{rank}")) for rank in (1, 2))
    lines = printed({"one": SearchResult("tea", hits, Trace(mode="bm25", original_query="tea"))}, 30)
    assert lines[1:3] == ["talk/#1   1", "talk/#2   2"]


def test_comparison_summaries() -> None:
    console = Console(file=StringIO(), width=80)
    reranked = result("a", fused_count=7, total_elapsed=9.4, reranked=True, rerank_provider="tei:\x1b[31m")
    print_comparison(console, {"default": reranked, "two": result(fused_count=1)}, summaries=True)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines()[-2:] == [
        "default  rrf, k 60 · 7 candidates · reranked by tei:�[31m · 9 ms",
        "two      rrf, k 60 · 1 candidate · 0 ms",
    ]


@pytest.mark.usefixtures("sample_path")
def test_compare_all_presets_by_default(run: Run) -> None:
    result = run("compare", "tea")
    assert (result.exit_code, result.stderr) == (0, "")
    head, tea, coffee, blank, *summaries = result.stdout.splitlines()
    assert head.split() == list(presets())
    assert tea.split() == ["Tea", *"11111"]
    assert coffee.split() == ["Coffee", *"22222"]
    assert blank == ""
    assert [line.split()[0] for line in summaries] == list(presets())
    assert len(run("compare", "tea", "-q").stdout.splitlines()) == 4


@pytest.mark.usefixtures("sample_path")
def test_compare_json_with_own_preset(run: Run) -> None:
    Path("mine.toml").write_text(run("presets", "memini", "--toml").stdout)
    data = json.loads(run("compare", "tea", "--json", "--preset", "memini", "--preset", "mine.toml", "-k", "1").stdout)
    assert list(data) == ["memini", "mine"]
    assert [hit["id"] for hit in data["mine"]["hits"]] == ["n1"]
    assert data["mine"]["trace"]["preset"] == "mine"


@pytest.mark.usefixtures("sample_path")
def test_compare_rejects_duplicate_and_unknown_presets(run: Run) -> None:
    message = error_of(run("compare", "tea", "--preset", "memini", "--preset", "memini"), 2)
    assert message == "presets: contains two presets called 'memini'; rename one"
    assert "preset: must be one of default, " in error_of(run("compare", "tea", "--preset", "best"), 2)


@pytest.mark.usefixtures("sample_path")
def test_compare_without_hits(run: Run) -> None:
    nothing = run("compare", "rooibos")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert nothing.stderr == "no note matches 'rooibos'; try other terms, or fewer filters\n"
    assert run("compare", "rooibos", "--json").exit_code == 1


@pytest.mark.usefixtures("sample_path")
def test_compare_prints_a_warning_once(run: Run) -> None:
    result = run("compare", "tea", "--embedder", "openai:m@http://localhost:1/v1")
    assert result.stderr.count("warning: no note has a vector yet") == 1


def test_memory_compare_by_name(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add("tea")
        assert list(memory.compare("tea", ["trovella", "default"])) == ["trovella", "default"]
