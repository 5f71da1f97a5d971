"""Values that are called a password or key where they are written down: ``api_key: …``, ``password = "…"``.

The name alone says nothing, for programs are full of it. What is assigned must look random, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.secrets.randomness import is_digest, looks_random
from recollect.secrets.secret import Secret

__all__ = ["find_assignments", "kind_of_value"]

PASSWORD = "password"  # noqa: S105 (the name of a kind)
KEY = "key or token"
SHORTEST_TOKEN = 16

_HINTS = ("pass", "pwd", "wachtwoord", "kennwort", "secret", "key", "token", "credential")
_NAME = (
    r"(?:(?P<password>pass(?:word|wort|wd|phrase|code)|pwd|wachtwoord|kennwort|mot[ _-]de[ _-]passe)"
    r"|(?P<key>(?:api|access|secret|private|account|encryption|signing|auth|master)[ _-]?key|secret)"
    r"|(?P<token>token|credentials?))"
)
_NAMED = re.compile(rf"{_NAME}\Z", re.IGNORECASE)
_BARE = r"[^\s\"'`,;<>(){}\[\]\\=]"
_SIGN = (
    r"[*_]{0,3}+[ \t\u00a0\u202f]{0,8}+(?::=|=>|[:=])(?:[*_]{1,3}+[ \t]{1,8}+|[ \t]{0,8}+(?:\r?+\n[ \t]{0,8}+)?)"
    r"|[ \t]{0,8}+\|(?!\|)[ \t]{0,8}+"
    r"|[*_]{0,3}+[ \t]{1,4}+[\u2014\u2013-][ \t]{1,4}+"
    r"|[ \t]{1,4}+(?:is|ist|est)[ \t:]{1,4}+"
)
"""What stands between a name and its value: a sign, the end of its line, the wall of a table, a dash or a verb."""
_ASSIGNED = re.compile(
    _NAME + rf"(?:\\?[\"'`])?(?:{_SIGN})"
    r"(?:[bru]{1,2}+(?=[\"']))?(?:\\?[\"'`](?P<quoted>[^\"'`\s\\]{8,512}+)(?=\\?[\"'`])"
    rf"|(?P<bare>{_BARE}{{8,512}}+(?:={{1,2}}+(?!\w))?)(?![(\[]))",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}+(?:\.[A-Za-z_]\w{0,63}+){1,8}+")


def find_assignments(text: str) -> Iterator[Secret]:
    """Yield the values in a text that have the name of a secret and look like one."""
    folded = text.lower()
    if not any(hint in folded for hint in _HINTS):
        return
    position = 0
    while found := _ASSIGNED.search(text, position):
        name = "bare" if found["quoted"] is None else "quoted"
        start, value = found.start(name), found[name]
        if name == "bare":
            value = _trimmed(value, text[found.end() : found.end() + 1])
        kind = _kind(found, value)
        position = start  # what is no secret may be the name of the next
        if kind and (name == "quoted" or not _VARIABLE.fullmatch(value)):
            position = start + len(value)
            yield Secret(start, position, kind)


def kind_of_value(name: str, value: str) -> str:
    """Return what the value of a field is that has such a name: a kind of secret, or nothing.

    >>> kind_of_value("db_password", "k3J9x2m4Pq71"), kind_of_value("flavour", "k3J9x2m4Pq71")
    ('password', '')
    """
    found = _NAMED.search(name)
    return _kind(found, value) if found else ""


def _kind(found: re.Match[str], value: str) -> str:
    if found["token"] is not None:  # much is called a token that is no secret: pages, commits, files
        return KEY if looks_random(value, shortest=SHORTEST_TOKEN) and not is_digest(value) else ""
    if not looks_random(value):
        return ""
    return PASSWORD if found["password"] is not None else KEY


def _trimmed(value: str, after: str) -> str:
    """Return a value without what belongs to the text around it: the end of a sentence, the next parameter of a URL."""
    if after == "=" and "&" in value:
        value = value.rpartition("&")[0]
    return value.rstrip(".:*|")
