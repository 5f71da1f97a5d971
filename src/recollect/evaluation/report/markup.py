"""Any text, made safe to stand in HTML, SVG or Markdown."""

from __future__ import annotations

import html
import re

from recollect.text import well_formed

__all__ = ["escaped", "escaped_markdown"]

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
"""Characters that XML does not allow or that browsers warn of."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~#&$!])")


def escaped(text: str) -> str:
    """Return ``text`` as it stands in HTML and SVG, in elements and in quoted attributes.

    >>> escaped('<b> & "tea"')
    '&lt;b&gt; &amp; &quot;tea&quot;'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", well_formed(text)))


def escaped_markdown(text: str) -> str:
    r"""Return ``text`` in one line, as it stands in a cell of a Markdown table.

    >>> print(escaped_markdown("a|b\n<i> *c*"))
    a\|b \<i\> \*c\*
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(_FORBIDDEN.sub("\ufffd", well_formed(text)).split()))
