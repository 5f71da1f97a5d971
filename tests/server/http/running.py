"""A real server on a free port: in a thread of this process, or as a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from time import monotonic, sleep
from typing import IO, Any, NamedTuple

import httpx

from recollect import Memory
from recollect.server import KeyRing
from recollect.server.http import Extension, Settings, create_app
from recollect.server.http.request_log import RequestObserver
from recollect.server.http.server import Server, bind, uvicorn_config


class Running(NamedTuple):
    url: str
    client: httpx.Client
    app: Any


@contextmanager
def running(
    memory: Memory,
    settings: Settings | None = None,
    *,
    ring: KeyRing | None = None,
    observers: Sequence[RequestObserver] = (),
    extensions: Sequence[Extension] = (),
    warm: bool = True,
    port: int = 0,
) -> Iterator[Running]:
    """Serve a memory in a thread, on a free port unless one is named."""
    selected = settings or Settings(require_keys=ring is not None, rate=0)
    app = create_app(memory, selected, ring=ring, observers=observers, extensions=extensions)
    listener = bind(Settings(port=port))
    server = Server(uvicorn_config(app, replace(selected, shutdown_timeout=5)))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=url, timeout=30) as client:
            wait_until(lambda: server.started)
            if warm:
                wait_until(lambda: client.get("/ready").status_code == 200)
            yield Running(url, client, app)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class Process(NamedTuple):
    url: str
    process: subprocess.Popen[str]
    line: str
    """The line that it printed when ready."""
    log: IO[str]


@contextmanager
def process(folder: Path, *options: str, **environment: str) -> Iterator[Process]:
    """Run ``recollect serve`` in ``folder``; it is killed if it still runs at the end."""
    command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--embedder", "none", *options]
    with TemporaryFile("w+") as log:
        started = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
        assert started.stdout
        with started.stdout:
            line = started.stdout.readline()
            try:
                yield Process(line.partition(" at ")[2].partition(",")[0], started, line, log)
            finally:
                started.kill()
                started.wait()


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until a condition is true, or fail."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, "the condition was never true"
        sleep(0.01)
