"""Notes as lines of JSON, with their vectors, such that what is written and read again is the same."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError
from recollect.model import Draft, Note, draft_of
from recollect.nesting import with_room

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["draft_from_line", "line_of"]


def line_of(note: Note, model: str = "", vector: NDArray[float32] | None = None) -> str:
    """Return a note, and its vector with the name of the model that made it, as one line of JSON.

    >>> line_of(Note(content="Prefers green tea.", id="n1"))[:35]
    '{"id": "n1", "path": "", "title": "'
    """
    told = note.to_dict()
    if vector is not None:
        told["vector"] = {"model": model, "float32": b64encode(vector.astype("<f4").tobytes()).decode()}
        if vector.ndim > 1:
            told["vector"]["pieces"] = len(vector)
    return with_room(lambda: json.dumps(told, ensure_ascii=False))


def draft_from_line(line: str | bytes, model: str | None = None) -> tuple[Draft, str]:
    """Return what a line says of a note, and the name of the model of its vector, if it has one.

    A vector is read if ``model`` names its model, or is ``None``; another could not be compared with those there are.

    >>> draft_from_line('{"content": "Prefers green tea."}')
    ({'content': 'Prefers green tea.'}, '')
    """
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecollectError(f"is not JSON: {error}") from None
    if not isinstance(told, dict):
        raise RecollectError("is not a JSON object")
    packed = told.pop("vector", None)
    draft = draft_of(told)
    if packed is None:
        return draft, ""
    if not isinstance(packed, Mapping) or not isinstance(packed.get("model"), str):
        raise RecollectError("has a vector without the name of its model")
    if model not in (None, packed["model"]):
        return draft, ""
    return draft | draft_of({"vector": _unpacked(packed)}), packed["model"]


def _unpacked(packed: Mapping[str, Any]) -> NDArray[float32]:
    import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

    try:
        numbers = np.frombuffer(b64decode(packed["float32"], validate=True), dtype="<f4")
        return numbers.reshape(packed["pieces"], -1) if "pieces" in packed else numbers
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecollectError(f"has a vector that cannot be read: {error}") from None
