"""Private keys as files hold them: lines of letters between a line that begins them and one that ends them.

They are the one kind of secret that has lines, and that a text may be cut within; what is cut off is found by its
beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from recollect.secrets.secret import Secret

__all__ = ["find_private_keys"]

_BEGIN = re.compile(r"-----BEGIN (?:RSA |DSA |EC |OPENSSH |ENCRYPTED |PGP |ANY )?PRIVATE KEY(?: BLOCK)?-----")
# By regex: the standard library of Python 3.11.2 and its like loses its place in such groups.
_WHOLE = regex.compile(r"(?:[^-]|-(?!----)){0,65536}+-----END [A-Z ]{0,40}+-----")
_CUT = regex.compile(
    r"(?:(?:\s|\\[nr]){0,4}+[A-Za-z0-9+/=]{16,128}+){0,1024}+(?:(?:\s|\\[nr]){0,4}+[A-Za-z0-9+/]{1,63}+={1,2}+)?+"
)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40}")
"""What no sentence holds."""


def find_private_keys(text: str) -> Iterator[Secret]:
    """Yield the private keys in a text; a mere mention of the lines around one is none."""
    for begin in _BEGIN.finditer(text):
        body = _WHOLE.match(text, begin.end()) or _CUT.match(text, begin.end())
        if body and _KEY_LINE.search(body[0]):
            yield Secret(begin.start(), body.end(), "private key")
