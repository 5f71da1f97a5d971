from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from recollect import arguments
from tests.cli.conftest import Run, error_of


def test_add_joins_words_and_prints_the_id(run: Run) -> None:
    result = run("add", "Prefers", "green", "tea.")
    assert (result.exit_code, result.stderr) == (0, "")
    key = result.stdout.removeprefix("stored ").strip()
    assert json.loads(run("get", key, "--json").stdout)["content"] == "Prefers green tea."


def test_add_sets_every_field(run: Run) -> None:
    result = run(
        *("add", "Sencha.", "--id", "n1", "--path", "tea.md", "--title", "Tea", "--summary", "Green."),
        *("--tag", "drink", "--tag", "green", "--importance", "0.9", "--session", "s", "--position", "3"),
        *("--created-at", "2026-01-02", "--link", "supersedes=coffee.md", "--link", "milk.md", "--namespace", "maren"),
        *("--expires", "2999-01-01"),
        *("--meta", "cups=3", "--meta", "kind=leaf", "--meta", 'nested={"a": [1]}', "--meta", "odd=NaN", "--json"),
    )
    note = json.loads(result.stdout)
    note.pop("updated_at")
    assert note == {
        "id": "n1",
        "path": "tea.md",
        "title": "Tea",
        "summary": "Green.",
        "tags": ["drink", "green"],
        "content": "Sencha.",
        "created_at": "2026-01-02T00:00:00Z",
        "last_accessed_at": None,
        "expires_at": "2999-01-01T00:00:00Z",
        "importance": 0.9,
        "session": "s",
        "position": 3,
        "links": [{"kind": "supersedes", "target": "coffee.md"}, {"kind": "related", "target": "milk.md"}],
        "metadata": {"cups": 3, "kind": "leaf", "nested": {"a": [1]}, "odd": "NaN"},
        "namespace": "maren",
    }


@pytest.mark.parametrize(("duration", "hours"), [("12h", 12), ("30d", 720), ("2W", 336)])
def test_add_expires_relative_to_now(run: Run, duration: str, hours: int) -> None:
    before = arguments.now()
    note = json.loads(run("add", "Tea.", "--id", "n1", "--expires", duration, "--json").stdout)
    expires = datetime.fromisoformat(note["expires_at"])
    assert before + timedelta(hours=hours) <= expires <= arguments.now() + timedelta(hours=hours)
    assert f"expires_at       {note['expires_at']}\n" in run("get", "n1").stdout
    assert "notes            1\n                 1 with an expiry\nlinks" in run("stats").stdout
    assert json.loads(run("add", "--id", "n1", "--expires", "never", "--json").stdout)["expires_at"] is None
    assert "expire" not in run("get", "n1").stdout + run("stats").stdout


@pytest.mark.usefixtures("sample_path")
def test_add_supersedes(run: Run) -> None:
    added = run("add", "Oolong.", "--supersedes", "memory/tea.md", "--supersedes", "n2", "--link", "n3", "--json")
    assert [(link["kind"], link["target"]) for link in json.loads(added.stdout)["links"]] == [
        ("related", "n3"),
        ("supersedes", "n1"),
        ("supersedes", "n2"),
    ]
    message = error_of(run("add", "Oolong.", "--supersedes", "nowhere.md"), 1)
    assert message == "there is no note 'nowhere.md' in namespace 'default' to supersede"


def test_stats_count_expiring_notes(run: Run) -> None:
    run("add", "Tea.", "--expires", "1d")
    run("add", "Mug.", "--expires", "2d")
    assert "           2 with an expiry\n" in run("stats").stdout


@pytest.mark.parametrize("arguments", [["add"], ["add", "-"]])
def test_add_reads_standard_input(run: Run, arguments: list[str]) -> None:
    result = run(*arguments, "--path", "tea.md", input="\ufeffPrefers\ngreen tea.\r\n")
    assert result.stdout.startswith("stored tea.md (")
    assert run("get", "tea.md", "-q").stdout == "Prefers\ngreen tea.\n"


def test_add_quiet_prints_the_id(run: Run) -> None:
    assert run("add", "-q", "Tea.", "--id", "n1").stdout == "n1\n"


@pytest.mark.usefixtures("sample_path")
def test_add_updates_one_field(run: Run) -> None:
    assert run("add", "--path", "memory/tea.md", "--title", "Green tea").exit_code == 0
    note = json.loads(run("get", "n1", "--json").stdout)
    assert (note["title"], note["content"]) == ("Green tea", "Prefers green tea.")


@pytest.mark.usefixtures("sample_path")
def test_add_does_not_wait_for_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.cli.notes.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    assert error_of(run("add"), 2).startswith("there is no text")
    assert run("add", "--id", "n1", "--title", "Green tea").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no text; pass it as TEXT or on standard input"),
        (["--path", "new.md"], "content: is needed for a new note"),
        (
            [" "],
            "content: must not be blank or only punctuation in a note without title and summary; give the note",
        ),
        (["tea", "--created-at", "soon"], "must be an ISO-8601 date or time, got 'soon'"),
        (["tea", "--expires", "soon"], "must be an ISO-8601 date or time, got 'soon'"),
        (["tea", "--expires", ""], "must be an ISO-8601 date or time, got ''"),
        (["tea", "--expires", "2020-02-02"], "expires_at: must lie in the future, got 2020-02-02T00:00:00+00:00"),
        (["tea", "--expires", "99999999w"], "is too far in the future: 99999999w"),
        (["tea", "--expires", f"{'9' * 5000}d"], "is too far in the future: 9"),
        (["tea", "--importance", "2"], "importance: must be at most 1"),
        (["tea", "--importance", "nan"], "importance: must be a finite number"),
        (["tea", "--importance", "high"], "'high' is not a valid float"),
        (["tea", "--position", "-1"], "position: must not be negative"),
        (["tea", "--tag", ""], "tags[0]: must not be empty"),
        (["tea", "--meta", "cups"], "must be KEY=VALUE, got 'cups'"),
        (["tea", "--meta", "=3"], "must be KEY=VALUE, got '=3'"),
        (["tea", "--link", "kind="], "must be KIND=TARGET, got 'kind='"),
        (["tea", "--path", "a\nb"], "path: must be one line"),
        (["tea", "--namespace", " "], "namespace: must not be empty"),
    ],
)
def test_add_wrong_use(run: Run, arguments: list[str], message: str) -> None:
    assert message in error_of(run("add", *arguments), 2)


def test_add_rejects_binary_standard_input(run: Run) -> None:
    assert error_of(run("add", input=b"\x00\xff\xfe"), 2).startswith("standard input is not UTF-8 text")
    assert not Path("recollect.db").exists()


def test_add_treats_deeply_nested_metadata_as_text(run: Run) -> None:
    deep = "[" * 100_000
    assert json.loads(run("add", "tea", "--meta", f"deep={deep}", "--json").stdout)["metadata"] == {"deep": deep}
