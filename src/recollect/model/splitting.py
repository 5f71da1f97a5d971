"""A long text in pieces, each short enough that one vector can stand for what it says.

An encoder reads a page at most, and its vector is about the page as a whole: what a single sentence says is lost in it.
So a long note has a vector for each piece, and is as near to a query as the nearest of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["EmbeddingText", "chunk_count", "embedding_text", "pieces"]

PIECE = 300
"""How many characters a piece has at most, but for its heading: a few sentences."""
WHOLE = 900
"""A text of so many characters stays whole."""
MOST_PIECES = 64
"""Of a longer text the end is left out: nothing that long is a note."""
LONGEST_HEADING = 200

_SENTENCES = re.compile(r"(?<=[.!?…])\s+")


class EmbeddingText(str):
    """The text of a note that its vectors stand for, which knows the heading that each of its pieces gets."""

    __slots__ = ("heading",)
    heading: str


def embedding_text(title: str, summary: str, content: str) -> EmbeddingText:
    r"""Return the text of a note that its vectors stand for: title, summary and content, those that there are.

    >>> embedding_text("Tea", "", "Prefers sencha.")
    'Tea\nPrefers sencha.'
    """
    text = EmbeddingText("\n".join(part for part in (title, summary, content) if part) if title or summary else content)
    text.heading = title if len(title) <= LONGEST_HEADING else ""
    return text


def pieces(text: str) -> list[str]:
    """Return a text in pieces that end where a sentence or line does; a short one is its only piece.

    >>> pieces("Prefers sencha.")
    ['Prefers sencha.']
    >>> [len(piece) for piece in pieces("Green tea, mostly sencha. " * 50)]
    [285, 285, 285, 285, 155]
    """
    if len(text) <= WHOLE:
        return [str(text)]
    heading = getattr(text, "heading", "")
    body = text[len(heading) :].lstrip("\n") if heading else text
    gathered: list[str] = []
    for between, part in _parts(body):
        if gathered and len(gathered[-1]) + 1 + len(part) <= PIECE:
            gathered[-1] += between + part
        elif len(gathered) == MOST_PIECES:
            break
        else:
            gathered.append(part)
    if not gathered:
        return [str(text[:WHOLE])]  # nothing but white space
    return [f"{heading}\n{piece}" for piece in gathered] if heading else gathered


def chunk_count(length: int) -> int:
    """Estimate the number of chunks of a text of ``length`` characters.

    >>> chunk_count(400), chunk_count(1500), chunk_count(10**6)
    (1, 5, 64)
    """
    return 1 if length <= WHOLE else min(MOST_PIECES, -(-length // PIECE))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield what must stay together, and what stands before it: lines, sentences of long lines, parts of long ones."""
    for line in map(str.strip, text.split("\n")):
        between = "\n"
        for sentence in _SENTENCES.split(line) if len(line) > PIECE else (line,):
            for part in _cut(sentence):
                yield between, part
                between = " "


def _cut(sentence: str) -> Iterator[str]:
    """Yield a sentence in parts that are not too long, cut between words where there is room."""
    while len(sentence) > PIECE:
        end = sentence.rfind(" ", PIECE // 2, PIECE + 1)
        end = PIECE if end < 0 else end
        yield sentence[:end]
        sentence = sentence[end:].lstrip()
    if sentence:
        yield sentence
