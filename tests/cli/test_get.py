from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, error_of


@pytest.mark.usefixtures("sample_path")
def test_get_prints_a_note(run: Run) -> None:
    lines = run("get", "n1").stdout.splitlines()
    assert lines[:6] == [
        "Tea",
        "id               n1",
        "path             memory/tea.md",
        "summary          Green, no milk.",
        "tags             drink, preference",
        "created_at       2026-01-10T00:00:00Z",
    ]
    assert lines[6].startswith("updated_at       20")
    assert lines[7:] == [
        "last_accessed_at 2026-02-01T00:00:00Z",
        "importance       0.8",
        "links            supersedes → memory/coffee.md",
        "metadata         season: winter, cups: 3",
        "namespace        default",
        "",
        "Prefers green tea.",
    ]


def test_get_omits_empty_fields(run: Run) -> None:
    run("add", "Tea.", "--id", "n1", "--session", "s1", "--namespace", "maren")
    run("add", "Tea.", "--id", "n2", "--session", "s1", "--position", "4", "--namespace", "maren")
    first = run("get", "n1", "--namespace", "maren").stdout
    assert "session          s1\nnamespace        maren\n" in first
    assert "path" not in first
    assert "session          s1\nposition         4\n" in run("get", "n2", "--namespace", "maren").stdout


@pytest.mark.usefixtures("sample_path")
def test_get_by_path_as_json_or_text(run: Run) -> None:
    assert json.loads(run("get", "memory/coffee.md", "--json").stdout)["id"] == "n2"
    assert run("get", "n3", "--quiet").stdout == "A bicycle with new brakes.\n"


@pytest.mark.usefixtures("sample_path")
def test_get_unknown_note(run: Run) -> None:
    assert error_of(run("get", "n9"), 1) == "there is no note 'n9' in namespace 'default'"
    assert error_of(run("get", "n1", "--namespace", "other"), 1) == "there is no note 'n1' in namespace 'other'"
