"""Where a Milvus is, from an address such as ``milvus://host:19530/db`` or ``milvus:///home/me/notes.db``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from recollect.errors import ArgumentError
from recollect.stores.milvus.levels import checked_level

__all__ = ["Address", "read_address"]

PORT = 19530


class Address(NamedTuple):
    """A cluster's address, or the folder of Milvus Lite."""

    location: str
    """What can be shown: it has no password."""
    folder: Path | None = None
    uri: str = ""
    database: str = ""
    token: str = ""
    level: str = "Session"


def read_address(address: str) -> Address:
    """Return where an address leads.

    >>> read_address("milvus://ines:secret@example.org/notes?secure=true").location
    'milvus://example.org:19530/notes'
    >>> read_address("milvus:///home/ines/notes.db").folder.name
    'notes.db'
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise ArgumentError("target", f"is no address of Milvus ({error}); write milvus://host:port/db") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    level = checked_level("consistency", options.pop("consistency", "session"))
    if host is None:
        return _local(unquote(parts.path), options, level)
    secure = options.pop("secure", "false")
    if secure not in ("true", "false"):
        raise ArgumentError("secure", f"must be true or false, got {secure!r}")
    token = options.pop("token", "")
    if parts.username is not None:
        token = f"{unquote(parts.username)}:{unquote(parts.password or '')}".removesuffix(":")
    _check_no_more(options, "Milvus takes consistency, secure and token")
    database = unquote(parts.path).strip("/") or "default"
    _check_is_no_folder(parts.netloc, host, database)
    where = f"[{host}]" if ":" in host else host
    return Address(
        location=f"milvus://{where}:{port}/{database}",
        uri=f"{'https' if secure == 'true' else 'http'}://{where}:{port}",
        database=database,
        token=token,
        level=level,
    )


def _local(path: str, options: dict[str, str], level: str) -> Address:
    _check_no_more(options, "Milvus Lite takes consistency alone")
    if not path.strip("/") or "\0" in path:
        raise ArgumentError("target", "names neither a server nor a folder; write milvus:///path/name.db")
    folder = Path(path.removeprefix("/") if path.startswith("/~") else path).expanduser()
    return Address(location=f"milvus://{folder}", folder=folder, level=level)


def _check_no_more(options: dict[str, str], taken: str) -> None:
    for name in options:
        raise ArgumentError("target", f"has an option {name!r} that is not known here; {taken}")


def _check_is_no_folder(netloc: str, host: str, database: str) -> None:
    """Refuse a path with a slash too few, whose beginning would be taken for a server.

    No database of Milvus has a slash or a dot in its name.
    """
    file = netloc.endswith(".db") and database == "default"  # a port after it shows that a server is meant
    if file or host in {".", "..", "~"} or not {"/", "."}.isdisjoint(database):
        raise ArgumentError(
            "target",
            f"names the server {host!r} and its database {database!r}; for a folder of this machine, "
            "write milvus:///path/name.db with its whole path",
        )
