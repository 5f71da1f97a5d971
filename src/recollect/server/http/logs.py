"""What a server writes about itself: a line for each request and each thing that went wrong.

Lines hold the route's template, not what was asked for; the id of a key, not the key; where something failed, not what
it said, which may be somebody's words.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, TextIO

from recollect.server.http.finished import Finished

__all__ = ["Log"]

AGAIN = timedelta(seconds=10)
"""How long a library must wait to say the same thing again."""
MOST = 100
"""How many different things it is remembered to have said."""


class Log:
    r"""Writes events as lines: of JSON for programs, or of words for a person.

    >>> import sys
    >>> clock = lambda: datetime(2026, 4, 18, 7, 30, tzinfo=UTC)
    >>> Log(sys.stdout, clock=clock).write("listening", address="http://127.0.0.1:7700")
    {"time": "2026-04-18T07:30:00.000Z", "level": "info", "event": "listening", "address": "http://127.0.0.1:7700"}
    >>> Log(sys.stdout, as_json=False, clock=clock).write("stopped", level="warning", why="a signal")
    07:30:00 warning stopped why=a signal
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        as_json: bool = True,
        requests: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Write to ``stream``; ``requests`` is whether those that went well are worth a line."""
        self._stream = stream
        self._as_json = as_json
        self._requests = requests
        self._clock = clock

    def write(self, event: str, *, level: str = "info", **fields: Any) -> None:
        """Write one line."""
        now = self.now()
        if self._as_json:
            time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = json.dumps({"time": time, "level": level, "event": event, **fields})
        else:
            line = " ".join([f"{now:%H:%M:%S}", level, event, *(f"{name}={value}" for name, value in fields.items())])
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def now(self) -> datetime:
        """Return what time a line would have."""
        return self._clock()

    def finished(self, request: Finished) -> None:
        """Write a line about a request."""
        if request.fault is None and request.status < 500 and not self._requests:
            return
        fields: dict[str, Any] = {
            "method": request.method,
            "route": request.route,
            "status": request.status,
            "ms": round(request.seconds * 1000, 2),
            "request_id": request.request_id,
        }
        if request.key_id:
            fields["key"] = request.key_id
        if request.fault is not None:
            fields |= {"fault": type(request.fault).__name__, "at": _places(request.fault)}
        self.write("request", level=_level(request.status), **fields)

    def handler(self) -> logging.Handler:
        """Return what takes in the lines of libraries that log as Python does."""
        return _Handler(self)


class _Handler(logging.Handler):
    """Passes on what a library says of itself, and of an error only where it was; what it repeats is counted."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._said: dict[str, tuple[datetime, int]] = {}
        """When each thing was last written, and how often it was said since."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            fields["message"] = record.getMessage()
        else:
            fields |= {"fault": type(error).__name__, "at": _places(error)}
        said, now = repr(fields), self._log.now()
        written, repeated = self._said.get(said, (None, 0))
        if written is not None and now - written < AGAIN:
            self._said[said] = (written, repeated + 1)
            return
        if repeated:
            fields["repeated"] = repeated
        if len(self._said) >= MOST:
            self._said.clear()
        self._said[said] = (now, 0)
        self._log.write("library", level=record.levelname.lower(), **fields)


def _level(status: int) -> str:
    """Return how bad it is: 503 says come back later, which is no fault."""
    return "warning" if status == 503 else "error" if status >= 500 else "info"


def _places(error: BaseException) -> list[str]:
    """Return where an error came from, the last place first."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)][:8]
