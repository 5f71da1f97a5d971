"""The exceptions of Recollect.

The tree::

    RecollectError
    ├── ArgumentError              an invalid value (also a ValueError)
    │   ├── ArgumentTypeError      a value of the wrong type (also a TypeError)
    │   └── SecretFoundError       a text with a password or key, which the memory does not store
    ├── NoteNotFoundError          no note has this id or path (also a LookupError)
    ├── StoreError                 a problem of the file or server with the notes
    │   ├── StoreBusyError         other processes locked the store for too long
    │   ├── StoreDamagedError      the file is damaged, or not a store
    │   ├── StoreFullError         there is no space to write
    │   ├── StoreReadOnlyError     the store cannot be written to
    │   ├── StoreUnavailableError  the database server cannot be reached
    │   └── StoreVersionError      a newer version of Recollect wrote the store
    ├── ModelError                 a model cannot be downloaded or verified
    │   ├── EmbedderError          an embedding model cannot be loaded, or fails
    │   └── RerankerError          a reranking model cannot be loaded, or fails
    ├── IngestError                a file or record cannot be read
    ├── ForbiddenError             the API key does not allow the request
    ├── KeyFileError               a server's key file cannot be read or written
    └── ServerError                a Recollect server cannot be reached, or fails

    RecollectWarning               something is degraded, such as vector search

Catch :class:`RecollectError` to catch all errors. A message says what was wrong, with which value, and what to do.
"""

from __future__ import annotations


class RecollectError(Exception):
    """The base class of all errors of Recollect."""


class ArgumentError(RecollectError, ValueError):
    """An argument has an invalid value.

    ``argument`` is the name of the argument, and ``problem`` is the rest of the message.

    >>> error = ArgumentError("limit", "must not be negative, got -1")
    >>> print(error)
    limit: must not be negative, got -1
    >>> error.argument
    'limit'
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)
        self.argument = argument
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.argument}: {self.problem}"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong type."""


class SecretFoundError(ArgumentError):
    """The memory refuses a text with a secret. The message names the field and the kind of secret, never its value."""


class NoteNotFoundError(RecollectError, LookupError):
    """No note has this id or path."""


class StoreError(RecollectError):
    """The file or server with the notes failed."""


class StoreBusyError(StoreError):
    """Other processes locked the store for longer than the timeout."""


class StoreDamagedError(StoreError):
    """The file is damaged, or not a store."""


class StoreFullError(StoreError):
    """There is no space to write; nothing was written."""


class StoreReadOnlyError(StoreError):
    """The store is read-only."""


class StoreUnavailableError(StoreError):
    """The database server cannot be reached; a later attempt may succeed."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of Recollect."""


class ModelError(RecollectError):
    """The weights of a model cannot be found, downloaded or verified."""


class EmbedderError(ModelError):
    """An embedding model cannot be loaded, does not respond, or returns invalid vectors."""


class RerankerError(ModelError):
    """A reranking model cannot be loaded, does not respond, or returns invalid scores."""


class IngestError(RecollectError):
    """A file or record cannot be read."""


class ForbiddenError(RecollectError):
    """The API key does not allow the request."""


class KeyFileError(RecollectError):
    """A server's key file cannot be read or written."""


class ServerError(RecollectError):
    """A Recollect server cannot be reached, is too busy, or fails."""


class RecollectWarning(UserWarning):
    """Something is degraded; the message says what, and what to do."""
