"""All secrets in a text, and the text without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from recollect.secrets.assignments import find_assignments
from recollect.secrets.cards import find_cards
from recollect.secrets.credentials import find_credentials
from recollect.secrets.private_keys import find_private_keys
from recollect.secrets.secret import Secret
from recollect.secrets.tokens import find_tokens

__all__ = ["find_secrets", "marked", "redacted"]

_FINDERS: tuple[Callable[[str], Iterator[Secret]], ...] = (
    find_private_keys,
    find_tokens,
    find_credentials,
    find_assignments,
    find_cards,
)
"""Whoever knows best what something is comes first."""


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in their order; none reaches into the next.

    >>> find_secrets("The card is 4111 1111 1111 1111, the wifi password is k3J9x2m4Pq71.")
    [Secret(start=12, end=31, kind='card number'), Secret(start=54, end=66, kind='password')]
    >>> find_secrets("password = input()")
    []
    """
    found = [(secret, place) for place, finder in enumerate(_FINDERS) for secret in finder(text)]
    apart: list[tuple[Secret, int]] = []
    for secret, place in sorted(found):
        if apart and secret.start < apart[-1][0].end:
            last, best = apart[-1]
            kind = secret.kind if place < best else last.kind
            apart[-1] = Secret(last.start, max(last.end, secret.end), kind), min(place, best)
        else:
            apart.append((secret, place))
    return [secret for secret, _ in apart]


def redacted(text: str, find: Callable[[str], Iterable[Secret]] = find_secrets) -> tuple[str, list[str]]:
    """Return a text with the kind of each secret in its place, and these kinds.

    >>> redacted("The card is 4111 1111 1111 1111.")
    ('The card is «redacted: card number».', ['card number'])
    """
    kinds: list[str] = []
    while secrets := list(find(text)):  # where one is gone, what stood beside it may show
        kinds += (secret.kind for secret in secrets)
        for secret in reversed(secrets):
            text = text[: secret.start] + marked(secret.kind) + text[secret.end :]
    return text, kinds


def marked(kind: str) -> str:
    """Return what stands where a secret stood.

    >>> marked("card number")
    '«redacted: card number»'
    """
    return f"«redacted: {kind}»"
