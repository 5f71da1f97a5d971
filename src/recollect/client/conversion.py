"""Convert notes, filters, documents, results and errors to and from the JSON of the HTTP API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from math import fsum, isfinite
from os import PathLike
from pathlib import PurePath
from typing import Any

from recollect import errors
from recollect.model import NOTE_FIELDS, Candidate, Contribution, Filters, Hit, Note, RankedHits, Step
from recollect.retrieval import Preset
from recollect.text import well_formed

Document = Mapping[str, str] | tuple[str | PathLike[str], str]
"""The text of a file and its path: a pair, or a mapping with ``path`` and ``content``."""

ERROR_TYPES: dict[str, type[errors.RecollectError]] = {
    "forbidden": errors.ForbiddenError,
    "invalid": errors.ArgumentError,
    "malformed": errors.ArgumentError,
    "model-unavailable": errors.EmbedderError,
    "note-not-found": errors.NoteNotFoundError,
    "read-only": errors.StoreReadOnlyError,
    "store-busy": errors.StoreBusyError,
    "store-full": errors.StoreFullError,
    "store-unavailable": errors.StoreUnavailableError,
    "too-large": errors.ArgumentError,
    "unauthorised": errors.ForbiddenError,
}
"""The error class for each problem type of the server; any other type is a ``ServerError``."""


@dataclass(frozen=True, slots=True, repr=False)
class RemoteResult(RankedHits):
    """The result of a search on a server: a sequence of hits, best first.

    >>> result = RemoteResult("tea", (), ("vector search is unavailable",))
    >>> len(result), result.warnings
    (0, ('vector search is unavailable',))
    """

    query: str
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    """Messages about parts of the search that were unavailable, and about changes of the query."""
    trace: Mapping[str, Any] = field(default_factory=dict)
    """The trace as JSON, if requested."""
    explanation: str = ""
    """The explanation as text, if requested."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""
    excluded: tuple[str, ...] = ()
    """Terms that the query excludes by NOT; no hit contains one of them."""


def to_json(value: Any) -> Any:
    """Return ``value`` as JSON-ready data: dates as ISO 8601, filters and notes as objects, tuples as lists."""
    if isinstance(value, date):  # or a datetime, its subclass
        return value.isoformat()
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float) and not isfinite(value):
        raise errors.ArgumentError("note", f"cannot contain {value}, which JSON does not have")
    if isinstance(value, Note):
        return note_to_json(value)
    if isinstance(value, Preset):
        raise errors.ArgumentTypeError("preset", "must be the name of a preset of the server")
    if isinstance(value, Filters):
        no_filters = Filters()
        values = {entry.name: getattr(value, entry.name) for entry in fields(Filters)}
        return to_json({name: item for name, item in values.items() if item != getattr(no_filters, name)})
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [to_json(item) for item in value]
    return value


def note_to_json(note: Note | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON body that sends a note, some of its fields, or its text; the namespace is left out."""
    if isinstance(note, str):
        return {"content": well_formed(note)}
    data = note.to_dict() if isinstance(note, Note) else note
    if not isinstance(data, Mapping):
        raise errors.ArgumentTypeError("note", f"must be a Note, a mapping or a string, got {type(note).__name__}")
    present = {name: value for name, value in data.items() if name != "namespace" and value is not None}
    if isinstance(note, Note):  # an empty field counts as missing, except the content, which is required
        present = {name: value for name, value in present.items() if value != "" or name == "content"}
    return {name: to_json(value) for name, value in present.items()}


def note_from_json(data: Mapping[str, Any]) -> Note:
    """Return a note from its JSON; fields that only a newer server sends are ignored."""
    return Note(**{name: value for name, value in data.items() if name in NOTE_FIELDS})


def hit_from_json(data: Mapping[str, Any]) -> Hit:
    """Return a hit from its JSON, the inverse of ``Hit.to_dict``."""
    candidate = Candidate.from_mapping(data, argument="hit")
    contributions = data.get("contributions") or ()
    candidate.evidence = tuple(item[name] for item in contributions for name in Contribution._fields)  # one flat tuple
    candidate.steps = tuple(Step(*(step[name] for name in Step._fields)) for step in data.get("steps") or ())
    relevance = data.get("relevance")
    if relevance is not None:  # the server does not send the ceiling, but relevance is fused score / ceiling
        fused_score = fsum(contribution["points"] for contribution in contributions)
        candidate.ceiling = fused_score / relevance if relevance else 0.0
        if relevance and not fused_score:  # the note only has the relevance of a note that it supersedes
            candidate.inherited_relevance = relevance
    spans = tuple((start, end) for start, end in data.get("highlights") or ())
    return Hit(data["rank"], candidate, spans)


def result_from_json(data: Mapping[str, Any]) -> RemoteResult:
    """Return the result of a search from its JSON."""
    return RemoteResult(
        data["query"],
        tuple(hit_from_json(hit) for hit in data["hits"]),
        tuple(data.get("warnings") or ()),
        data.get("trace") or {},
        data.get("explanation") or "",
        data.get("answer_threshold") or 0.0,
        tuple(data.get("excluded") or ()),
    )


def filters_to_parameters(filters: Filters | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return filters as URL parameters of a listing: pairs of name and value, with one pair for each tag."""
    return [
        ("tag" if name == "tags" else name, item)
        for name, value in to_json(Filters.of(filters)).items()
        for item in (value if isinstance(value, list) else [value])
    ]


def document_to_json(document: Document) -> dict[str, str]:
    """Return the text of a file and its path as JSON."""
    if isinstance(document, Mapping):
        return {"path": document["path"], "content": document["content"]}
    path, content = document
    return {"path": PurePath(path).as_posix(), "content": content}


def response_error(status: int, problem: Mapping[str, Any], server: str) -> errors.RecollectError:
    """Return the error for an error response; ``problem`` is its JSON (RFC 9457), or empty if it has none."""
    error_type = ERROR_TYPES.get(str(problem.get("type")).removeprefix("urn:recollect:"), errors.ServerError)
    detail = str(problem.get("detail") or f"responded with status {status}")
    if error_type is errors.ServerError:
        return errors.ServerError(f"{server}: {detail}" if problem.get("detail") else f"{server} {detail}")
    if error_type is not errors.ArgumentError:
        return error_type(detail)
    field_errors = problem.get("errors")
    if not field_errors:
        return errors.ArgumentError("request", detail)
    name, detail = field_errors[0]["field"], field_errors[0]["detail"]
    location, dot, field_name = name.partition(".")  # such as "body.title", or only a name
    return errors.ArgumentError(field_name if dot and location in ("body", "query", "path") else name, detail)
