"""A local HTTP server with the part of the Hugging Face hub's protocol that a download needs, and with its failures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar, Self
from urllib.parse import unquote

import huggingface_hub
import huggingface_hub.constants
import pytest

from recollect.embedders import registry
from recollect.inference.catalogue import CatalogueEntry
from tests.embedders import tiny
from tests.rerankers import tiny as tiny_reranker

REPOSITORY = "tea/tiny"
COMMIT = "a" * 40


@dataclass
class Failures:
    """What the server does wrong."""

    status: int = 0  # the status of every response
    get_status: int = 0  # the status of every response with content, after correct headers
    error_code: str = ""  # the reason for the status, in the hub's own words
    break_after: int | None = None  # content ends after this many bytes
    breaks: int = 10**6  # how often content breaks off
    content: bytes | None = None  # sent instead of the file
    size: int | None = None  # declared instead of the file's size
    token: str = ""  # required from clients
    ignores_range: bool = False
    has_metadata: bool = True  # whether responses have ETag and commit
    has_length: bool = True
    content_after: Event | None = None  # content is sent after this event


@dataclass
class HubServer:
    """Serves repositories at ``url`` until the ``with`` block ends.

    A file of the weights is in storage of its own, as on the hub: requests for it are redirected.
    """

    files: dict[str, bytes] = field(default_factory=dict)  # the content by ``REPOSITORY/FILE``
    failures: Failures = field(default_factory=Failures)
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, path and Range
    url: str = ""
    storage_url: str = ""  # another host name, as on the hub: clients must not send their token there

    def add_folder(self, folder: Path, repository: str = REPOSITORY) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                self.files[f"{repository}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()

    def ranges(self) -> list[str]:
        """Return the Range of each request for content of the weights."""
        return [span for method, path, span in self.requests if method == "GET" and path.startswith("/storage/")]

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.storage_url = f"http://localhost:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[HubServer]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self._respond()

    def do_GET(self) -> None:
        self._respond()

    def _respond(self) -> None:
        path = unquote(self.path)
        failures = self.hub.failures
        self.hub.requests.append((self.command, path, self.headers.get("Range", "")))
        if failures.status:
            self._send(failures.status, {"X-Error-Code": failures.error_code})
        elif path.startswith("/storage/"):
            assert "Authorization" not in self.headers
            self._send_content(self.hub.files[path.removeprefix("/storage/")])
        elif failures.token and self.headers.get("Authorization") != f"Bearer {failures.token}":
            self._send(401, {"X-Error-Code": "GatedRepo"})
        elif path.startswith("/api/models/"):
            repository = path.removeprefix("/api/models/").partition("/revision/")[0]
            body = json.dumps({"id": repository, "sha": COMMIT, "tags": [], "siblings": []}).encode()
            self._send(200, {"Content-Type": "application/json"}, body)
        else:
            self._resolve(path)

    def _resolve(self, path: str) -> None:
        repository, _, rest = path.removeprefix("/").partition("/resolve/")
        revision, _, name = rest.partition("/")
        content = self.hub.files.get(f"{repository}/{name}")
        if revision != COMMIT:
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif content is None:
            self._send(404, {"X-Error-Code": "EntryNotFound"})
        elif name.endswith(".json"):
            etag = hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()
            self._send_content(content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})
        else:
            size = len(content) if self.hub.failures.size is None else self.hub.failures.size
            headers = {
                "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Linked-Size": str(size),
                "X-Repo-Commit": COMMIT,
            }
            location = {"Location": f"{self.hub.storage_url}/storage/{repository}/{name}"}
            self._send(302, location | (headers if self.hub.failures.has_metadata else {}))

    def _send_content(self, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        failures = self.hub.failures
        if failures.get_status and self.command == "GET":
            self._send(failures.get_status, {}, b'{"error": "out of order"}')
            return
        content = content if failures.content is None else failures.content
        span = self.headers.get("Range", "")
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and not failures.ignores_range else 0
        body = content[start:]
        fields = dict(headers or {}) if failures.has_metadata else {}
        self.send_response(206 if span and not failures.ignores_range else 200)
        for name, value in fields.items():
            self.send_header(name, value)
        if span and not failures.ignores_range:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if failures.has_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "GET":
            if failures.content_after is not None:
                failures.content_after.wait(30)
            if failures.break_after is not None and failures.breaks:
                failures.breaks -= 1
                body = body[: failures.break_after]
                self.close_connection = True
            self.wfile.write(body)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@contextmanager
def local_hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[HubServer]:
    """Serve a hub to which downloads of this process and its children go; all caches are in ``folder``."""
    monkeypatch.setenv("NO_PROXY", "*")
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("RECOLLECT_CACHE", str(folder / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder / "hf-cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(folder / "no-token"))
    # huggingface_hub would ask huggingface.co for this list.
    (folder / "harnesses.json").write_text('{"standardEnvVars": [], "harnesses": {}}')
    monkeypatch.setattr(huggingface_hub.constants, "AGENT_HARNESSES_PATH", str(folder / "harnesses.json"))
    huggingface_hub.close_session()
    with HubServer() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running
    huggingface_hub.close_session()


def entry_of(folder: Path, **fields: Any) -> CatalogueEntry:
    """Return the entry of the model in a folder, with the hashes of its files."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    defaults: dict[str, Any] = {
        "name": "tiny",
        "kind": "embedder",
        "about": "four words",
        "repository": REPOSITORY,
        "revision": COMMIT,
        "files": files,
        "file": "onnx/model.onnx",
        "precision": "float32",
        "licence": "MIT",
        "megabytes": 1,
        "parameters": 1,
        "languages": "en",
        "max_tokens": 8,
        "dimension": 3,
        "pooling": "cls",
    }
    return CatalogueEntry(**(defaults | fields))


def write_embedder(folder: Path, **graph: Any) -> CatalogueEntry:
    """Write a tiny embedding model as the hub has it, with the graph in a sub-folder, and return its entry."""
    folder.mkdir(parents=True)
    tiny.write_tokenizer(folder)
    tiny.write_graph(folder / "onnx" / "model.onnx", **graph)
    return entry_of(folder)


def use_only_embedder(monkeypatch: pytest.MonkeyPatch, entry: CatalogueEntry) -> None:
    """Replace the catalogue by one embedder: "auto" chooses it if it is installed, or else the static model."""
    # The module that defines the function is last: a module that is imported now must not import the replacement.
    for module in ("recollect.cli.models", "recollect.embedders.registry", "recollect.inference.catalogue"):
        monkeypatch.setattr(f"{module}.catalogue", lambda: {entry.name: entry})
    embedders = {entry.name: registry._catalogue_embedder(entry), "static": registry.EMBEDDERS["static"]}
    for module in ("recollect.embedders.registry", "recollect.opening"):
        monkeypatch.setattr(f"{module}.EMBEDDERS", embedders)
    monkeypatch.setattr(registry, "_SPEC_READER", registry._SPEC_READER._replace(registry=embedders))


def write_reranker(folder: Path) -> CatalogueEntry:
    """Write a tiny cross-encoder, and return its entry."""
    folder.mkdir(parents=True)
    tiny_reranker.write_tokenizer(folder)
    tiny_reranker.write_graph(folder / "onnx" / "model.onnx", tiny_reranker.make_weights(1))
    return entry_of(folder, name="tiny-reranker", kind="reranker", dimension=0, pooling="", repository="tea/reranker")
