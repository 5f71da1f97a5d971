"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models, 2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import UNANSWERABLE, Collection, Dataset, Question, format_count
from recollect.evaluation.formats.files import field_of, objects_in, text_of
from recollect.evaluation.trec import read_qrels
from recollect.ingest.dates import parse_date
from recollect.model import DEFAULT_NAMESPACE, Note
from recollect.query import parse_question_date

__all__ = ["load_beir"]

_HONOURED = ("path", "summary", "tags", "importance", "session", "position", "links")
_MOMENTS = ("created_at", "updated_at", "last_accessed_at")


def load_beir(folder: Path, *, split: str | None = None) -> Dataset:
    """Read a BEIR folder; one without ``corpus.jsonl`` holds questions to a memory that the user has.

    A row's ``metadata`` may hold fields of a note; what is none of them is the note's metadata. That of a query may
    hold its ``stratum`` or ``strata``, when it was ``asked``, and whether it is ``synthetic``. A query without
    judgements is left out, unless it is of the stratum ``unanswerable``.
    """
    judged = read_qrels(_judgements(folder, split))
    questions: dict[str, Question] = {}
    synthetic, unjudged, undated = False, set(), 0
    for place, row in objects_in(folder / "queries.jsonl"):
        about = _metadata(row, place)
        identity = text_of(row, "_id", place)
        if identity in questions or identity in unjudged:
            raise IngestError(f"{place}: the _id {identity!r} was there before; each question needs its own")
        relevant = {note: grade for note, grade in judged.pop(identity, {}).items() if grade > 0}
        strata = _strata(about, place)
        if not relevant and UNANSWERABLE not in strata:
            unjudged.add(identity)
            continue
        asked = str(about.get("asked") or "")
        undated += bool(asked) and parse_question_date(asked) is None
        synthetic = synthetic or about.get("synthetic") is True
        questions[identity] = Question(
            id=identity,
            text=text_of(row, "text", place),
            collection=DEFAULT_NAMESPACE,
            relevant=relevant,
            strata=strata,
            asked=asked,
        )
    notes = _corpus(folder)
    remarks = []
    if unjudged:
        remarks.append(f"{format_count(len(unjudged), 'question')} without a relevant note left out")
    if judged:
        remarks.append(f"judgements of {format_count(len(judged), 'question')} that are not in queries.jsonl left out")
    if undated:
        remarks.append(f"{format_count(undated, 'question')} with a date that cannot be read: it is passed over")
    known = {note.id for note in notes}
    named = [note for question in questions.values() for note in question.relevant] if notes else []
    missing = sum(1 for note in named if note not in known)
    if missing:
        remarks.append(
            f"{format_count(missing, 'judgement')} of notes that are not in the corpus: they can never be found"
        )
    return Dataset(
        name=folder.resolve().name,
        collections={DEFAULT_NAMESPACE: Collection(id=DEFAULT_NAMESPACE, notes=notes)},
        questions=tuple(questions.values()),
        synthetic=synthetic,
        remarks=tuple(remarks),
    )


def _judgements(folder: Path, split: str | None) -> Path:
    """Return the file of judgements: of the split that is asked for, else test, else the only one."""
    tables = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    if not tables:
        raise IngestError(f"{folder}: has no judgements; they belong into qrels/test.tsv")
    if split is None and len(tables) == 1:
        return next(iter(tables.values()))
    chosen = tables.get("test" if split is None else split)
    if chosen is None:
        raise ArgumentError("split", f"must be one of {', '.join(tables)}" + (f", got {split!r}" if split else ""))
    return chosen


def _corpus(folder: Path) -> tuple[Note, ...]:
    """Return the notes of a folder; none if it has no corpus, so that its questions are for another memory."""
    corpus, packed = folder / "corpus.jsonl", folder / "corpus.jsonl.gz"
    if not corpus.exists():
        if packed.exists():
            raise IngestError(f"{packed}: is packed; unpack it with gunzip")
        return ()
    notes = tuple(_notes(corpus))
    if not notes:
        raise IngestError(f"{corpus}: holds no note; without the file, the questions would be for the memory of --db")
    return notes


def _notes(corpus: Path) -> Iterator[Note]:
    taken: set[str] = set()
    for place, row in objects_in(corpus):
        try:
            note = _note(row, place)
        except ArgumentError as error:
            raise IngestError(f"{place}: {error}") from None
        for key in filter(None, (f"id {note.id}", note.path and f"path {note.path}")):
            if key in taken:
                raise IngestError(f"{place}: the {key} was there before; each note needs its own")
            taken.add(key)
        yield note


def _note(row: Mapping[str, Any], place: str) -> Note:
    about = _metadata(row, place)
    given = {name: about.pop(name) for name in _HONOURED if about.get(name) is not None}
    given |= {name: parse_date(name, about.pop(name)) for name in _MOMENTS if about.get(name) is not None}
    title, text = str(row.get("title") or ""), str(row.get("text") or "")
    return Note(
        id=text_of(row, "_id", place),
        title=title if text else "",
        content=text or title,
        metadata=about,
        **given,
    )


def _metadata(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return what a row says beside its text; some datasets write nothing, some an empty object, some null."""
    return dict(field_of(row, "metadata", dict, place)) if row.get("metadata") else {}


def _strata(about: Mapping[str, Any], place: str) -> tuple[str, ...]:
    told = about.get("strata", about.get("stratum", []))
    if not isinstance(told, (str, list)):
        raise IngestError(f"{place}: strata must be a list of names, got {type(told).__name__}")
    return (told,) if isinstance(told, str) else tuple(map(str, told))
