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

_NAMES = ("id", "path", "namespace")
"""Identifiers with a secret are refused, never redacted: redacted ones would be equal."""
_TEXTS = (*TEXT_FIELDS, "session")
_Find: TypeAlias = Callable[[str], Iterable[Secret]]


class SecretFilter:
    """Removes secrets from what one call stores; at the end of the context one warning says what was redacted."""

    def __init__(self, mode: SecretsMode) -> None:
        self._mode = mode
        self._redacted: dict[str, Counter[str]] = {}
        """Counts of kinds by location: a retried write does not count twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        total = sum(self._redacted.values(), Counter[str]())
        if total and error is None:
            kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(total.items()))
            secrets = "one secret was" if total.total() == 1 else f"{total.total()} secrets were"
            warnings.warn(f"{secrets} redacted before the notes were stored: {kinds}", RecollectWarning, stacklevel=3)

    def draft(self, draft: Draft, prefix: str = "", *, file: str = "") -> Draft:
        """Return a draft without secrets; an error names the field after ``prefix``."""
        fields = _FieldFilter(self._mode)
        for name in _NAMES:
            self.name(f"{prefix}{name}", draft.get(name, ""))
        filtered = dict(draft)
        for name in _TEXTS:
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
            filtered.pop("vector", None)  # it is the vector of the text with the secret
        if fields.kinds:
            self._redacted[f"{file}\n{prefix}"] = fields.kinds
        return filtered

    def file(self, text: str, name: str) -> str:
        """Return the text of a file without private keys, which chunking would split."""
        fields = _FieldFilter(self._mode)
        filtered = fields.text("text", text, find_private_keys)
        if fields.kinds:
            self._redacted[name] = fields.kinds
        return filtered

    def name(self, argument: str, value: str) -> None:
        """Raise ``SecretFoundError`` if an identifier contains a secret."""
        for secret in find_secrets(value):
            raise SecretFoundError(argument, f"contains a secret ({secret.kind}); choose another name")


class _FieldFilter:
    """Filters the fields of one note."""

    def __init__(self, mode: SecretsMode) -> None:
        self._mode = mode
        self.kinds: Counter[str] = Counter()

    def text(self, argument: str, text: str, find: _Find = find_secrets) -> str:
        redacted, kinds = redact(text, find)
        for kind in kinds:
            self._report(argument, kind)
        return redacted

    def link(self, argument: str, link: Link) -> Link:
        return Link(self.text(f"{argument}.kind", link.kind), self.text(f"{argument}.target", link.target))

    def data(self, argument: str, value: Any, key: str = "") -> Any:
        """Return JSON data without secrets; a key such as ``password`` makes its value one."""
        if isinstance(value, Mapping):
            return {
                self.text(argument, name): self.data(f"{argument}.{name}", item, name) for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.data(f"{argument}[{index}]", item, key) for index, item in enumerate(value)]
        if isinstance(value, int) and not isinstance(value, bool):
            digits = str(value) if abs(value) < 10**20 else ""
            return self.text(argument, digits) if find_secrets(digits) else value
        if not isinstance(value, str):
            return value
        kind = kind_of_value(key, value)
        if kind and not find_secrets(value):
            self._report(argument, kind)
            return f"«redacted: {kind}»"
        return self.text(argument, value)

    def _report(self, argument: str, kind: str) -> None:
        """Raise ``SecretFoundError``, or count a redaction."""
        if self._mode == "refuse":
            raise SecretFoundError(
                argument, f'contains a secret ({kind}); remove it, or open the memory with secrets="redact"'
            )
        self.kinds[kind] += 1


def redact(text: str, find: _Find = find_secrets) -> tuple[str, list[str]]:
    """Return a text with a mark instead of each secret, and the kinds of the secrets.

    >>> redact("The card is 4111 1111 1111 1111.")
    ('The card is «redacted: card number».', ['card number'])
    """
    kinds: list[str] = []
    while secrets := list(find(text)):  # a redaction may reveal the secret beside it
        kinds += (secret.kind for secret in secrets)
        for secret in reversed(secrets):
            text = f"{text[: secret.start]}«redacted: {secret.kind}»{text[secret.end :]}"
    return text, kinds
