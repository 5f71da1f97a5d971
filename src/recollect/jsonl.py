"""The export format: a note and its vector as one line of JSON, from which ``Memory.load`` restores every field.

A vector is Base64 of little-endian float32 numbers; if it has a row for each chunk, ``pieces`` is the number of rows.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.arguments import with_deep_stack
from recollect.errors import RecollectError
from recollect.model import Draft, Note, draft_of

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


def line_of(note: Note, model: str = "", vector: NDArray[float32] | None = None) -> str:
    """Return a note, with its vector and the name of the vector's model, as one line of JSON."""
    data = note.to_dict()
    if vector is not None:
        data["vector"] = {"model": model, "float32": b64encode(vector.astype("<f4").tobytes()).decode()}
        if vector.ndim > 1:
            data["vector"]["pieces"] = len(vector)
    return with_deep_stack(lambda: json.dumps(data, ensure_ascii=False))


def draft_from_line(line: str | bytes, model: str | None = None) -> tuple[Draft, str]:
    """Return the draft of a line, and the name of the model of its vector; the name is empty without a vector.

    If ``model`` is a name, a vector of another model is left out, because vectors of two models are not comparable.
    """
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise RecollectError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:
        raise RecollectError(f"is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise RecollectError("is not a JSON object")
    packed = data.pop("vector", None)
    draft = draft_of(data)
    if packed is None:
        return draft, ""
    if not isinstance(packed, Mapping) or not isinstance(packed.get("model"), str):
        raise RecollectError("has a vector without the name of its model")
    if model not in (None, packed["model"]):
        return draft, ""
    return draft | draft_of({"vector": _unpack(packed)}), packed["model"]


def _unpack(packed: Mapping[str, Any]) -> NDArray[float32]:
    import numpy as np  # noqa: PLC0415 (heavy: imported on first use)

    try:
        numbers = np.frombuffer(b64decode(packed["float32"], validate=True), dtype="<f4")
        return numbers.reshape(packed["pieces"], -1) if "pieces" in packed else numbers
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecollectError(f"has a vector that cannot be read: {error}") from None
