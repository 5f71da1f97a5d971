"""Hypothesis strategies: texts that try to break a parser, and ranked lists."""

from __future__ import annotations

import os
import string
from typing import Any

from hypothesis import strategies as st

from recollect import Candidate

ENGINE_EXAMPLES = {"quick": 800, "full": 200_000}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 10_000)
"""Number of generated queries in property tests of real engines."""

any_text = st.text(st.characters(exclude_categories=()))
"""Any text, including lone surrogates and NUL."""

_WORDS = ["foo", "Bar", "kube", "the", "to", "2026-04-18", "2026/04/04", "node.js", "don't", "a@b.c", "C++", "ERR_42"]
_OPERATORS = ["AND", "OR", "NOT", "AND NOT", "and", "not", "NEAR", "NEAR(", "NOT NOT"]
_SYNTAX = ['"', '""', '"foo', 'bar"', "*", "**", "foo*", "*foo", "(", ")", "()", ":", "title:", "^", "+", "-", "{", "}"]
_SYNTAX += ["'", "''", "\\", "`", ";", "--", "/*", "%", "|", "&", "<", ">", "=", "~", "$", "#", "@", ",", ".", "?", "!"]
_CONTROL = [*map(chr, range(32)), "\x7f", "\x80", "\x85", "\x9f", "\u2028", "\ud800", "\udfff", "\ud83d\ude00"]
_UNICODE = ["日本語", "Ωμέγα", "ΣΣ", "İstanbul", "straße", "e\u0301", "\u0301", "𝒳", "😀", "🥑", "👩‍👩‍👧"]
_UNICODE += ["ﬁ", "ⅠⅡ", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u180e", "\u3000", "\u00a0", "\u2019"]
_UNICODE += ["“foo”", "\ufffd", "\ufffe", "عربى", "हिन्दी"]

_fragment = st.one_of(
    *map(st.sampled_from, (_WORDS, _OPERATORS, _SYNTAX, _SYNTAX, _CONTROL, _UNICODE)),  # syntax twice as often
    st.text(st.characters(exclude_categories=()), max_size=6),
)
_long_fragment = st.builds(lambda fragment, times: fragment * times, _fragment, st.sampled_from([50, 500]))

query_text = st.builds(
    lambda fragments, separator: separator.join(fragments),
    st.lists(st.one_of(*[_fragment] * 12, _long_fragment), max_size=12),
    st.sampled_from([" ", " ", " ", "", "\t", "\u3000"]),
)
"""Queries with many quotes, operators, stars, control and non-Latin characters."""

_name = st.text(string.ascii_lowercase[:6], min_size=1, max_size=2)
_score = st.floats(-100, 100).map(lambda value: round(value, 3))
candidate = st.builds(
    Candidate,
    id=_name,
    path=_name,
    title=st.sampled_from(["", "Tea", "Tips and a summary"]),
    content=st.sampled_from(["", "I bought tea.", "i  bought TEA.", "A recap, in total.", "prefers tea"]),
    score=_score,
    importance=st.floats(-1, 2),
)
ranked_list = st.lists(candidate, max_size=12)
distinct_list = st.lists(candidate, max_size=12, unique_by=lambda hit: hit.id)


def nested(depth: int) -> list[Any]:
    """Return an empty list inside ``depth - 1`` other lists."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value
