"""The entities that notes list in their metadata: who and what they are about."""

from __future__ import annotations

import json

from recollect.arguments import with_deep_stack
from recollect.text import collapse_whitespace

__all__ = ["LISTED_AS", "MOST_SHARING", "entities_in"]

MOST_SHARING = 64
"""An entity that more notes share connects none of them: it says too little."""

LISTED_AS = "entities"
"""The key of the metadata that lists them."""


def entities_in(metadata: str) -> set[str]:
    """Return the entities that a note's metadata lists, each in one case and with single spaces.

    >>> sorted(entities_in('{"entities": ["Ines  Weber", "ines weber", "Kyoto", 7, " "]}'))
    ['ines weber', 'kyoto']
    """
    if f'"{LISTED_AS}"' not in metadata:
        return set()
    listed = with_deep_stack(lambda: json.loads(metadata)).get(LISTED_AS)
    if not isinstance(listed, list):
        return set()
    return {collapse_whitespace(name).casefold() for name in listed if isinstance(name, str)} - {""}
