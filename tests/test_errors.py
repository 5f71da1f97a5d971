from __future__ import annotations

import pickle

from recollect import ArgumentError, ArgumentTypeError, EmbedderError, RecollectError, RerankerError
from recollect import errors as module


def test_the_tree() -> None:
    assert issubclass(ArgumentError, RecollectError)
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(ArgumentTypeError, ArgumentError)
    assert issubclass(ArgumentTypeError, TypeError)
    assert issubclass(RerankerError, RecollectError)
    assert not issubclass(RerankerError, EmbedderError)


def test_the_tree_is_drawn_in_the_docstring() -> None:
    assert module.__doc__ is not None
    for name in module.__all__:
        assert name in module.__doc__.split("Catch")[0]


def test_an_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(ArgumentTypeError("limit", "must be a whole number")))  # noqa: S301 (our own)
    assert (str(error), error.argument, error.problem) == (
        "limit: must be a whole number",
        "limit",
        "must be a whole number",
    )
