from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Run


@pytest.mark.usefixtures("sample_path")
def test_delete_by_id_and_path(run: Run) -> None:
    assert run("delete", "n1").stdout == "deleted 1 note\n"
    assert run("delete", "memory/coffee.md", "n3").stdout == "deleted 2 notes\n"
    assert run("get", "n1").exit_code == 1


@pytest.mark.usefixtures("sample_path")
def test_delete_json_and_quiet(run: Run) -> None:
    assert json.loads(run("delete", "n1", "n2", "--json").stdout) == {"deleted": 2}
    assert run("delete", "n3", "-q").output == ""


@pytest.mark.usefixtures("sample_path")
def test_delete_missing_note(run: Run) -> None:
    result = run("delete", "n1", "n9")
    assert (result.exit_code, result.stdout) == (1, "deleted 1 note\n")
    assert result.stderr == "error: there is no note 'n9' in namespace 'default'\n"
    assert run("delete", "n2", "--namespace", "other").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "answer", "code"),
    [
        (["n1", "n2"], "y\n", 0),
        (["n1", "n2"], "n\n", 1),
        (["n1", "n2"], "", 130),
        (["n1", "n2", "-y"], "", 0),
        (["n1"], "", 0),
    ],
)
@pytest.mark.usefixtures("sample_path")
def test_delete_asks_for_confirmation(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], answer: str, code: int
) -> None:
    monkeypatch.setattr("recollect.cli.notes.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    result = run("delete", *arguments, input=answer)
    assert result.exit_code == code
    assert ("Delete 2 notes? [y/N]: " in result.stderr) == (arguments == ["n1", "n2"])
    assert (run("get", "n1").exit_code == 0) == bool(code)
