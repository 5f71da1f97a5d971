"""A real HTTP server that sends scripted replies and records requests."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.serving import ThreadedServer


class ReceivedRequest(NamedTuple):
    method: str
    path: str
    parameters: list[tuple[str, str]]
    body: Any
    key: str | None


class Reply(NamedTuple):
    body: Any = None
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 (never changed)


BREAK = Reply(status=0)
"""Close the connection without a response."""
SILENCE = Reply(status=-1)
"""Do not respond until the test is over."""


class ScriptedServer(ThreadedServer):
    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[ReceivedRequest] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def response(self) -> None:
                text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                parts = urlsplit(self.path)
                body = json.loads(text) if text else None
                key = self.headers["Authorization"]
                owner.requests.append(ReceivedRequest(self.command, parts.path, parse_qsl(parts.query), body, key))
                reply = owner.replies.pop(0)
                if reply is SILENCE:
                    owner.done.wait(30)
                if reply in (BREAK, SILENCE):
                    self.close_connection = True
                    return
                data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                content = b"" if reply.body is None else data
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = response  # noqa: N815 (names of the base class)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)
        self.url = self.root
