"""Files of JSON and of lines, read with errors that name the file and the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import IngestError

__all__ = ["field_of", "lines_of", "objects_in", "read_json_file", "text_of"]


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except UnicodeDecodeError as error:
        raise IngestError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None


def objects_in(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a file with one JSON object a line, each with what to call its place in an error."""
    for number, line in lines_of(path):
        place = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise IngestError(f"{place}: is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise IngestError(f"{place}: must be an object in braces, got {type(record).__name__}")
        yield place, record


def read_json_file(path: Path) -> Any:
    """Return the data of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IngestError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise IngestError(f"{path}: is not JSON: {error}") from None


def field_of(record: Any, name: str, kind: type | tuple[type, ...], place: str) -> Any:
    """Return the field of a record that must be there and of this kind."""
    if not isinstance(record, Mapping):
        raise IngestError(f"{place}: must be an object in braces, got {type(record).__name__}")
    if not isinstance(value := record.get(name), kind):
        told = "is missing" if value is None else f"cannot be {type(value).__name__}"
        raise IngestError(f"{place}: {name!r} {told}")
    return value


def text_of(record: Any, name: str, place: str) -> str:
    """Return the text of a record's field that must be there; a number is as good as its digits."""
    return str(field_of(record, name, (str, int), place))
