"""Hypothesis strategies for Markdown."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies import any_text

_LINES = [
    "# Ines",
    "## Tea",
    "## Tea",
    "### Green",
    "Setext",
    "===",
    "---",
    "- an item",
    "  - a deeper one",
    "1. first",
    "> quoted",
    "```",
    "~~~ python",
    "    indented code",
    "",
    "",
    "Ines likes tea. Olaf does not! Really? Yes.",
    "お茶が好きです。コーヒーは？",
    "[[Ines|her]] and ![[x#y]] and [a](b.md) #tag `#code`",
    "[ref]: ../people/ines.md",
    "<div>",
    "</div>",
    "<!-- hidden",
    "| a | b |",
    "title: x",
    "tags: [a, b",
    "...",
    "#",
    "word " * 60,
    "x" * 90,
    "🍵" * 30,
]
markdown_text = st.builds(
    "\n".join,
    st.lists(st.one_of(st.sampled_from(_LINES), st.sampled_from(_LINES), any_text), max_size=30),
)
"""Markdown with many headings, fences and lists, and noise."""
