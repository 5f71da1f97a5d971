"""Every error that Recollect raises on purpose.

The tree::

    RecollectError
    └── ArgumentError              a value that cannot be used (also a ValueError)
        └── ArgumentTypeError      a value of the wrong type (also a TypeError)

Catch :class:`RecollectError` to catch them all. A message names the argument, says what was wrong with
which value, and what to pass instead.
"""

from __future__ import annotations

__all__ = ["ArgumentError", "ArgumentTypeError", "RecollectError"]


class RecollectError(Exception):
    """The root of every error that Recollect raises on purpose."""


class ArgumentError(RecollectError, ValueError):
    """An argument holds a value that cannot be used.

    ``argument`` is the name of the argument as the caller wrote it, ``problem`` the rest of the message.

    >>> error = ArgumentError("limit", "must not be negative, got -1")
    >>> print(error)
    limit: must not be negative, got -1
    >>> error.argument
    'limit'
    """

    def __init__(self, argument: str, problem: str) -> None:
        """Keep both parts, so that the error can be pickled and taken apart."""
        super().__init__(argument, problem)
        self.argument = argument
        self.problem = problem

    def __str__(self) -> str:
        """Return the message in one line, the argument's name first."""
        return f"{self.argument}: {self.problem}"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type that cannot be used."""
