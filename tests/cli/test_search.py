from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

import recollect
from recollect.cli import recollect as commands
from recollect.embedders import choose_embedder
from tests.cli.conftest import NOTES, Run, error_of


def ids(run: Run, *arguments: str) -> list[str]:
    result = run("search", "--json", *arguments)
    found = [hit["id"] for hit in json.loads(result.stdout)["hits"]]
    assert result.exit_code == (0 if found else 1)
    return found


@pytest.mark.usefixtures("filled")
def test_hits_for_a_person(run: Run) -> None:
    result = run("search", "green", "tea", "-k", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    title, facts, snippet, blank, summary = result.stdout.splitlines()
    assert title == " 1  Tea"
    assert facts == "    1.00 ████████  2026-01-10  words 1  memory/tea.md"
    assert snippet == "    Prefers green tea."
    assert blank == ""
    assert summary.startswith("1 of 2 · 2 by words · ")


def test_what_names_a_note_without_title_or_path(run: Run) -> None:
    run("add", "", "--path", "tea.md")
    run("add", "tea", "--id", "n9")
    shown = run("search", "tea").stdout
    assert re.search(r" 1  tea\.md\n    1\.00 ████████  \d{4}-\d\d-\d\d  words 1\n\n", shown)
    assert re.search(r" 2  n9\n    0\.98 ███████▉  \d{4}-\d\d-\d\d  words 2\n    tea\n\n", shown)


@pytest.mark.usefixtures("filled")
def test_matches_are_highlighted_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = run("search", "green tea").stdout
    assert "\x1b[1;33mgreen\x1b[0m" in shown
    assert "\x1b[1mTea\x1b[0m" in shown


@pytest.mark.usefixtures("filled")
def test_an_output_without_unicode_gets_no_bars() -> None:
    shown = CliRunner(charset="ascii").invoke(commands, ["search", "green tea"]).stdout
    assert "    1.00 2026-01-10  words 1  memory/tea.md\n" in shown


@pytest.mark.usefixtures("filled")
def test_quiet_leaves_the_summary_out(run: Run) -> None:
    assert " by words · " not in run("search", "tea", "-q").stdout


@pytest.mark.usefixtures("filled")
def test_the_json_is_the_librarys(run: Run) -> None:
    told = json.loads(run("search", "tea", "--json").stdout)
    with recollect.open("recollect.db", embedder=None) as memory:
        expected = memory.search("tea").to_dict()
    assert told["hits"] == expected["hits"]
    assert told["trace"].keys() == expected["trace"].keys()


@pytest.mark.usefixtures("filled")
def test_filters(run: Run) -> None:
    assert ids(run, "tea") == ["n1", "n2"]
    assert ids(run, "tea", "--tag", "drink", "--tag", "preference") == ["n1"]
    assert ids(run, "tea", "--path", "memory/c") == ["n2"]
    assert ids(run, "tea", "--session", "s1") == ["n2"]
    assert ids(run, "tea", "--where", "cups=3", "--where", "season=winter") == ["n1"]
    assert ids(run, "tea", "--where", "cups=4") == []
    assert ids(run, "tea", "--namespace", "other") == []
    assert ids(run, "tea", "-k", "1") == ["n1"]
    assert ids(run, "tea", "--mode", "bm25", "--candidate-k", "5") == ["n1", "n2"]


@pytest.mark.usefixtures("filled")
def test_a_span_holds_its_last_day_and_leaves_its_last_instant_out(run: Run) -> None:
    assert ids(run, "bicycle", "--since", "2026-03-01", "--until", "2026-03-01") == ["n3"]
    assert ids(run, "bicycle", "--until", "2026-03-01T18:00:00Z") == []
    assert ids(run, "bicycle", "--since", "2026-03-01T18:00:00Z") == ["n3"]
    assert ids(run, "bicycle", "--until", "2026-02-28") == []


@pytest.mark.usefixtures("filled")
def test_aliases(run: Run) -> None:
    assert ids(run, "velo") == []
    assert ids(run, "velo", "--alias", "velo=bicycle, bike") == ["n3"]
    assert ids(run, "velo", "--alias", "velo=bike", "--alias", "velo=bicycle") == ["n3"]


@pytest.mark.usefixtures("filled")
def test_a_query_that_begins_with_a_dash(run: Run) -> None:
    assert ids(run, "--", "-tea") == ["n1", "n2"]


@pytest.mark.usefixtures("filled")
def test_the_words_are_one_query_with_its_operators(run: Run) -> None:
    assert ids(run, "tea", "NOT", "coffee") == ["n1"]
    assert ids(run, '"green tea"') == ["n1"]
    assert ids(run, "bicyc*") == ["n3"]


@pytest.mark.usefixtures("filled")
def test_nothing_found_is_told_aside(run: Run) -> None:
    result = run("search", "rooibos")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "nothing was found for 'rooibos'; try other words, or fewer filters\n"
    assert run("search", "rooibos", "-q").output == ""
    assert run("search", "").exit_code == 1


@pytest.mark.usefixtures("filled")
def test_explain_draws_every_hit(run: Run) -> None:
    shown = run("search", "tea", "--explain").stdout
    assert " 1  Tea  (memory/tea.md)\n    lexical  rank 1" in shown
    assert " 2  Coffee  (memory/coffee.md)\n" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tea", "--since", "yesterday"], "must be an ISO-8601 date or time, got 'yesterday'"),
        (["tea", "--until", "2026-13-01"], "must be an ISO-8601 date or time, got '2026-13-01'"),
        (["tea", "--until", "9999-12-31"], "lies too far in the future: 9999-12-31"),
        (["tea", "--where", "cups"], "must be KEY=VALUE, got 'cups'"),
        (["tea", "--alias", "velo"], "must be TERM=ALTERNATIVE,ALTERNATIVE, got 'velo'"),
        (["tea", "--alias", "=bike"], "must be TERM=ALTERNATIVE,ALTERNATIVE, got '=bike'"),
        (["tea", "--mode", "fast"], "'fast' is not one of"),
        (["tea", "-k", "0"], "0 is not in the range"),
        (["tea", "-k", "many"], "'many' is not a valid integer"),
        (["tea", "--tag", ""], "filters.tags[0]: must not be empty"),
    ],
)
@pytest.mark.usefixtures("filled")
def test_wrong_use(run: Run, arguments: list[str], said: str) -> None:
    assert said in error_of(run("search", *arguments), 2)


@pytest.mark.usefixtures("filled")
def test_what_had_to_be_done_without_is_told_once(run: Run) -> None:
    result = run("search", "tea", "--embedder", "openai:m@http://localhost:1/v1")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: no note has a vector yet")
    assert result.stderr.count("\n") == 1
    assert run("search", "tea", "-q", "--embedder", "openai:m@http://localhost:1/v1").stderr == ""


def test_by_meaning_with_a_real_model(run: Run) -> None:
    if choose_embedder("auto").embedder is None:
        pytest.skip("no model is installed")
    with recollect.open("recollect.db") as memory:
        memory.add_many(NOTES)
    found = run("search", "two wheels and a saddle", "--embedder", "auto", "--mode", "semantic", "-k", "1")
    assert " 1  n3\n" in found.stdout
    assert "  meaning 1\n" in found.stdout
    assert "1 of 3 · 3 by meaning · " in found.stdout
    hybrid = run("search", "bicycle", "--embedder", "auto")
    assert " 1  n3\n    1.00 ████████  2026-03-01  words 1 · meaning 1\n" in hybrid.stdout
    other = run("search", "bicycle", "--embedder", "openai:m@http://localhost:1/v1")
    assert other.stderr.count("warning: ") == 1
    assert "so the search was by words alone; reindex re-embeds" in other.stderr
