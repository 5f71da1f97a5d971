"""A real HTTP server that responds to JSON with JSON, or misbehaves on demand."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, NamedTuple, Self


class Answer(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 (never changed)


Question = dict[str, Any]


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
    """Responds with ``answers``, then with the results of ``answer``; records requests in ``questions``."""

    def __init__(self, response: Callable[[Question], Answer]) -> None:
        self.questions: list[Question] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer | Callable[[Question], Answer]] = []
        self.answer = response
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.questions.append(question)
                owner.paths.append(self.path)
                owner.keys.append(self.headers["Authorization"])
                response = owner.answers.pop(0) if owner.answers else owner.answer
                response = response if isinstance(response, Answer) else response(question)
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
