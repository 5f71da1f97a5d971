"""``recollect mcp``: the options of each transport, and errors before it serves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import httpx
import pytest
import uvicorn

import recollect
from recollect import opening
from recollect.errors import EmbedderError
from recollect.server.auth import KeyRing
from tests.cli.conftest import Run, error_of

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
KEY = "AKIA" + "Z7QW2MNB4KXC3TRE"
HEADERS = {"Accept": "application/json, text/event-stream"}


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Let no process outlive its test, however that goes."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_mcp_rejects_options_without_effect(run: Run) -> None:
    assert error_of(run("mcp", "--port", "1"), 2) == "--port requires --http; see recollect mcp --help"
    assert error_of(run("mcp", "--host", "::1"), 2) == "--host requires --http; see recollect mcp --help"
    assert error_of(run("mcp", "--keys", "keys.json"), 2) == "--keys requires --http; see recollect mcp --help"
    message = "cannot be used with --http, where keys define the rights; see recollect mcp --help"
    assert error_of(run("mcp", "--http", "--namespace", "tea"), 2) == f"--namespace {message}"
    assert error_of(run("mcp", "--http", "--read-only"), 2) == f"--read-only {message}"
    assert not Path("recollect.db").exists()


def test_mcp_http_requires_keys_for_other_machines(run: Run) -> None:
    message = error_of(run("mcp", "--http", "--host", "0.0.0.0"), 2)  # noqa: S104 (that is the question)
    assert message.startswith("keys: are required, since other machines can reach 0.0.0.0")
    assert not Path("recollect.db").exists()


def test_mcp_without_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "recollect.server.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    assert error_of(run("mcp"), 1) == "mcp.server.stdio is missing; pip install 'recollectdb[server]'"


def test_mcp_missing_keys_file(run: Run) -> None:
    assert error_of(run("mcp", "--http", "--keys", "keys.json"), 1).startswith("the key file keys.json does not exist")
    assert not Path("recollect.db").exists()


class TestStandardInput:
    def served(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """Let nothing come in, and keep what would have been served to whom."""
        calls: list[Any] = []
        monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", lambda *given: calls.append(given))
        return calls

    def test_mcp_serves_all_namespaces(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = self.served(monkeypatch)
        assert run("mcp").exit_code == 0
        ((_, caller),) = calls
        assert (caller.grant.namespaces, str(caller.grant.right)) == (None, "admin")

    def test_mcp_serves_one_namespace_read_only(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = self.served(monkeypatch)
        assert run("mcp", "--namespace", "tea", "--read-only").exit_code == 0
        ((_, caller),) = calls
        assert (caller.grant.namespaces, str(caller.grant.right)) == ({"tea"}, "read")

    @pytest.mark.parametrize(
        ("options", "stored"),
        [([], "content: contains a secret"), (["--secrets", "none"], KEY), (["--secrets", "redact"], "«redacted: ")],
    )
    def test_mcp_refuses_secrets(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], stored: str
    ) -> None:
        message: list[str] = []

        def remember(memory: recollect.Memory, _: Any) -> None:
            try:
                message.append(memory.add(f"The key is {KEY}.").content)
            except recollect.SecretFoundError as error:
                message.append(str(error))

        monkeypatch.setattr("recollect.server.mcp.server.serve_stdio", remember)
        assert run("mcp", *options).exit_code == 0
        assert stored in message[0]

    def test_mcp_loads_the_model_at_the_start(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.embedder(monkeypatch, lambda texts: [[1.0, 0.0] for _ in texts])
        calls = self.served(monkeypatch)
        assert run("mcp").exit_code == 0
        assert len(asked) == len(calls) == 1

    def test_mcp_without_a_model(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(texts: Any) -> Any:
            raise EmbedderError(f"cannot be loaded for {len(texts)} text")

        self.embedder(monkeypatch, fails)
        calls = self.served(monkeypatch)
        result = run("mcp")
        assert (result.exit_code, len(calls)) == (0, 1)
        assert result.stderr == "warning: searches are lexical only: cannot be loaded for 1 text\n"
        assert result.stdout == ""

    def embedder(self, monkeypatch: pytest.MonkeyPatch, function: Callable[[Any], Any]) -> list[Any]:
        asked: list[Any] = []

        class Own(recollect.embedders.ModelEmbedder):
            def _vectors(self, texts: list[str]) -> Any:
                asked.append(texts)
                return function(texts)

        usual = opening.open
        own = {"embedder": Own("own", "")}
        monkeypatch.setattr(opening, "open", lambda *given, **more: usual(*given, **{**more, **own}))
        return asked


class TestHttp:
    def test_mcp_http_process(self, tmp_path: Path) -> None:
        _, key = KeyRing(tmp_path / "keys.json").add("kettle", ["tea"], "read")
        known = {**HEADERS, "Authorization": f"Bearer {key}"}
        with ended(
            subprocess.Popen(
                [sys.executable, "-m", "recollect", "mcp", "--http", "--port", "0", "--keys", "keys.json"],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        ) as process:
            assert process.stdout
            message = process.stdout.readline()
            assert message.startswith("serving recollect.db at http://127.0.0.1:")
            url = message.split()[3].removesuffix(";")
            assert httpx.post(url, json=LIST, headers=HEADERS).status_code == 401
            answer = httpx.post(url, json=LIST, headers=known)
            assert "recall" in {tool["name"] for tool in answer.json()["result"]["tools"]}
            assert httpx.get(url.replace("/mcp", "/v1/stats"), headers=known).status_code == 404
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
            assert (process.returncode, out, "Traceback" in err) == (0, "", False)

    def test_mcp_http_in_this_process(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        answers: list[int] = []
        before = signal.getsignal(signal.SIGTERM)

        def asked_once(self: uvicorn.Server, sockets: Any = None) -> None:
            """Serve as ever, until one question was answered and the signal came that ends it."""
            port = sockets[0].getsockname()[1]

            def ask() -> None:
                sleep(0.5)  # until it is ready, which is what is message then
                answers.append(httpx.post(f"http://127.0.0.1:{port}/mcp", json=LIST, headers=HEADERS).status_code)
                os.kill(os.getpid(), signal.SIGTERM)

            Thread(target=ask).start()
            usual(self, sockets)

        usual = uvicorn.Server.run
        monkeypatch.setattr(uvicorn.Server, "run", asked_once)
        result = run("mcp", "--http", "--port", "0")
        assert (result.exit_code, answers) == (0, [200])
        assert result.stdout.startswith("serving recollect.db at http://127.0.0.1:")
        assert result.stdout.endswith("/mcp; ready, Ctrl-C stops\n")
        assert signal.getsignal(signal.SIGTERM) is before
