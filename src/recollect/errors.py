"""Every error that Recollect raises on purpose.

The tree::

    RecollectError
    ├── ArgumentError              a value that cannot be used (also a ValueError)
    │   ├── ArgumentTypeError      a value of the wrong type (also a TypeError)
    │   └── SecretFoundError       a text that holds a password or key, where none may be stored
    ├── NoteNotFoundError          no note has this id or path (also a LookupError)
    ├── StoreError                 the file or server that holds the notes
    │   ├── StoreBusyError         others kept it to themselves for too long
    │   ├── StoreDamagedError      it is no store, or a damaged one
    │   ├── StoreFullError         there is no room for what should be written
    │   ├── StoreReadOnlyError     it cannot be written to
    │   ├── StoreUnavailableError  its server cannot be reached, or went away
    │   └── StoreVersionError      it was written by a newer version
    ├── EmbedderError              a model that cannot be loaded or does not answer
    ├── RerankerError              the same of the second stage: its model fails
    ├── IngestError                a file or record that cannot be read
    ├── ForbiddenError             a caller of a server may not do this there
    ├── KeyFileError               a server's file of keys cannot be read or written
    └── ServerError                a server of Recollect cannot be reached, or fails

    RecollectWarning               something had to be done without

Catch :class:`RecollectError` to catch them all. A message names what was wrong, with which value, and says
what to do instead.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "EmbedderError",
    "ForbiddenError",
    "IngestError",
    "KeyFileError",
    "NoteNotFoundError",
    "RecollectError",
    "RecollectWarning",
    "RerankerError",
    "SecretFoundError",
    "ServerError",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "StoreVersionError",
]


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


class SecretFoundError(ArgumentError):
    """A text holds a secret, and the memory refuses those. The message says where and of which kind, never which."""


class NoteNotFoundError(RecollectError, LookupError):
    """No note has the id or path that was asked for."""


class StoreError(RecollectError):
    """The file or server that holds the notes cannot do what was asked."""


class StoreBusyError(StoreError):
    """Other processes kept the store to themselves for longer than one waits."""


class StoreDamagedError(StoreError):
    """A file that is no store, or one that is damaged."""


class StoreFullError(StoreError):
    """There is no room for what should be written; nothing was."""


class StoreReadOnlyError(StoreError):
    """The store cannot be written to."""


class StoreUnavailableError(StoreError):
    """The server that holds the notes cannot be reached, or went away; it may be back soon."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of Recollect."""


class EmbedderError(RecollectError):
    """A model that cannot be loaded, does not answer, or answers nonsense."""


class RerankerError(RecollectError):
    """A second-stage model that cannot be loaded, does not answer, or answers nonsense."""


class IngestError(RecollectError):
    """A file or record that cannot be read."""


class ForbiddenError(RecollectError):
    """A caller of a server asks for what their key does not grant."""


class KeyFileError(RecollectError):
    """A server's file of keys cannot be read or written."""


class ServerError(RecollectError):
    """A server of Recollect that cannot be reached, is too busy, or fails."""


class RecollectWarning(UserWarning):
    """Something had to be done without; the message says what, and what to do about it."""
