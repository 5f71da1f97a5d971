"""The parts that are not always installed: looked for without importing them, and imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect.inference.failure import Failure

__all__ = ["installed_folder", "not_installed", "part"]

_EXTRAS = {"httpx": "http", "ir_measures": "eval", "scipy": "eval"}
"""Which extra of Recollect brings a part; ``models`` brings all others."""


def not_installed(*modules: str) -> list[str]:
    """Return those of ``modules`` that are not installed; none of them is imported.

    >>> not_installed("json", "no_such_module")
    ['no_such_module']
    """
    return [module for module in modules if find_spec(module) is None]


def installed_folder(package: str) -> Path | None:
    """Return the folder of an installed package, or ``None``; the package is not imported.

    >>> installed_folder("json").name
    'json'
    >>> installed_folder("no_such_package") is None
    True
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def part(module: str, failure: Failure) -> Any:
    """Import and return ``module``; raise a ``failure`` that says what to install if that fails.

    >>> from recollect.errors import EmbedderError
    >>> part("no_such_module", EmbedderError)
    Traceback (most recent call last):
        ...
    recollect.errors.EmbedderError: no_such_module cannot be imported (No module named 'no_such_module'):
    pip install 'recollectdb[models]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        extra = _EXTRAS.get(module.partition(".")[0], "models")
        raise failure(f"{module} cannot be imported ({error}): pip install 'recollectdb[{extra}]'") from error
