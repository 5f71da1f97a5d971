"""What went wrong, told in one line."""

from __future__ import annotations

from recollect.text import collapse_whitespace

__all__ = ["told"]


def told(error: BaseException) -> str:
    """Return what an error says on one line, or its name where it says nothing.

    >>> told(ValueError("disk  full")), told(KeyError())
    ('disk full', 'KeyError')
    """
    shown = "".join(sign if sign.isprintable() else " " for sign in str(error))
    return collapse_whitespace(shown) or type(error).__name__
