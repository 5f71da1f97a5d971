"""Front matter: what a Markdown file says of itself, in YAML between two lines of ``---`` at its top.

Words stay words: ``no``, ``on``, ``12:30``, ``007`` and dates are text here, as people mean them; only what looks like
a number, ``true``, ``false`` or ``null`` is one. References to other parts of the YAML are refused, because a few lines
of them can stand for gigabytes.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from recollect.ingest.problems import UnreadableError

if TYPE_CHECKING:
    import yaml

__all__ = ["Entry", "FrontMatter", "split_front_matter"]

LONGEST = 65_536
"""Front matter goes with every note of its file, so that more of it than this is refused."""

_DELIMITER = re.compile(r"---[^\S\n]*$")
_END = re.compile(r"^(?:---|\.\.\.)[^\S\n]*$", re.MULTILINE)
_NOTHING = re.compile(r"(?:[^\S\n]*+(?:#[^\n]*+)?\n)*+")
"""Empty lines and comments."""
_KEY = re.compile(r"""(?:[^\s:#\-\[{"'][^:\n]*|"[^"\n]*"|'[^'\n]*'):(?:\s|$)""")


class Entry(NamedTuple):
    r"""A value of the front matter, and its line in the file.

    >>> split_front_matter("---\ntitle: Tea\n---\n", "tea.md").entries["title"]
    Entry(value='Tea', line=2)
    """

    value: Any
    line: int


class FrontMatter(NamedTuple):
    """What a file says of itself, and where its text begins.

    >>> split_front_matter("Tea.", "tea.md")
    FrontMatter(entries={}, end=0)
    """

    entries: dict[str, Entry]
    end: int
    """Where the text behind the front matter begins; 0 if there is none."""


def split_front_matter(text: str, name: str) -> FrontMatter:
    r"""Return the front matter of ``text``, a file called ``name``, as JSON data.

    A text whose first line is a mere ``---`` has front matter if a ``key:`` follows; what is meant as such and cannot
    be read is an error that names the line.

    >>> found = split_front_matter("---\ntags: [tea, no]\ncups: 3\n---\nSencha.", "tea.md")
    >>> {key: entry.value for key, entry in found.entries.items()}, found.end
    ({'tags': ['tea', 'no'], 'cups': 3}, 32)
    """
    first, _, rest = text.partition("\n")
    if not _DELIMITER.match(first):
        return FrontMatter({}, 0)
    begin = len(first) + 1
    closing = _END.search(text, begin)
    if not _KEY.match(rest, _first(rest)) and (closing is None or rest.startswith(("\n", "#"))):
        return FrontMatter({}, 0)  # a rule, and text below it
    if closing is None:
        raise UnreadableError(name, 1, "the front matter that begins here has no end; close it with a line of ---")
    if closing.start() - begin > LONGEST:
        raise UnreadableError(
            name, 1, f"the front matter has more than {LONGEST:,} characters; move some into the text"
        )
    return FrontMatter(_entries(text[begin : closing.start()], name), min(len(text), closing.end() + 1))


def _first(source: str) -> int:
    """Return where the first line starts that is neither empty nor a comment."""
    blank = _NOTHING.match(source)
    return blank.end() if blank else 0


def _entries(source: str, name: str) -> dict[str, Entry]:
    import yaml  # noqa: PLC0415 (only who reads front matter pays for it)

    try:
        loader = _loader()(source)
        root = loader.get_single_node()
        if root is None:
            return {}
        if not isinstance(root, yaml.MappingNode):
            message = (
                "the front matter must be lines of 'key: value'; if --- is meant as a rule, leave a line empty below it"
            )
            raise UnreadableError(name, 2, message)
        return {
            str(loader.construct_object(key, deep=True)): Entry(
                _as_json(loader.construct_object(value, deep=True)), key.start_mark.line + 2
            )
            for key, value in root.value
        }
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else 1
        raise UnreadableError(name, line, f"the front matter is not YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position) + 2
        raise UnreadableError(name, line, f"the front matter is not YAML: {error.reason}") from None
    except RecursionError:
        raise UnreadableError(name, 1, "the front matter is nested too deep") from None
    except (ValueError, TypeError) as error:
        raise UnreadableError(name, 1, f"the front matter cannot be read: {error}") from None


@lru_cache(maxsize=1)
def _loader() -> type[yaml.SafeLoader]:
    import yaml  # noqa: PLC0415 (as above)

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (the base class has it the same way)

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = cast("Any", self).get_event().start_mark
                raise yaml.composer.ComposerError(None, None, "references (*) are not read; write it out", mark)
            return super().compose_node(parent, index)

    for kind, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})", "-+0123456789"),
        ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"^(?:{pattern})$"), list(first))
    return Loader


def _as_json(value: Any) -> Any:
    """Return ``value`` as JSON knows it; whatever else YAML can express becomes text."""
    if isinstance(value, dict):
        return {str(key): _as_json(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and isfinite(value)):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
