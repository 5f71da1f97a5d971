"""A real HTTP server that responds to JSON requests with JSON, or with the errors that a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple, Self


class Answer(NamedTuple):
    """An HTTP response."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 (never changed)


Question = dict[str, Any]
"""The JSON body of a request."""


def as_json(content: Any) -> Answer:
    return Answer(body=json.dumps(content).encode())


class Listening:
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


class JsonServer(Listening):
    """Responds with ``answers`` in turn, then with what ``answer`` returns; records request bodies in ``questions``."""

    def __init__(self, answer: Callable[[Question], Answer]) -> None:
        self.questions: list[Question] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer | Callable[[Question], Answer]] = []
        self.answer = answer
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.questions.append(question)
                server.paths.append(self.path)
                server.keys.append(self.headers["Authorization"])
                answer = server.answers.pop(0) if server.answers else server.answer
                response = answer if isinstance(answer, Answer) else answer(question)
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

    def slow(self, question: Question) -> Answer:
        """Respond only when the test is over."""
        self.done.wait(30)
        return self.answer(question)
