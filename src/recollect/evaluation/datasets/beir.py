"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models, 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import UNANSWERABLE, Collection, Dataset, Question
from recollect.evaluation.datasets.files import DatasetFormat, DatasetSource, get_field, get_text, read_objects, remarks
from recollect.evaluation.datasets.trec import read_qrels
from recollect.ingest.dates import parse_date
from recollect.model import DEFAULT_NAMESPACE, Note
from recollect.query import parse_question_date

_NOTE_FIELDS = ("path", "summary", "tags", "importance", "session", "position", "links")
_TIME_FIELDS = ("created_at", "updated_at", "last_accessed_at")


def load_beir(source: DatasetSource, *, split: str | None = None) -> Dataset:
    """Read a BEIR folder. A folder without ``corpus.jsonl`` has questions about the user's own memory.

    The ``metadata`` of a document may have fields of a note, such as ``tags``; other keys become the note's metadata.
    The ``metadata`` of a query may have ``stratum`` or ``strata``, ``asked`` (a date), and ``synthetic``. A query
    without relevant notes is left out unless its stratum is ``unanswerable``.
    """
    folder = source.path
    if not (folder / "queries.jsonl").exists():
        raise ArgumentError("dataset", f"{folder} is no BEIR folder: there is no queries.jsonl in it")
    judgements = read_qrels(_judgements_file(folder, split))
    questions: dict[str, Question] = {}
    left_out_ids: set[str] = set()
    synthetic, unreadable_dates = False, 0
    for location, row in read_objects(folder / "queries.jsonl"):
        metadata = _metadata(row, location)
        question_id = get_text(row, "_id", location)
        if question_id in questions or question_id in left_out_ids:
            raise IngestError(f"{location}: the _id {question_id!r} occurs twice; ids must be unique")
        relevant = {note_id: grade for note_id, grade in judgements.pop(question_id, {}).items() if grade > 0}
        strata = _strata(metadata, location)
        if not relevant and UNANSWERABLE not in strata:
            left_out_ids.add(question_id)
            continue
        asked_at = str(metadata.get("asked") or "")
        if asked_at and parse_question_date(asked_at) is None:
            unreadable_dates += 1
        synthetic = synthetic or metadata.get("synthetic") is True
        questions[question_id] = Question(
            id=question_id,
            text=get_text(row, "text", location),
            collection=DEFAULT_NAMESPACE,
            relevant=relevant,
            strata=strata,
            asked_at=asked_at,
        )
    unknown_questions = len(judgements)  # the judgements that remain
    notes = _read_corpus(folder)
    note_ids = {note.id for note in notes}
    judged_ids = [note_id for question in questions.values() for note_id in question.relevant] if notes else []
    missing_notes = sum(note_id not in note_ids for note_id in judged_ids)
    return Dataset(
        name=folder.resolve().name,
        collections={DEFAULT_NAMESPACE: Collection(id=DEFAULT_NAMESPACE, notes=notes)},
        questions=tuple(questions.values()),
        synthetic=synthetic,
        remarks=remarks(
            (len(left_out_ids), "question", "left out: no note is relevant"),
            (unknown_questions, "judged question", "left out: not in queries.jsonl"),
            (unreadable_dates, "question", "with a date that cannot be read: the date is ignored"),
            (missing_notes, "judgement", "of notes that are not in the corpus: these notes can never be found"),
        ),
    )


def _judgements_file(folder: Path, split: str | None) -> Path:
    """Return the qrels file of ``split``; without a split, the only file, or ``test.tsv`` if there are several."""
    qrels_files = {file.stem: file for file in sorted((folder / "qrels").glob("*.tsv"))}
    if not qrels_files:
        raise IngestError(f"{folder}: has no judgements; put them into qrels/test.tsv")
    default = "test" if len(qrels_files) > 1 else next(iter(qrels_files))
    path = qrels_files.get(default if split is None else split)
    if path is None:
        raise ArgumentError("split", f"must be one of {', '.join(qrels_files)}" + (f", got {split!r}" if split else ""))
    return path


def _read_corpus(folder: Path) -> tuple[Note, ...]:
    """Return the notes of the corpus; none if the folder has no corpus file."""
    corpus, compressed = folder / "corpus.jsonl", folder / "corpus.jsonl.gz"
    if not corpus.exists():
        if compressed.exists():
            raise IngestError(f"{compressed}: is compressed; decompress it with gunzip")
        return ()
    notes: list[Note] = []
    seen_keys: set[str] = set()
    for location, row in read_objects(corpus):
        metadata = _metadata(row, location)
        fields = {name: metadata.pop(name) for name in _NOTE_FIELDS if metadata.get(name) is not None}
        times = {name: metadata.pop(name) for name in _TIME_FIELDS if metadata.get(name) is not None}
        title, text = str(row.get("title") or ""), str(row.get("text") or "")
        if not text:  # the title becomes the content
            title, text = "", title
        note_id = get_text(row, "_id", location)
        try:
            fields |= {name: parse_date(name, time) for name, time in times.items()}
            note = Note(id=note_id, title=title, content=text, metadata=metadata, **fields)
        except ArgumentError as error:
            raise IngestError(f"{location}: {error}") from None
        keys = [f"id {note.id}"]
        if note.path:
            keys.append(f"path {note.path}")
        for key in keys:
            if key in seen_keys:
                raise IngestError(f"{location}: the {key} occurs twice; ids and paths must be unique")
            seen_keys.add(key)
        notes.append(note)
    if not notes:
        raise IngestError(f"{corpus}: has no notes; delete it if the questions are about the memory of --db")
    return tuple(notes)


def _metadata(row: Mapping[str, Any], location: str) -> dict[str, Any]:
    """Return a copy of a row's metadata; ``{}`` if it is missing, empty or null."""
    return dict(get_field(row, "metadata", dict, location)) if row.get("metadata") else {}


def _strata(metadata: Mapping[str, Any], location: str) -> tuple[str, ...]:
    strata = metadata.get("strata", metadata.get("stratum", []))
    if not isinstance(strata, (str, list)):
        raise IngestError(f"{location}: strata must be a list of names, got {type(strata).__name__}")
    return (strata,) if isinstance(strata, str) else tuple(map(str, strata))


BEIR = DatasetFormat(lambda source: source.path.is_dir(), load_beir, frozenset(("split",)))
