from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

import recollect
from recollect import Memory, SearchResult
from tests.cli.conftest import Run, error_of


@pytest.mark.usefixtures("sample_path")
def test_explain_prints_the_explanation_of_the_library(run: Run) -> None:
    result = run("explain", "green", "tea")
    assert (result.exit_code, result.stderr) == (0, "")
    with recollect.open("recollect.db", embedder=None) as memory:
        explanation = memory.search("green tea").explain()
    assert result.stdout.split("\n\n")[0] == explanation.split("\n\n")[0]
    assert result.stdout.split("\n\n")[2:] == (explanation + "\n").split("\n\n")[2:]


@pytest.mark.usefixtures("sample_path")
def test_explain_shows_every_hit(run: Run) -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add_many(f"tea {number}" for number in range(12))
    assert "\n12  " in run("explain", "tea", "-k", "12").stdout


@pytest.mark.usefixtures("sample_path")
def test_explain_json(run: Run) -> None:
    data = json.loads(run("explain", "tea", "--json").stdout)
    assert [hit["id"] for hit in data["hits"]] == [hit["id"] for hit in data["trace"]["results"]] == ["n1", "n2"]


@pytest.mark.usefixtures("sample_path")
def test_explain_without_hits(run: Run) -> None:
    result = run("explain", "rooibos")
    assert result.exit_code == 1
    assert "tried        initial " in result.stdout
    assert result.stderr == "nothing was found for 'rooibos'; try other words, or fewer filters\n"


@pytest.mark.usefixtures("sample_path")
def test_explain_warns_of_notes_without_vectors(run: Run) -> None:
    pytest.importorskip("wordllama")
    result = run("explain", "tea", "--embedder", "static")
    assert "reindex the memory to embed them" in " ".join(result.stdout.split())
    as_json = run("explain", "rooibos", "--json")
    assert (as_json.exit_code, as_json.stderr, json.loads(as_json.stdout)["hits"]) == (1, "", [])


@pytest.mark.usefixtures("sample_path")
def test_explain_prints_warnings_once(run: Run) -> None:
    arguments = ["explain", "tea", "--embedder", "openai:m@http://localhost:1/v1"]
    result = run(*arguments)
    assert result.stderr == ""
    assert "\nwarning      no note has a vector yet" in result.stdout
    assert run(*arguments, "--json").stderr.startswith("warning: no note has a vector yet")


@pytest.mark.usefixtures("sample_path")
def test_explain_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    for columns in (80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = re.sub(r"\x1b\[[\d;]*m", "", run("explain", "what tea should I buy?").stdout).splitlines()
        assert max(map(len, lines)) <= min(columns, 110)


@pytest.mark.usefixtures("sample_path")
def test_explain_colours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add("Prefers oolong.", path="memory/global/user-preference-oolong.md")
        memory.add("Tips for oolong.", path="wiki/oolong.md")
    output = run("explain", "recommend an oolong", "--preset", "jeffs-brain").stdout
    assert "\x1b[2mquery\x1b[0m  " in output
    assert "\x1b[32m▓" in output
    assert "\x1b[31m░" in output
    assert "\x1b[1m 1  memory/global/user-preference-oolong.md" in output


@pytest.mark.usefixtures("sample_path")
def test_explain_unavailable_reranker(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "broken"

        def rerank(self, query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
            raise ConnectionError(f"{query}, {len(documents)}: refused")

    opened = recollect.opening.open

    def open_with_broken_reranker(target: str, **options: object) -> Memory:
        return opened(target, embedder=None, reranker=Broken() if options["reranker"] else None)

    monkeypatch.setattr(recollect.opening, "open", open_with_broken_reranker)
    output = run("explain", "tea", "--reranker", "broken", "--preset", "jeffs-brain").stdout
    assert "\nwarning      the results were not reranked: tea, 2: refused\n" in output
    assert re.search(r"\nrerank .* ms  failed\n", output)


def test_explain_wrong_use(run: Run) -> None:
    assert error_of(run("explain"), 2) == "Missing argument 'QUERY...'; see recollect explain --help"
    assert error_of(run("explain", "tea"), 2).startswith("there is no memory at recollect.db")


def test_result_explains_itself() -> None:
    assert "limit" in (SearchResult.explain.__doc__ or "")
