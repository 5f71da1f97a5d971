"""``recollect mcp``: rights, and errors before it serves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

import recollect
from recollect import opening
from recollect.errors import EmbedderError
from tests.cli.conftest import Run, error_of
from tests.server.http.running import wait_until

KEY = "AKIA" + "Z7QW2MNB4KXC3TRE"


def test_mcp_without_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recollect.server.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    assert error_of(run("mcp"), 1) == "mcp.server.stdio is not installed; pip install 'recollectdb[server]'"


def record_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the server by a function that records its arguments, and return them."""
    calls: list[Any] = []
    monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", lambda *args: calls.append(args))
    return calls


def test_mcp_serves_all_namespaces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = record_calls(monkeypatch)
    assert run("mcp").exit_code == 0
    ((_, caller),) = calls
    assert (caller.grant.namespaces, str(caller.grant.right)) == (None, "admin")


def test_mcp_serves_one_namespace_read_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = record_calls(monkeypatch)
    assert run("mcp", "--namespace", "tea", "--read-only").exit_code == 0
    ((_, caller),) = calls
    assert (caller.grant.namespaces, str(caller.grant.right)) == ({"tea"}, "read")


@pytest.mark.parametrize(
    ("options", "stored"),
    [([], "content: contains a secret"), (["--secrets", "none"], KEY), (["--secrets", "redact"], "«redacted: ")],
)
def test_mcp_refuses_secrets(run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], stored: str) -> None:
    message: list[str] = []

    def remember(memory: recollect.Memory, _: Any) -> None:
        try:
            message.append(memory.add(f"The key is {KEY}.").content)
        except recollect.SecretFoundError as error:
            message.append(str(error))

    monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", remember)
    assert run("mcp", *options).exit_code == 0
    assert stored in message[0]


def test_mcp_loads_the_model_at_the_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = Event()

    def embed(texts: Any) -> Any:
        loaded.set()
        return [[1.0, 0.0] for _ in texts]

    use_embedder(monkeypatch, embed)
    monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", lambda *_: loaded.wait(30))
    assert run("mcp").exit_code == 0
    assert loaded.is_set()


def test_mcp_does_not_wait_for_the_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Event()

    def embed(texts: Any) -> Any:
        assert served.wait(30)
        return [[1.0, 0.0] for _ in texts]

    use_embedder(monkeypatch, embed)
    monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", lambda *_: served.set())
    assert run("mcp", "--quiet").exit_code == 0
    assert served.is_set()


def test_mcp_without_a_model(run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fails(texts: Any) -> Any:
        raise EmbedderError(f"cannot be loaded for {len(texts)} text")

    use_embedder(monkeypatch, fails)
    monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", lambda *_: wait_until(lambda: caplog.messages))
    result = run("mcp")
    assert (result.exit_code, result.stdout) == (0, "")
    assert caplog.messages == ["preparing the embedder failed: cannot be loaded for 1 text"]


def use_embedder(monkeypatch: pytest.MonkeyPatch, function: Callable[[Any], Any]) -> list[Any]:
    """Open every memory with an embedder that calls ``function``; return the texts of its calls."""
    batches: list[Any] = []

    class TestEmbedder(recollect.embedders.ModelEmbedder):
        def _vectors(self, texts: list[str]) -> Any:
            batches.append(texts)
            return function(texts)

    open_memory = opening.open
    embedder = TestEmbedder("test", "")
    monkeypatch.setattr(opening, "open", lambda *args, **more: open_memory(*args, **{**more, "embedder": embedder}))
    return batches
