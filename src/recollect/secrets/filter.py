"""Refuse or redact secrets in drafts and files before they are stored."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from recollect.errors import RecollectWarning, SecretFoundError
from recollect.model import TEXT_FIELDS, Draft, Link
from recollect.secrets.patterns import Secret, find_private_keys, find_secrets, kind_of_value

SecretsMode: TypeAlias = Literal["refuse", "redact"]
MODES = ("refuse", "redact")

_IDENTIFIERS = ("id", "path", "namespace")
"""A secret in one of these fields is refused and never redacted: two redacted identifiers could be equal."""
_REDACTED_FIELDS = (*TEXT_FIELDS, "session")
_Finder: TypeAlias = Callable[[str], Iterable[Secret]]


class SecretFilter:
    """Refuses or redacts secrets in the notes that one call stores; on exit, one warning says what was redacted."""

    def __init__(self, mode: SecretsMode) -> None:
        self._mode = mode
        self._redacted: dict[str, Counter[str]] = {}
        """The number of secrets of each kind by draft or file, so that a repeated write does not count twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        total = sum(self._redacted.values(), Counter[str]())
        if total and error is None:
            kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(total.items()))
            secrets = "one secret was" if total.total() == 1 else f"{total.total()} secrets were"
            warnings.warn(f"{secrets} redacted before the notes were stored: {kinds}", RecollectWarning, stacklevel=3)

    def draft(self, draft: Draft, prefix: str = "", *, file: str = "") -> Draft:
        """Return a draft without secrets; an error names ``prefix`` and field. ``file`` is the draft's file, if any."""
        fields = _FieldFilter(self._mode)
        for name in _IDENTIFIERS:
            self.check_name(f"{prefix}{name}", draft.get(name, ""))
        filtered = dict(draft)
        for name in _REDACTED_FIELDS:
            if draft.get(name):
                filtered[name] = fields.text(f"{prefix}{name}", draft[name])
        if draft.get("tags"):
            tags = (fields.text(f"{prefix}tags[{index}]", tag) for index, tag in enumerate(draft["tags"]))
            filtered["tags"] = tuple(dict.fromkeys(tags))
        if draft.get("links"):
            links = (fields.link(f"{prefix}links[{index}]", link) for index, link in enumerate(draft["links"]))
            filtered["links"] = tuple(dict.fromkeys(links))
        if draft.get("metadata"):
            filtered["metadata"] = fields.data(f"{prefix}metadata", draft["metadata"])
        if any(filtered.get(name) != draft.get(name) for name in TEXT_FIELDS):
            filtered.pop("vector", None)  # it was computed from the text with the secret
        if fields.kinds:
            self._redacted[f"{file}\n{prefix}"] = fields.kinds
        return filtered

    def file(self, text: str, name: str) -> str:
        """Return a file's text without private keys; a key that is split into chunks would not be recognised."""
        fields = _FieldFilter(self._mode)
        filtered = fields.text("text", text, find_private_keys)
        if fields.kinds:
            self._redacted[name] = fields.kinds
        return filtered

    def check_name(self, argument: str, value: str) -> None:
        """Raise ``SecretFoundError`` if an identifier contains a secret."""
        for secret in find_secrets(value):
            raise SecretFoundError(argument, f"contains a secret ({secret.kind}); choose another name")


class _FieldFilter:
    """Filters the fields of one note, and counts the secrets of each kind."""

    def __init__(self, mode: SecretsMode) -> None:
        self._mode = mode
        self.kinds: Counter[str] = Counter()

    def text(self, argument: str, text: str, find: _Finder = find_secrets) -> str:
        redacted, kinds = redact(text, find)
        for kind in kinds:
            self._report(argument, kind)
        return redacted

    def link(self, argument: str, link: Link) -> Link:
        return Link(self.text(f"{argument}.kind", link.kind), self.text(f"{argument}.target", link.target))

    def data(self, argument: str, value: Any, key: str = "") -> Any:
        """Return JSON data without secrets; a random value is a secret if ``key`` is a name such as ``password``."""
        if isinstance(value, Mapping):
            return {
                self.text(argument, name): self.data(f"{argument}.{name}", item, name) for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.data(f"{argument}[{index}]", item, key) for index, item in enumerate(value)]
        if isinstance(value, int) and not isinstance(value, bool):
            digits = str(value) if abs(value) < 10**20 else ""  # a card number has at most 19 digits
            return self.text(argument, digits) if find_secrets(digits) else value
        if not isinstance(value, str):
            return value
        kind = kind_of_value(key, value)
        if kind and not find_secrets(value):  # a secret that is recognised without its key has a more specific kind
            self._report(argument, kind)
            return f"«redacted: {kind}»"
        return self.text(argument, value)

    def _report(self, argument: str, kind: str) -> None:
        """Raise ``SecretFoundError`` if the mode is ``refuse``; count the secret if the mode is ``redact``."""
        if self._mode == "refuse":
            raise SecretFoundError(
                argument, f'contains a secret ({kind}); remove it, or open the memory with secrets="redact"'
            )
        self.kinds[kind] += 1


def redact(text: str, find: _Finder = find_secrets) -> tuple[str, list[str]]:
    """Return a text in which each secret is replaced by its kind, and the kinds of the secrets."""
    kinds: list[str] = []
    while secrets := list(find(text)):  # repeated, because a redaction may reveal the secret beside it
        kinds += (secret.kind for secret in secrets)
        for secret in reversed(secrets):
            text = f"{text[: secret.start]}«redacted: {secret.kind}»{text[secret.end :]}"
    return text, kinds
