"""A corpus of somebody's own notes: read as ``recollect ingest`` reads them, embedded, and asked for in their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.corpus import Corpus, write_corpus
from benchmarks.peers.generating import LEAST_RARE, MOST_COMMON, MOST_RARE, Made, Question
from recollect.embedders import Embedder, EmbedderChoice, EmbedderSpec, embedder_from
from recollect.errors import ArgumentError
from recollect.memory import Memory
from recollect.progress import Progress
from recollect.stores import open_store

__all__ = ["corpus_of_folder"]

Floats = NDArray[np.float32]
_WORD = re.compile(r"[^\W_]+")
USUAL = 0.2
"""A word is common that this share of the notes has, or more."""


def corpus_of_folder(
    scratch: Path, folder: Path, *, embedder: EmbedderSpec, questions: int, seed: int, progress: Progress
) -> Corpus:
    """Return a corpus of the notes in a folder of Markdown, texts and JSONL.

    A note is one text: title, summary and content. A long one, which Recollect embeds in pieces, has one vector here,
    the mean of them, because the other engines have one.
    """
    model = embedder_from(embedder)
    if model is None:
        raise ArgumentError("--embedder", "must name a model: without vectors there is nothing to compare")
    texts, vectors = _read(scratch, folder, model, progress)
    read = [_WORD.findall(text.lower()) for text in texts]
    held = Counter(word for words in read for word in set(words))
    numbers = {word: number for number, (word, _) in enumerate(held.most_common())}
    made = Made(
        np.array([numbers[word] for words in read for word in words], dtype=np.int32),
        np.array([len(words) for words in read], dtype=np.int32),
        vectors,
    )
    asked = _asked(read, held, count=questions, seed=seed)
    if not asked:
        raise ArgumentError("--notes", f"no note of {folder} has {LEAST_RARE} words that are its own; name another")
    meant = {target: model.embed_query(" ".join(words)) for target, words in asked.items()}
    made_of = [
        Question(tuple(numbers[word] for word in words), meant[target], target) for target, words in asked.items()
    ]
    target = scratch / "own-notes"
    mark = sha256("\0".join([model.name, *texts]).encode()).hexdigest()[:8]
    name = f"notes of {folder.resolve().name}, {model.name}, {mark}"
    write_corpus(target, name, list(numbers), [made], made_of, dimension=vectors.shape[1], texts=texts)
    return Corpus(target)


def _read(scratch: Path, folder: Path, model: Embedder, progress: Progress) -> tuple[list[str], Floats]:
    """Return the text of each note, and a vector of length 1."""
    with TemporaryDirectory(dir=scratch) as aside:
        store = open_store(Path(aside) / "notes.db")
        with Memory(store, EmbedderChoice(model, "asked for"), record_access=False) as memory:
            memory.ingest(folder, progress=progress)
            notes = list(memory.notes())
            if not notes:
                raise ArgumentError("--notes", f"{folder} holds no note; name a folder of Markdown, texts or JSONL")
            _, stored = store.vectors_of(notes)
    texts = [" ".join(filter(None, (note.title, note.summary, note.content))) for note in notes]
    means = np.stack([np.atleast_2d(rows).mean(axis=0) for rows in stored if rows is not None])
    lengths = np.sqrt((means * means).sum(axis=1, keepdims=True))
    return texts, np.asarray(means / lengths, dtype=np.float32)


def _asked(read: Sequence[Sequence[str]], held: Mapping[str, int], *, count: int, seed: int) -> dict[int, list[str]]:
    """Return the words of queries by the places of the notes that they were made from."""
    chance = np.random.default_rng(seed)
    asked: dict[int, list[str]] = {}
    for target in chance.permutation(len(read)):
        words = sorted(set(read[target]))
        common = [word for word in words if held[word] >= USUAL * len(read)]
        rare = [word for word in words if held[word] < USUAL * len(read)]
        if len(rare) < LEAST_RARE:
            continue
        many = min(len(rare), int(chance.integers(LEAST_RARE, MOST_RARE + 1)))
        few = min(len(common), int(chance.integers(1, MOST_COMMON + 1)))
        chosen = [*chance.permutation(rare)[:many], *chance.permutation(common)[:few]]
        asked[int(target)] = [str(word) for word in chance.permutation(chosen)]
        if len(asked) == count:
            break
    return asked
