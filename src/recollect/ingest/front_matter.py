"""Parse front matter: YAML between two lines of ``---`` at the top of a Markdown file.

PyYAML parses the syntax; this module converts the values. Plain YAML reads ``no``, ``on``, ``12:30``, ``007`` and dates
as something else than the text that people mean. Here only numbers, ``true``, ``false`` and ``null`` are not text.
References (``*name``) are errors, because a few lines of them can expand to gigabytes. Messages name the line of the
file, which libraries for front matter do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, cast

from recollect.errors import ArgumentError
from recollect.ingest.dates import parse_date, parse_expiry
from recollect.ingest.links import RESOLVED_KINDS
from recollect.ingest.paths import is_one_line
from recollect.ingest.source import Problem, UnreadableError
from recollect.model import NOTE_FIELDS, Link
from recollect.text import collapse_whitespace

MAX_CHARS = 65_536  # the maximum length of front matter; it is limited because every note of the file repeats it

_KEYS_OF_FIELD = {
    "title": ("title",),
    "tags": ("tags", "tag"),
    "summary": ("summary", "description"),
    "created_at": ("created_at", "created", "date"),
    "updated_at": ("updated_at", "updated"),
    "expires_at": ("expires_at", "expires"),
    "importance": ("importance",),
}
FIELD_OF_KEY = {key: name for name, keys in _KEYS_OF_FIELD.items() for key in keys}
"""The field of a note that each key sets; other keys become links or metadata."""

_LINK_KIND_ALIASES = {"replaces": "supersedes", "replaced-by": "superseded-by"}

_DELIMITER = re.compile(r"---[^\S\n]*$")
_END = re.compile(r"^(?:---|\.\.\.)[^\S\n]*$", re.MULTILINE)  # a line of --- or ...
_EMPTY_LINES_AND_COMMENTS = re.compile(r"(?:[^\S\n]*+(?:#[^\n]*+)?\n)*+")
_KEY = re.compile(r"""(?:[^\s:#\-\[{"'][^:\n]*|"[^"\n]*"|'[^'\n]*'):(?:\s|$)""")  # a plain or quoted key, and a colon
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_CONSTANTS |= {word: value for name, value in _CONSTANTS.items() for word in (name.title(), name.upper())}  # Null, NULL
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")  # fits into 64 bits; 007, with leading zeros, does not match
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


@dataclass(slots=True)
class FrontMatter:
    """The front matter of a file as fields of a note."""

    end: int  # the offset of the text below the front matter; 0 if the file has no front matter
    fields: dict[str, Any] = field(default_factory=dict)  # checked values of title, summary, dates and importance
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def parse_front_matter(text: str, name: str) -> FrontMatter:
    """Return the front matter of ``text``, the text of the file ``name``.

    A value that is not valid for its field becomes metadata, and is reported as a problem.
    """
    entries, end = split_front_matter(text, name)
    front = FrontMatter(end)
    for key, (value, line) in entries.items():
        if value is None:
            continue
        plain_key = key.strip().lower().replace("_", "-")
        note_field = FIELD_OF_KEY.get(plain_key.replace("-", "_"))
        kind = _LINK_KIND_ALIASES.get(plain_key, plain_key)
        if kind in RESOLVED_KINDS:  # the key is a kind of link whose targets the ingest resolves
            front.links += tuple(Link(kind, target) for target in _targets(value))
        elif note_field == "tags":
            front.tags += tuple(_tags(value))
        elif note_field is None or note_field in front.fields:  # the first of two keys for the same field wins
            front.metadata[key] = value
        else:
            try:
                front.fields[note_field] = _PARSERS[note_field](key, value)
            except ArgumentError as error:
                front.metadata[key] = value
                front.problems.append(Problem(name, line, f"{error}; it is kept as metadata", skipped=False))
    return front


def split_front_matter(text: str, name: str) -> tuple[dict[str, tuple[Any, int]], int]:
    """Return (value, line number) for each key of the front matter, and the offset of the text below it.

    A first line ``---`` begins front matter if a ``key:`` follows, or if another line of ``---`` follows and the next
    line neither is empty nor starts with ``#``; else it is a rule. Malformed front matter raises ``UnreadableError``.
    """
    first, _, rest = text.partition("\n")
    if not _DELIMITER.match(first):
        return {}, 0
    start = len(first) + 1
    closing = _END.search(text, start)
    skipped = _EMPTY_LINES_AND_COMMENTS.match(rest)
    has_key = _KEY.match(rest, skipped.end() if skipped else 0) is not None
    if not has_key and (closing is None or rest.startswith(("\n", "#"))):
        return {}, 0  # a horizontal rule
    if closing is None:
        raise UnreadableError(name, 1, "the front matter that begins here has no end; close it with a line of ---")
    if closing.start() - start > MAX_CHARS:
        raise UnreadableError(
            name, 1, f"the front matter has more than {MAX_CHARS:,} characters; move some into the text"
        )
    return _parse_yaml(text[start : closing.start()], name), min(len(text), closing.end() + 1)


def _parse_yaml(source: str, name: str) -> dict[str, tuple[Any, int]]:
    """Return (value, line number) for each key of a YAML mapping, which starts in line 2 of the file."""
    import yaml  # noqa: PLC0415 (heavy, and many files have no front matter)

    try:
        for event in yaml.parse(source, yaml.BaseLoader) if "*" in source else ():
            if isinstance(event, yaml.AliasEvent):
                line = cast("Any", event).start_mark.line + 2
                message = "the front matter has references (*), which are not read; write the values out"
                raise UnreadableError(name, line, message)
        root = yaml.compose(source, yaml.BaseLoader)
        if isinstance(root, yaml.MappingNode):
            return {str(_value(key)): (_value(value), key.start_mark.line + 2) for key, value in root.value}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else 1
        raise UnreadableError(name, line, f"the front matter is not YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position) + 2
        raise UnreadableError(name, line, f"the front matter is not YAML: {error.reason}") from None
    except RecursionError:
        raise UnreadableError(name, 1, "the front matter is nested too deep") from None
    if root is None:
        return {}
    message = "the front matter must be lines of 'key: value'; if --- is meant as a rule, leave a line empty below it"
    raise UnreadableError(name, 2, message)


def _value(node: Any) -> Any:
    """Return the value of a YAML node as JSON-ready data; tags such as ``!!timestamp`` are ignored."""
    if node.id == "mapping":
        return {str(_value(key)): _value(value) for key, value in node.value}
    if node.id == "sequence":
        return [_value(item) for item in node.value]
    text: str = node.value
    if node.style is not None:  # a quoted or block text
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and isfinite(float(text)) else text


def strings_in(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a value and its nested lists as text; YAML reads ``[[Ines]]`` as nested lists."""
    if isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif value is not None and not isinstance(value, dict):
        yield str(value)


def _one_line(_: str, value: Any) -> str:  # like the other _PARSERS, called with a key and its value
    return collapse_whitespace(", ".join(strings_in(value)))


_PARSERS: Mapping[str, Callable[[str, Any], Any]] = {
    "title": _one_line,
    "summary": _one_line,
    "created_at": parse_date,
    "updated_at": parse_date,
    "expires_at": parse_expiry,
    "importance": NOTE_FIELDS["importance"].check,
}


def _tags(value: Any) -> Iterator[str]:
    """Yield the tags in a value: each item of a list is one tag, even with spaces; a text is split into words."""
    for text in strings_in(value):
        for part in [text] if isinstance(value, list) else re.split(r"[,\s]+", text):
            tag = collapse_whitespace(part).lstrip("#").strip("/ ")
            if tag and is_one_line(tag):
                yield tag


def _targets(value: Any) -> Iterator[str]:
    """Yield the link targets in a value: the targets of its wikilinks or, if there are none, the whole text."""
    for text in strings_in(value):
        for target in re.findall(r"\[\[([^\[\]]+)\]\]", text) or [text]:
            plain = collapse_whitespace(re.split(r"[|#]", target, maxsplit=1)[0])
            if plain and is_one_line(plain):
                yield plain
