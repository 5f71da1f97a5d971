"""A corpus in files of a folder, so that every engine's process reads the same notes and none pays for their making.

``words.txt`` has the vocabulary, ``tokens.i32`` the numbers of all words one note after another, ``lengths.i32`` how
many each note has, ``vectors.f32`` the vectors, ``questions.json`` and ``questions.f32`` the queries; ``texts.jsonl``
is there only where texts are more than their words. ``corpus.json`` comes last: without it, the rest is not complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.generating import BATCH, DIMENSION, GeneratedNotes, Made, Question
from recollect.errors import RecollectError
from recollect.progress import Progress

__all__ = ["Batch", "Corpus", "Query", "generated_corpus", "write_corpus"]

Floats = NDArray[np.float32]


class Batch(NamedTuple):
    """Some notes, as an engine takes them in."""

    ids: range
    texts: list[str]
    vectors: Floats


class Query(NamedTuple):
    """A query, as an engine is asked, and the note that it was made from."""

    text: str
    words: tuple[int, ...]
    """The numbers of its words in the vocabulary."""
    vector: Floats
    target: int


@dataclass(frozen=True)
class Corpus:
    """What lies in a folder; a note's id is its place, from 0 on."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, int | str]:
        """What is said of it: its name, how many notes it has, and the dimension of its vectors."""
        try:
            told: dict[str, int | str] = json.loads((self.folder / "corpus.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RecollectError(f"there is no whole corpus in {self.folder}; delete it and run bench again") from None
        return told

    @property
    def name(self) -> str:
        """What it was made from."""
        return str(self.about["name"])

    @property
    def notes(self) -> int:
        """How many notes it has."""
        return int(self.about["notes"])

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.about["dimension"])

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words, by their numbers."""
        return (self.folder / "words.txt").read_text(encoding="utf-8").split("\n")

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """How many words each note has."""
        return np.fromfile(self.folder / "lengths.i32", dtype=np.int32)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where each note's words end among those of all."""
        return np.cumsum(self.lengths, dtype=np.int64)

    def tokens(self) -> NDArray[np.int32]:
        """Return the numbers of all words, one note after another, as they lie on the disk."""
        return np.memmap(self.folder / "tokens.i32", dtype=np.int32, mode="r")

    def vectors(self) -> Floats:
        """Return all vectors, as they lie on the disk."""
        return np.memmap(self.folder / "vectors.f32", dtype=np.float32, mode="r", shape=(self.notes, self.dimension))

    def batches(self, size: int = BATCH) -> Iterator[Batch]:
        """Read the notes, some thousand at once; what was read does not stay in memory."""
        own = self.folder / "texts.jsonl"
        place = own if own.exists() else self.folder / "tokens.i32"
        with place.open("rb") as texts, (self.folder / "vectors.f32").open("rb") as vectors:
            for start in range(0, self.notes, size):
                ids = range(start, min(start + size, self.notes))
                rows = np.fromfile(vectors, dtype=np.float32, count=len(ids) * self.dimension)
                held = self._joined(texts, ids) if place != own else [json.loads(next(texts)) for _ in ids]
                yield Batch(ids, held, rows.reshape(len(ids), self.dimension))

    def queries(self) -> list[Query]:
        """Return the queries, in the order in which they should be asked."""
        told = json.loads((self.folder / "questions.json").read_text(encoding="utf-8"))
        vectors = np.fromfile(self.folder / "questions.f32", dtype=np.float32).reshape(len(told), self.dimension)
        return [
            Query(
                " ".join(self.vocabulary[word] for word in each["words"]), tuple(each["words"]), vector, each["target"]
            )
            for each, vector in zip(told, vectors, strict=True)
        ]

    def _joined(self, tokens: BinaryIO, ids: range) -> list[str]:
        """Read the next notes' words, and return their texts."""
        lengths = self.lengths[ids.start : ids.stop]
        numbers = np.fromfile(tokens, dtype=np.int32, count=int(lengths.sum())).tolist()
        words, ends = self.vocabulary, np.cumsum(lengths).tolist()
        return [
            " ".join([words[number] for number in numbers[end - length : end]])
            for end, length in zip(ends, lengths.tolist(), strict=True)
        ]


def generated_corpus(
    scratch: Path, count: int, *, questions: int, seed: int = 0, progress: Progress = lambda *_: None
) -> Corpus:
    """Return a corpus of so many generated notes; one that was made before is not made again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     corpus = generated_corpus(Path(folder), 300, questions=5)
    ...     batch, = corpus.batches()
    ...     corpus.name, corpus.notes, len(batch.texts), len(corpus.queries())
    ('generated, seed 0', 300, 300, 5)
    """
    folder = scratch / f"generated-{count}-{seed}-{questions}"
    if not (folder / "corpus.json").exists():
        notes = GeneratedNotes(count, seed=seed)
        write_corpus(
            folder,
            f"generated, seed {seed}",
            notes.vocabulary,
            _told(notes, progress),
            notes.questions(questions),
            dimension=DIMENSION,
        )
    return Corpus(folder)


def _told(notes: GeneratedNotes, progress: Progress) -> Iterator[Made]:
    """Make notes, and tell how far that is."""
    for done, batch in enumerate(notes.batches(), start=1):
        yield batch
        progress(min(done * BATCH, notes.count), notes.count, "making notes")


def write_corpus(
    folder: Path,
    name: str,
    vocabulary: Sequence[str],
    batches: Iterable[Made],
    questions: Sequence[Question],
    *,
    dimension: int,
    texts: Iterable[str] | None = None,
) -> None:
    """Write a corpus into a folder, in place of what was left there unfinished."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    count = 0
    with (
        (folder / "tokens.i32").open("wb") as tokens,
        (folder / "lengths.i32").open("wb") as lengths,
        (folder / "vectors.f32").open("wb") as vectors,
    ):
        for batch in batches:
            batch.words.tofile(tokens)
            batch.lengths.tofile(lengths)
            batch.vectors.tofile(vectors)
            count += len(batch.lengths)
    if texts is not None:
        with (folder / "texts.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(text) + "\n" for text in texts)
    told = [{"words": question.words, "target": question.target} for question in questions]
    (folder / "questions.json").write_text(json.dumps(told), encoding="utf-8")
    np.array([question.vector for question in questions], dtype=np.float32).tofile(folder / "questions.f32")
    about = {"name": name, "notes": count, "dimension": dimension}
    (folder / "corpus.json").write_text(json.dumps(about), encoding="utf-8")
