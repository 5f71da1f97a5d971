"""Split the text of a long note into chunks, each with a vector of its own.

An encoder reads about a page, and its vector blurs what a single sentence says. So a long note has a vector for each
chunk, and its similarity to a query is that of its best chunk. Splitting is written by hand: the text splitters of
libraries do not repeat the title in each chunk, and a change of theirs would make all stored vectors stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b

__all__ = [
    "CHUNK_CHARS",
    "MAX_CHUNKS",
    "MAX_UNSPLIT_CHARS",
    "EmbeddingText",
    "embedding_chunks",
    "embedding_text",
    "text_digest",
]

CHUNK_CHARS = 300
"""The largest number of characters of a chunk, without its heading: a few sentences."""
MAX_UNSPLIT_CHARS = 900
"""A text of at most so many characters is not split."""
MAX_CHUNKS = 64
"""The rest of a longer text has no vector."""
MAX_HEADING_CHARS = 200

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


class EmbeddingText(str):
    """The text of a note that is embedded, with the heading that each of its chunks begins with."""

    __slots__ = ("heading",)
    heading: str


def embedding_text(title: str, summary: str, content: str) -> EmbeddingText:
    r"""Return the text of a note that is embedded: title, summary and content, those that are not empty.

    >>> embedding_text("Tea", "", "Prefers sencha.")
    'Tea\nPrefers sencha.'
    """
    text = EmbeddingText("\n".join(part for part in (title, summary, content) if part) if title or summary else content)
    text.heading = title if len(title) <= MAX_HEADING_CHARS else ""
    return text


def text_digest(text: str) -> bytes:
    """Return the digest of an embedded text, which is stored with its vector.

    >>> text_digest("green tea").hex()
    '04b9e0c3323cecc73eb217a3f0450aeb'
    """
    return blake2b(text.encode(), digest_size=16).digest()


def embedding_chunks(text: str) -> list[str]:
    """Split a text into chunks that end where a sentence or line does; a short text is its only chunk.

    >>> embedding_chunks("Prefers sencha.")
    ['Prefers sencha.']
    >>> [len(chunk) for chunk in embedding_chunks("Green tea, mostly sencha. " * 50)]
    [285, 285, 285, 285, 155]
    """
    if len(text) <= MAX_UNSPLIT_CHARS:
        return [str(text)]
    heading = getattr(text, "heading", "")
    body = text[len(heading) :].lstrip("\n") if heading else text
    chunks: list[str] = []
    for separator, part in _parts(body):
        if chunks and len(chunks[-1]) + 1 + len(part) <= CHUNK_CHARS:
            chunks[-1] += separator + part
        elif len(chunks) == MAX_CHUNKS:
            break
        else:
            chunks.append(part)
    if not chunks:
        return [str(text[:MAX_UNSPLIT_CHARS])]  # white space only
    return [f"{heading}\n{chunk}" for chunk in chunks] if heading else chunks


def chunk_count(length: int) -> int:
    """Estimate the number of chunks of a text of ``length`` characters."""
    return 1 if length <= MAX_UNSPLIT_CHARS else min(MAX_CHUNKS, -(-length // CHUNK_CHARS))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (separator, part): lines, sentences of long lines, and slices of long sentences."""
    for line in map(str.strip, text.split("\n")):
        separator = "\n"
        for sentence in _SENTENCE_END.split(line) if len(line) > CHUNK_CHARS else (line,):
            for part in _slices(sentence):
                yield separator, part
                separator = " "


def _slices(sentence: str) -> Iterator[str]:
    """Yield slices of a sentence that fit into a chunk, cut at a space in the second half of the slice if possible."""
    while len(sentence) > CHUNK_CHARS:
        end = sentence.rfind(" ", CHUNK_CHARS // 2, CHUNK_CHARS + 1)
        end = CHUNK_CHARS if end < 0 else end
        yield sentence[:end]
        sentence = sentence[end:].lstrip()
    if sentence:
        yield sentence
