"""A real HTTP server that responds to JSON requests with JSON, or with the errors that a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple, Self


class Response(NamedTuple):
    """An HTTP response."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 (never changed)


RequestBody = dict[str, Any]
"""The JSON body of a request."""


def as_json(content: Any) -> Response:
    return Response(body=json.dumps(content).encode())


class ThreadedServer:
    """An HTTP server of the standard library that runs in a thread during ``with``."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.done = Event()
        """Set when the test is over, to release waiting handlers."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=lambda: self._server.serve_forever(poll_interval=0.01))
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class JsonServer(ThreadedServer):
    """Responds with ``responses`` in turn, then with ``default_response``; records request bodies in ``requests``."""

    def __init__(self, default_response: Callable[[RequestBody], Response]) -> None:
        self.requests: list[RequestBody] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.responses: list[Response | Callable[[RequestBody], Response]] = []
        self.default_response = default_response
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(request)
                server.paths.append(self.path)
                server.keys.append(self.headers["Authorization"])
                next_response = server.responses.pop(0) if server.responses else server.default_response
                response = next_response if isinstance(next_response, Response) else next_response(request)
                try:
                    self.send_response(response.status)
                    for name, value in {"Content-Length": str(len(response.body)), **response.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(response.body)
                except OSError:  # the client disconnected
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)
        self.url = f"{self.root}/v1"

    def slow(self, request: RequestBody) -> Response:
        """Respond only when the test is over."""
        self.done.wait(30)
        return self.default_response(request)
