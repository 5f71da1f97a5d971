"""Commands that write notes refuse or redact secrets if configured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of
from tests.secrets.samples import random_text

TOKEN = "gh" + "p_" + random_text(36)
MARK = "«redacted: GitHub token»"
WARNING = "warning: one secret was redacted before the notes were stored: 1 × GitHub token\n"


def test_add_refuses_secrets(run: Run) -> None:
    message = error_of(run("add", f"Use {TOKEN}.", "--secrets", "refuse"), 2)
    assert message == 'content: contains a secret (GitHub token); remove it, or open the memory with secrets="redact"'
    added = run("add", f"Use {TOKEN}.", "--secrets", "redact", "--id", "n1")
    assert (added.stdout, added.stderr) == ("stored n1\n", WARNING)
    assert run("get", "n1", "-q").stdout == f"Use {MARK}.\n"


def test_secrets_from_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_SECRETS", "refuse")
    assert error_of(run("add", TOKEN), 2).startswith("content: contains a secret")
    assert run("add", TOKEN, "--secrets", "none").exit_code == 0


def test_ingest_refuses_secrets(run: Run) -> None:
    Path("vault").mkdir()
    Path("vault/token.md").write_text(TOKEN)
    Path("vault/tea.md").write_text("Tea.")
    refused = run("ingest", "vault", "--secrets", "refuse")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error: token.md: note 1: content: contains a secret (GitHub token)")
    redacted = run("ingest", "vault", "--secrets", "redact")
    assert redacted.stderr == WARNING
    assert run("get", "token.md", "-q").stdout == f"{MARK}\n"


def test_import_refuses_secrets(run: Run) -> None:
    Path("notes.jsonl").write_text(json.dumps({"id": "n1", "content": TOKEN}))
    assert error_of(run("import", "notes.jsonl", "--secrets", "refuse"), 2).startswith(
        "notes.jsonl, line 1: content: contains a secret"
    )
    assert run("import", "notes.jsonl", "--secrets", "redact").stderr == WARNING
    assert run("get", "n1", "-q").stdout == f"{MARK}\n"
