"""Where a Milvus is, from an address such as ``milvus://host:19530/db`` or ``milvus:///home/me/notes.db``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from recollect.errors import ArgumentError
from recollect.stores.milvus.levels import LEVELS

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
    parts, host, port = _split(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    level = LEVELS[_choice(options, "consistency", "session", tuple(LEVELS))]
    if host is None:
        return _local(unquote(parts.path), options, level)
    secure = _choice(options, "secure", "false", ("true", "false"))
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


def _split(address: str) -> tuple[SplitResult, str | None, int]:
    """Return the parts of an address, its host and its port. What is wrong with one is not repeated: see below."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        pass
    else:
        # What a slash, a question mark or a # in a password cuts off, up to the @ before the host, lies in these.
        options = [each for each in parts.query.split("&") if not each.startswith("token=")]
        if not parts.fragment and (host is None or not any("@" in rest for rest in (parts.path, *options))):
            return parts, host, port
    raise ArgumentError(
        "target",
        "is no address of Milvus; write milvus://user:password@host:port/db or milvus:///path/name.db, "
        "with %2F for a slash in the password, %3F for a question mark, %23 for a #",
    )


def _choice(options: dict[str, str], name: str, otherwise: str, choices: tuple[str, ...]) -> str:
    value = options.pop(name, otherwise)
    if value not in choices:
        *some, last = choices
        raise ArgumentError("target", f"has {name}={value}; give {', '.join(some)} or {last}")
    return value


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
