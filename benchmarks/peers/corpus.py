"""A corpus of notes and queries in a folder: the process of every engine reads the same notes and generates none.

Files: ``words.txt`` (the vocabulary: one term a line), ``tokens.i32`` (the term numbers of all notes, one note after
another), ``lengths.i32`` (the number of terms of each note), ``vectors.f32`` (one row for each note), ``queries.json``
(term numbers and target of each query) and ``queries.f32`` (one row for each query). Notes of a folder also have
``texts.jsonl``, because their texts are more than their terms. ``corpus.json`` (name, number of notes, dimension) is
written last: a corpus without it is incomplete.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.generated_notes import (
    BATCH,
    DIMENSION,
    MAX_COMMON,
    MAX_RARE,
    MIN_RARE,
    GeneratedNotes,
    NoteBatch,
    QuerySpec,
)
from recollect.embedders import Embedder, EmbedderChoice, EmbedderSpec, embedder_from
from recollect.errors import ArgumentError, RecollectError
from recollect.memory import Memory
from recollect.progress import Progress
from recollect.stores import open_store

__all__ = ["Corpus", "Query", "TextBatch", "folder_corpus", "generated_corpus", "write_corpus"]

Floats = NDArray[np.float32]
_WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits: a term of a folder's notes."""
COMMON_SHARE = 0.2
"""A term of a folder's notes is common if at least this fraction of the notes contains it."""


class TextBatch(NamedTuple):
    """Notes as an engine ingests them: id, text and vector of each."""

    ids: range
    texts: list[str]
    vectors: Floats


class Query(NamedTuple):
    """A query: its text, term numbers and vector, and the number of the note that it should find."""

    text: str
    words: tuple[int, ...]
    vector: Floats
    target: int


@dataclass(frozen=True)
class Corpus:
    """A corpus on the disk. The id of a note is its number, from 0."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, int | str]:
        """Name, number of notes, and dimension of the vectors."""
        try:
            about: dict[str, int | str] = json.loads((self.folder / "corpus.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RecollectError(f"the corpus in {self.folder} is incomplete; delete it and run again") from None
        return about

    @property
    def name(self) -> str:
        """The source of the notes."""
        return str(self.about["name"])

    @property
    def notes(self) -> int:
        """The number of notes."""
        return int(self.about["notes"])

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return int(self.about["dimension"])

    @cached_property
    def vocabulary(self) -> list[str]:
        """All terms by number."""
        return (self.folder / "words.txt").read_text(encoding="utf-8").split("\n")

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The number of terms of each note."""
        return np.fromfile(self.folder / "lengths.i32", dtype=np.int32)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The index in :meth:`tokens` at which each note ends."""
        return np.cumsum(self.lengths, dtype=np.int64)

    def tokens(self) -> NDArray[np.int32]:
        """Return the term numbers of all notes, mapped from the disk."""
        return np.memmap(self.folder / "tokens.i32", dtype=np.int32, mode="r")

    def vectors(self) -> Floats:
        """Return all vectors, mapped from the disk."""
        return np.memmap(self.folder / "vectors.f32", dtype=np.float32, mode="r", shape=(self.notes, self.dimension))

    def batches(self, size: int = BATCH) -> Iterator[TextBatch]:
        """Read the notes in batches."""
        texts_file = self.folder / "texts.jsonl"
        has_texts = texts_file.exists()
        source = texts_file if has_texts else self.folder / "tokens.i32"
        with source.open("rb") as texts, (self.folder / "vectors.f32").open("rb") as vectors:
            for start in range(0, self.notes, size):
                ids = range(start, min(start + size, self.notes))
                rows = np.fromfile(vectors, dtype=np.float32, count=len(ids) * self.dimension)
                batch = [json.loads(next(texts)) for _ in ids] if has_texts else self._join_terms(texts, ids)
                yield TextBatch(ids, batch, rows.reshape(len(ids), self.dimension))

    def queries(self) -> list[Query]:
        """Return the queries in their order."""
        data = json.loads((self.folder / "queries.json").read_text(encoding="utf-8"))
        vectors = np.fromfile(self.folder / "queries.f32", dtype=np.float32).reshape(len(data), self.dimension)
        return [
            Query(
                " ".join(self.vocabulary[word] for word in query["words"]),
                tuple(query["words"]),
                vector,
                query["target"],
            )
            for query, vector in zip(data, vectors, strict=True)
        ]

    def _join_terms(self, tokens: BinaryIO, ids: range) -> list[str]:
        lengths = self.lengths[ids.start : ids.stop]
        numbers = np.fromfile(tokens, dtype=np.int32, count=int(lengths.sum())).tolist()
        words, ends = self.vocabulary, np.cumsum(lengths).tolist()
        return [
            " ".join([words[number] for number in numbers[end - length : end]])
            for end, length in zip(ends, lengths.tolist(), strict=True)
        ]


def generated_corpus(
    scratch: Path, count: int, *, queries: int, seed: int = 0, progress: Progress = lambda *_: None
) -> Corpus:
    """Return a corpus of generated notes; if ``scratch`` has it already, it is not generated again.

    >>> with TemporaryDirectory() as folder:
    ...     corpus = generated_corpus(Path(folder), 300, queries=5)
    ...     batch, = corpus.batches()
    ...     corpus.name, corpus.notes, len(batch.texts), len(corpus.queries())
    ('generated, seed 0', 300, 300, 5)
    """
    folder = scratch / f"generated-{count}-{seed}-{queries}"
    if not (folder / "corpus.json").exists():
        notes = GeneratedNotes(count, seed=seed)

        def batches() -> Iterator[NoteBatch]:
            for done, batch in enumerate(notes.batches(), start=1):
                yield batch
                progress(min(done * BATCH, count), count, "generating notes")

        name = f"generated, seed {seed}"
        write_corpus(folder, name, notes.vocabulary, batches(), notes.queries(queries), dimension=DIMENSION)
    return Corpus(folder)


def folder_corpus(
    scratch: Path, folder: Path, *, embedder: EmbedderSpec, queries: int, seed: int, progress: Progress
) -> Corpus:
    """Return a corpus of the notes in a folder of Markdown, text and JSONL.

    The text of a note is its title, summary and content. The vector of a long note, which Recollect embeds in chunks,
    is the mean of the chunks' vectors, because the other engines have one vector for each note.
    """
    model = embedder_from(embedder)
    if model is None:
        raise ArgumentError("--embedder", "must name a model; the benchmark compares vectors")
    texts, vectors = _read_folder(scratch, folder, model, progress)
    terms = [_WORD.findall(text.lower()) for text in texts]
    frequencies = Counter(term for note in terms for term in set(note))
    numbers = {term: number for number, (term, _) in enumerate(frequencies.most_common())}
    batch = NoteBatch(
        np.array([numbers[term] for note in terms for term in note], dtype=np.int32),
        np.array([len(note) for note in terms], dtype=np.int32),
        vectors,
    )
    terms_by_target = _query_terms(terms, frequencies, count=queries, seed=seed)
    if not terms_by_target:
        raise ArgumentError("--notes", f"no note of {folder} has {MIN_RARE} rare terms; choose another folder")
    specs = [
        QuerySpec(tuple(numbers[term] for term in query), model.embed_query(" ".join(query)), target)
        for target, query in terms_by_target.items()
    ]
    digest = sha256("\0".join([model.name, *texts]).encode()).hexdigest()[:8]
    name = f"notes of {folder.resolve().name}, {model.name}, {digest}"
    corpus_folder = scratch / "folder-notes"
    write_corpus(corpus_folder, name, list(numbers), [batch], specs, dimension=vectors.shape[1], texts=texts)
    return Corpus(corpus_folder)


def _read_folder(scratch: Path, folder: Path, model: Embedder, progress: Progress) -> tuple[list[str], Floats]:
    """Return the text of each note, and a matrix with a vector of length 1 for each note."""
    with TemporaryDirectory(dir=scratch) as temporary:
        store = open_store(Path(temporary) / "notes.db")
        with Memory(store, EmbedderChoice(model, "for the benchmark"), record_access=False) as memory:
            memory.ingest(folder, progress=progress)
            notes = list(memory.notes())
            if not notes:
                raise ArgumentError("--notes", f"{folder} has no notes; choose a folder of Markdown, text or JSONL")
            _, stored = store.vectors_of(notes)
    texts = [" ".join(filter(None, (note.title, note.summary, note.content))) for note in notes]
    means = np.stack([np.atleast_2d(rows).mean(axis=0) for rows in stored if rows is not None])
    lengths = np.sqrt((means * means).sum(axis=1, keepdims=True))
    return texts, np.asarray(means / lengths, dtype=np.float32)


def _query_terms(
    notes: Sequence[Sequence[str]], frequencies: Mapping[str, int], *, count: int, seed: int
) -> dict[int, list[str]]:
    """Return up to ``count`` queries, each a list of terms of a note, by the number of that note, its target."""
    rng = np.random.default_rng(seed)
    threshold = COMMON_SHARE * len(notes)
    queries: dict[int, list[str]] = {}
    for target in rng.permutation(len(notes)):
        terms = sorted(set(notes[target]))
        common = [term for term in terms if frequencies[term] >= threshold]
        rare = [term for term in terms if frequencies[term] < threshold]
        if len(rare) < MIN_RARE:
            continue
        rare_count = min(len(rare), int(rng.integers(MIN_RARE, MAX_RARE + 1)))
        common_count = min(len(common), int(rng.integers(1, MAX_COMMON + 1)))
        chosen = [*rng.permutation(rare)[:rare_count], *rng.permutation(common)[:common_count]]
        queries[int(target)] = [str(term) for term in rng.permutation(chosen)]
        if len(queries) == count:
            break
    return queries


def write_corpus(
    folder: Path,
    name: str,
    vocabulary: Sequence[str],
    batches: Iterable[NoteBatch],
    queries: Sequence[QuerySpec],
    *,
    dimension: int,
    texts: Iterable[str] | None = None,
) -> None:
    """Write a corpus; the folder is emptied first."""
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
    data = [{"words": query.words, "target": query.target} for query in queries]
    (folder / "queries.json").write_text(json.dumps(data), encoding="utf-8")
    np.array([query.vector for query in queries], dtype=np.float32).tofile(folder / "queries.f32")
    about = {"name": name, "notes": count, "dimension": dimension}
    (folder / "corpus.json").write_text(json.dumps(about), encoding="utf-8")
