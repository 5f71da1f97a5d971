from __future__ import annotations

import io
import json
import os
import sys

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.cli import terminal
from recollect.cli.tables import score_bar
from tests.cli.conftest import Run, error_of
from tests.strategies import any_text

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold red]markup[/] [/nonsense] \x9b2J \u202egnissim\u202c :tea: \r gone"


@given(any_text)
def test_sanitise_removes_control_characters(text: str) -> None:
    output = terminal.sanitise_line(text)
    assert len(output) == len(text)
    output.encode()
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in output)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in terminal.sanitise(text))


@pytest.mark.parametrize("option", ["--embedder", "--reranker"])
def test_error_of_a_wrong_model_does_not_offer_objects(run: Run, option: str) -> None:
    recollect.open("recollect.db", embedder=None).close()
    message = error_of(run("search", "tea", option, "wrong"), 2)
    assert message.endswith("a folder with an ONNX model, got 'wrong'")


def test_warning_about_vectors_of_another_model(run: Run) -> None:
    pytest.importorskip("wordllama")
    with recollect.open("recollect.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add("tea")
    warning = run("stats", "--embedder", "static").stderr
    assert warning.endswith("; reindex the memory, or choose the embedder of its vectors\n")


def test_error_of_an_older_schema_that_cannot_be_migrated(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    recollect.open("recollect.db", embedder=None).close()
    with apsw.Connection("recollect.db") as connection:
        connection.pragma("user_version", 1)
    monkeypatch.setattr("os.access", lambda _path, mode, **_options: mode != os.W_OK)
    assert error_of(run("search", "tea"), 1).endswith("; open it for writing once, for example by 'recollect reindex'")


@given(st.floats(-1, 2))
def test_score_bar_width(share: float) -> None:
    assert len(score_bar(share)) == 8


def test_score_bar() -> None:
    assert (score_bar(0.5), score_bar(0.95)) == ("████    ", "███████▋")


def test_sanitise_examples() -> None:
    assert terminal.sanitise_line("green\ntea\x1b[31m") == "green tea�[31m"
    assert terminal.sanitise("green\r\ntea\x07") == "green\ntea�"
    assert (terminal.count(1, "note"), terminal.count(1200, "note")) == ("1 note", "1,200 notes")


@pytest.mark.parametrize("colour", [False, True])
def test_hostile_notes_are_sanitised(run: Run, monkeypatch: pytest.MonkeyPatch, colour: bool) -> None:
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add(f"tea {HOSTILE}", id="n1", title=HOSTILE, summary=HOSTILE, metadata={HOSTILE: HOSTILE})
    if colour:
        monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    for arguments in (["search", "tea"], ["explain", "tea"], ["compare", "tea"], ["get", "n1"], ["get", "n1", "-q"]):
        output = run(*arguments).stdout
        assert "[bold red]markup" in output.replace("\n", " ")
        assert "red" in output
        assert ":tea:" in output
        assert not {"\x07", "\x9b", "\u202e", "\r"} & set(output)
        assert "\x1b[31m" not in output
        assert ("\x1b" in output) == (colour and arguments[0] != "get")


@pytest.mark.usefixtures("sample_path")
def test_no_colour(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("search", "tea").output
    assert "\x1b" not in run("doctor").output
    assert "\x1b[32m" in run("doctor", color=True).output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("doctor", color=True).output


def test_pipes_are_not_wrapped(run: Run) -> None:
    long = "tea " * 300
    run("add", long, "--path", "p" * 300)
    assert "p" * 300 in run("search", "tea").stdout
    assert long.strip() in run("get", "p" * 300).stdout


def test_json_without_unicode(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "thé 🍵", "--id", "n1")
    result = run("get", "n1", "--json")
    assert "thé 🍵" in result.stdout
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="ascii", write_through=True) as narrow:
        monkeypatch.setattr(sys, "stdout", narrow)
        terminal.print_json({"text": "thé 🍵"})
        monkeypatch.undo()
        assert json.loads(written.getvalue()) == {"text": "thé 🍵"}


def test_console_raises_broken_pipe() -> None:
    with pytest.raises(BrokenPipeError):
        terminal.console().on_broken_pipe()
