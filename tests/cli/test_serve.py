"""The serve command; the server is tested in tests/server."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

import recollect
from recollect.server import KeyRing, mcp
from recollect.server.http import server
from tests.cli.conftest import Run, error_of
from tests.inference.hub import local_hub, use_only_embedder, write_embedder
from tests.server.http.running import process
from tests.server.http.test_operator_routes_reports import page


@pytest.fixture
def _slow_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Put a tiny model, the only one of the catalogue, on a hub that sends nothing before the end of the test."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    entry = write_embedder(tmp_path / "upstream")
    use_only_embedder(monkeypatch, entry)
    with local_hub(monkeypatch, tmp_path) as hub:
        hub.add_folder(tmp_path / "upstream")
        hub.failures.content_after = Event()
        yield
        hub.failures.content_after.set()


@pytest.fixture
def responses(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Response]:
    """Send one request to each server that is ready, and then stop it; return the responses."""
    received: list[httpx.Response] = []
    serve = server.serve

    def serve_one_request(*args: Any, on_ready: Any, **more: Any) -> None:
        def send_request(address: str) -> None:
            received.append(httpx.get(f"{address}/v1/stats"))
            os.kill(os.getpid(), signal.SIGTERM)

        def when_ready(address: str) -> None:
            on_ready(address)
            Thread(target=send_request, args=(address,)).start()

        serve(*args, on_ready=when_ready, **more)

    monkeypatch.setattr(server, "serve", serve_one_request)
    return received


def test_serve_prints_its_address_and_logs_json(run: Run, responses: list[httpx.Response]) -> None:
    result = run("serve", "--port", "0")
    assert result.exit_code == 0
    assert result.stdout.startswith("serving recollect.db at http://127.0.0.1:")
    assert [json.loads(line)["event"] for line in result.stderr.splitlines()] == ["ready", "request", "stopped"]
    assert responses[0].json()["notes"] == {}
    assert Path("recollect.db").exists()


@pytest.mark.parametrize(("options", "refuses"), [([], True), (["--secrets", "none"], False)])
@pytest.mark.usefixtures("responses")
def test_serve_mcp_refuses_secrets(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], *, refuses: bool
) -> None:
    extension = mcp.mcp_extension
    refused: list[bool] = []

    def add_secret(memory: recollect.Memory, *args: Any) -> Any:
        try:
            memory.add("AKIA" + "Z7QW2MNB4KXC3TRE")
        except recollect.SecretFoundError:
            refused.append(True)
        else:
            refused.append(False)
        return extension(memory, *args)

    monkeypatch.setattr(mcp, "mcp_extension", add_secret)
    assert run("serve", "--port", "0", *options).exit_code == 0
    assert refused == [refuses]


def test_serve_reports(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "tea.html").write_text(page())
    with process(tmp_path, "--reports", "studies") as server:
        (listed,) = httpx.get(f"{server.url}/v1/reports").json()["reports"]
        assert listed["name"] == "tea.html"
        assert httpx.get(f"{server.url}/v1/reports/tea.html").text == page()


def test_serve_json_and_quiet(run: Run, responses: list[httpx.Response]) -> None:
    result = run("serve", "--port", "0", "--json", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")  # only warnings and errors are logged
    assert responses[0].status_code == 200


def test_serve_log_in_a_terminal(run: Run, responses: list[httpx.Response], monkeypatch: pytest.MonkeyPatch) -> None:
    KeyRing("k").add("x", None, "read")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    result = run("serve", "--port", "0", "--keys", "k")
    assert ", with keys; ready, Ctrl-C stops\n" in result.stdout
    assert " info request method=GET route= status=401 " in result.stderr
    assert responses[0].status_code == 401


def test_serve_errors(run: Run) -> None:
    message = error_of(run("serve", "--host", "0.0.0.0"), 2)  # noqa: S104 (it is rejected)
    assert message.startswith("keys: are required, since other machines can reach 0.0.0.0")
    assert not Path("recollect.db").exists()
    assert "the key file nowhere does not exist" in error_of(run("serve", "--keys", "nowhere"), 1)
    Path("odd.db").write_text("no memory" * 1000)
    assert "odd.db" in error_of(run("serve", "--db", "odd.db"), 1)
    assert "preset" in error_of(run("serve", "--preset", "none"), 2)
    message = error_of(run("serve", "--reports", "nowhere"), 2)
    assert message.startswith("reports: must be an existing folder, got 'nowhere'")
    assert "host" in error_of(run("serve", "--host", "nowhere.invalid", "--keys", _keys()), 2)


def _keys() -> str:
    KeyRing("k").add("x", None, "read")
    return "k"


@pytest.mark.usefixtures("_slow_hub")
def test_serve_downloads_the_model(run: Run, responses: list[httpx.Response]) -> None:
    result = run("serve", "--port", "0", "--embedder", "auto")
    assert result.exit_code == 0
    assert responses[0].json()["embedder"].startswith("no embedder: tiny is being downloaded")
    assert "tiny (1 MB) is being downloaded; search is lexical until then" in result.stderr


@pytest.mark.usefixtures("_slow_hub")
def test_serve_without_a_download(run: Run, responses: list[httpx.Response]) -> None:
    result = run("serve", "--port", "0", "--embedder", "auto", "--no-download")
    assert result.exit_code == 0
    assert "static token vectors" in responses[0].json()["embedder"]
    assert "being downloaded" not in result.stderr


@pytest.mark.usefixtures("responses")
def test_serve_warns_of_vectors_of_another_model(run: Run) -> None:
    with recollect.open("recollect.db", embedder=lambda texts: [[1.0, 2.0]] * len(texts)) as memory:
        memory.add("tea")
    assert "reindex the memory" in run("serve", "--port", "0", "--embedder", "static").stderr


def test_serve_without_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "recollect.server.http.server", None)
    assert error_of(run("serve"), 1) == "the server is not installed; pip install 'recollectdb[server]'"
