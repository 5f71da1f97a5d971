"""``DatasetFormat``, the contract of a dataset format, and JSON readers whose errors name the file and the line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import Dataset, format_count


@dataclass(frozen=True)
class DatasetSource:
    """A file or folder that may be a dataset. A JSON file is parsed once, even if several formats examine it."""

    path: Path

    @cached_property
    def samples(self) -> list[dict[str, Any]]:
        """The objects of a JSON file; raise an error unless it is a list of objects, as LoCoMo and LongMemEval are."""
        if self.path.is_dir():
            raise ArgumentError("dataset", f"{self.path} is a folder; LoCoMo and LongMemEval are JSON files")
        return read_object_list(self.path)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the first object of a JSON file; empty for a folder."""
        return frozenset(self.samples[0]) if self.path.is_file() and self.samples else frozenset()


class DatasetFormat(NamedTuple):
    """How to recognise a dataset format by content, how to read it, and which options of ``load_dataset`` it takes."""

    detect: Callable[[DatasetSource], bool]
    load: Callable[..., Dataset]
    options: frozenset[str]
    """The supported ones of ``level``, ``split``, ``pool`` and ``corrections``; ``load_dataset`` raises an error for
    the others."""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for each line of a file that is not blank; numbers start at 1."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except UnicodeDecodeError as error:
        raise IngestError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None


def read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (location, object) for each line of a JSONL file; the location, file and line, is for error messages."""
    for number, line in read_lines(path):
        location = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise IngestError(f"{location}: is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise IngestError(f"{location}: must be an object in braces, got {type(record).__name__}")
        yield location, record


def read_object_list(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON file; raise ``IngestError`` unless it is a list of objects."""
    try:
        records = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IngestError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise IngestError(f"{path}: is not JSON: {error}") from None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise IngestError(f"{path}: must be a list of objects in brackets")
    return records


def get_field(record: Any, name: str, expected_type: type | tuple[type, ...], location: str) -> Any:
    """Return a field of a record; raise ``IngestError`` if the field is missing or not of this type."""
    if not isinstance(record, Mapping):
        raise IngestError(f"{location}: must be an object in braces, got {type(record).__name__}")
    value = record.get(name)
    if not isinstance(value, expected_type):
        problem = "is missing" if value is None else f"cannot be {type(value).__name__}"
        raise IngestError(f"{location}: {name!r} {problem}")
    return value


def get_text(record: Any, name: str, location: str) -> str:
    """Return a field as text; raise ``IngestError`` unless it is a text or a whole number."""
    return str(get_field(record, name, (str, int), location))


def remarks(*counts: tuple[int, str, str]) -> tuple[str, ...]:
    """Return a remark for each (count, noun, predicate) whose count is not 0, such as ``2 questions left out``."""
    return tuple(f"{format_count(count, noun)} {predicate}" for count, noun, predicate in counts if count)
