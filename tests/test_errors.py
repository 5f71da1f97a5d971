from __future__ import annotations

import pickle

from recollect import ArgumentError, ArgumentTypeError, EmbedderError, RecollectError, RerankerError
from recollect import errors as module


def test_exception_tree() -> None:
    assert issubclass(ArgumentError, RecollectError)
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(ArgumentTypeError, ArgumentError)
    assert issubclass(ArgumentTypeError, TypeError)
    assert issubclass(RerankerError, RecollectError)
    assert not issubclass(RerankerError, EmbedderError)


def test_docstring_lists_every_exception() -> None:
    assert module.__doc__ is not None
    names = [name for name, value in vars(module).items() if isinstance(value, type)]
    assert "RecollectWarning" in names
    for name in names:
        assert name in module.__doc__.split("Catch")[0]


def test_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(ArgumentTypeError("limit", "must be a whole number")))  # noqa: S301 (our own)
    assert (error.argument, error.problem) == ("limit", "must be a whole number")
    assert str(error) == "limit: must be a whole number"
