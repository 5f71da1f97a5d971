"""Whatever is to be stored passes here first: drafts of notes, and files before they are cut into notes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from recollect.errors import RecollectWarning, SecretFoundError
from recollect.model import Document, Draft, Link
from recollect.secrets.assignments import kind_of_value
from recollect.secrets.finding import find_secrets, marked, redacted
from recollect.secrets.private_keys import find_private_keys
from recollect.secrets.secret import Secret

__all__ = ["MODES", "Screen", "SecretsMode"]

SecretsMode: TypeAlias = Literal["refuse", "redact"]
MODES = ("refuse", "redact")

_NAMES = ("id", "path", "namespace")
"""What names a note, or where it lives, is never redacted: two would become one."""
_TEXTS = ("content", "title", "summary", "session")
_EMBEDDED = ("content", "title", "summary")
_Find: TypeAlias = Callable[[str], Iterable[Secret]]


class Screen:
    """What one call lets through: all of it, where there is no mode; else nothing that holds a secret.

    It is told at the end, in one warning, what was redacted.

    >>> with Screen("refuse") as screen:
    ...     screen.drafts([{"content": "The card is 4111 1111 1111 1111."}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    recollect.errors.SecretFoundError: content: holds a secret (card number); take it out, or have ...
    """

    def __init__(self, mode: SecretsMode | None) -> None:
        """Begin with nothing found."""
        self._mode = mode
        self._found: dict[str, Counter[str]] = {}
        """What was redacted, by where: what is tried again does not count twice."""

    def __enter__(self) -> Self:
        """Return the screen itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Tell what was redacted, unless something went wrong that is told instead."""
        total = sum(self._found.values(), Counter[str]())
        if total and error is None:
            listed = ", ".join(f"{count} × {kind}" for kind, count in sorted(total.items()))
            secrets = "a secret was" if total.total() == 1 else f"{total.total()} secrets were"
            warnings.warn(f"{secrets} redacted before anything was stored: {listed}", RecollectWarning, stacklevel=3)

    def drafts(self, drafts: Sequence[Draft], *, first: int | None = None) -> list[Draft]:
        """Return drafts of notes without secrets; an error says which it was, counted from ``first``."""
        if self._mode is None:
            return list(drafts)
        places = [("" if first is None else f"notes[{first + place}].") for place in range(len(drafts))]
        return [self._draft(draft, place) for draft, place in zip(drafts, places, strict=True)]

    def line(self, draft: Draft, number: int) -> Draft:
        """Return the draft of a line without secrets."""
        return draft if self._mode is None else self._draft(draft, f"line {number}: ")

    def documents(self, documents: Sequence[Document]) -> list[Document]:
        """Return documents without secrets; an error says which of a file's notes it was."""
        if self._mode is None:
            return list(documents)
        for document in documents:
            self.name("file name", document.name)
        return [
            document._replace(
                drafts=[
                    self._draft(draft, f"note {place}: ", within=document.name)
                    for place, draft in enumerate(document.drafts, 1)
                ]
            )
            for document in documents
        ]

    def file(self, text: str, name: str) -> str:
        """Return the text of a file without what would be cut into pieces when it becomes notes."""
        if self._mode is None:
            return text
        fields = _Fields(self._mode)
        screened = fields.text("text", text, find_private_keys)
        self._keep(name, fields.found)
        return screened

    def name(self, argument: str, value: str) -> None:
        """Refuse a name that holds a secret."""
        if self._mode is not None:
            for secret in find_secrets(value):
                raise SecretFoundError(argument, f"holds a secret ({secret.kind}); choose another name")

    def _draft(self, draft: Draft, place: str, *, within: str = "") -> Draft:
        fields = _Fields(self._mode)
        for name in _NAMES:
            self.name(f"{place}{name}", draft.get(name, ""))
        screened = dict(draft)
        for name in _TEXTS:
            if draft.get(name):
                screened[name] = fields.text(f"{place}{name}", draft[name])
        if draft.get("tags"):
            tags = (fields.text(f"{place}tags[{n}]", tag) for n, tag in enumerate(draft["tags"]))
            screened["tags"] = tuple(dict.fromkeys(tags))
        if draft.get("links"):
            links = (fields.link(f"{place}links[{n}]", link) for n, link in enumerate(draft["links"]))
            screened["links"] = tuple(dict.fromkeys(links))
        if draft.get("metadata"):
            screened["metadata"] = fields.data(f"{place}metadata", draft["metadata"])
        if any(screened.get(name) != draft.get(name) for name in _EMBEDDED):
            screened.pop("vector", None)  # it stands for the text with the secret in it
        self._keep(f"{within}\n{place}", fields.found)
        return screened

    def _keep(self, where: str, found: Counter[str]) -> None:
        if found:
            self._found[where] = found


class _Fields:
    """Looks through the fields of one note."""

    def __init__(self, mode: SecretsMode | None) -> None:
        self._mode = mode
        self.found: Counter[str] = Counter()

    def text(self, argument: str, text: str, find: _Find = find_secrets) -> str:
        clean, kinds = redacted(text, find)
        for kind in kinds:
            self._tell(argument, kind)
        return clean

    def link(self, argument: str, link: Link) -> Link:
        return Link(self.text(f"{argument}.kind", link.kind), self.text(f"{argument}.target", link.target))

    def data(self, argument: str, value: Any, key: str = "") -> Any:
        """Return JSON data without secrets; a key may say that its value is one."""
        if isinstance(value, Mapping):
            return {
                self.text(argument, name): self.data(f"{argument}.{name}", held, name) for name, held in value.items()
            }
        if isinstance(value, list):
            return [self.data(f"{argument}[{place}]", held, key) for place, held in enumerate(value)]
        if isinstance(value, int) and not isinstance(value, bool):
            shown = str(value) if abs(value) < 10**20 else ""
            return self.text(argument, shown) if find_secrets(shown) else value
        if not isinstance(value, str):
            return value
        kind = kind_of_value(key, value)
        if kind and not find_secrets(value):
            self._tell(argument, kind)
            return marked(kind)
        return self.text(argument, value)

    def _tell(self, argument: str, kind: str) -> None:
        """Refuse, or count."""
        if self._mode == "refuse":
            raise SecretFoundError(
                argument, f'holds a secret ({kind}); take it out, or have the memory opened with secrets="redact"'
            )
        self.found[kind] += 1
