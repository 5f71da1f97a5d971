"""The files of the page, read once: what is not among them by name cannot be asked for."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import NamedTuple

__all__ = ["PageFile", "page_files"]

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class PageFile(NamedTuple):
    """A file as it is sent: its bytes, what they are, and a tag that changes with them."""

    body: bytes
    media_type: str
    tag: str


def page_files() -> dict[str, PageFile]:
    """Return every file of the page by its name.

    >>> page_files()["app.js"].media_type
    'text/javascript; charset=utf-8'
    """
    held = files("recollect.server.page").joinpath("files").iterdir()
    return {entry.name: _read(entry) for entry in held if PurePath(entry.name).suffix in _MEDIA_TYPES}


def _read(entry: Traversable) -> PageFile:
    body = entry.read_bytes()
    return PageFile(body, _MEDIA_TYPES[PurePath(entry.name).suffix], f'"{sha256(body).hexdigest()[:32]}"')
