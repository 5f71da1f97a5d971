"""Rankings written down as they come, so that an evaluation that was interrupted goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from recollect import __version__
from recollect.errors import RecollectError
from recollect.evaluation.dataset import Collection, Question
from recollect.evaluation.outcome import Ranking

__all__ = ["Journal", "code_digest", "collection_digest", "question_digest"]

_VERSION = 2
"""Of the lines that are written: objects that name the version. Version 1 were lists without confidences."""
_FIELDS_OF_VERSION_1 = 4


class Journal:
    """A file with one ranking a line, each under the digest of the question that it answers.

    A line that is not whole, because the process ended while it was written, counts as none, as does one of a version
    that is not known. Rankings of version 1 have no confidences.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Journal(Path(folder, "run.jsonl")) as journal:
    ...         journal.write("q1", Ranking(("n1",), (0.5,), 1.5))
    ...     with Journal(Path(folder, "run.jsonl")) as journal:
    ...         journal.rankings["q1"].ids
    ('n1',)
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        """Name the file, and read what is in it unless it is to begin anew."""
        self._path = path
        self._fresh = fresh
        self._file: IO[str] | None = None
        self.rankings: dict[str, Ranking] = {} if fresh else dict(_read(path))

    def __enter__(self) -> Self:
        """Return the journal itself; the file is opened when the first ranking comes."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def write(self, digest: str, ranking: Ranking) -> None:
        """Write a ranking down; it is in the file when this returns.

        One that had to do without something is not written: next time, what failed may be there.
        """
        self.rankings[digest] = ranking
        if ranking.warnings:
            return
        record = {
            "version": _VERSION,
            "question": digest,
            "ids": ranking.ids,
            "scores": ranking.scores,
            "milliseconds": ranking.milliseconds,
            "confidences": ranking.confidences,
        }
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("w" if self._fresh else "a", encoding="utf-8", newline="\n")
                self._file.write("\n")  # the line before may not be whole
            self._file.write(json.dumps(record) + "\n")
            self._file.flush()
        except OSError as error:
            raise RecollectError(
                f"rankings cannot be kept in {self._path} ({error.strerror}): name another folder with --cache"
            ) from error


def _read(path: Path) -> Iterator[tuple[str, Ranking]]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, list) and len(record) == _FIELDS_OF_VERSION_1:
            digest, ids, scores, milliseconds = record
            yield digest, Ranking(tuple(ids), tuple(scores), milliseconds)
        elif isinstance(record, dict) and record.get("version") == _VERSION:
            confidences = record["confidences"]
            yield (
                record["question"],
                Ranking(
                    tuple(record["ids"]),
                    tuple(record["scores"]),
                    record["milliseconds"],
                    confidences=None if confidences is None else tuple(confidences),
                ),
            )


def collection_digest(collection: Collection) -> str:
    """Return a text that changes with anything that is in a collection."""
    digest = hashlib.sha256(collection.id.encode())
    for note in collection.notes:
        digest.update(json.dumps(note.to_dict(), sort_keys=True).encode())
    return digest.hexdigest()


def question_digest(question: Question, collection: str) -> str:
    """Return a text that changes with what is asked, when, and of which notes; ``collection`` is their digest."""
    told = json.dumps([question.text, question.asked, collection])
    return hashlib.sha256(told.encode()).hexdigest()[:24]


@cache
def code_digest() -> str:
    """Return a text that changes with the code that searches: no ranking of other code is taken for one of this."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if inside.parts[0] != "cli":
            digest.update(inside.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
