"""A path becomes a dataset, whatever the format."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from recollect import arguments
from recollect.errors import ArgumentError, IngestError
from recollect.evaluation.dataset import Dataset
from recollect.evaluation.formats.beir import load_beir
from recollect.evaluation.formats.files import read_json_file
from recollect.evaluation.formats.locomo import load_locomo
from recollect.evaluation.formats.longmemeval import load_longmemeval

__all__ = ["FORMATS", "LEVELS", "load_dataset"]

FORMATS = ("beir", "locomo", "longmemeval")
LEVELS = ("turn", "session")


def load_dataset(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the option's name)
    level: str | None = None,
    split: str | None = None,
    pool: bool = False,
) -> Dataset:
    r"""Read a dataset: a BEIR folder, or a JSON file of LoCoMo or LongMemEval; without ``format`` one sees which.

    ``level`` is what a note of a conversation is: a ``turn``, as LoCoMo is read unless told otherwise, or a whole
    ``session``, as LongMemEval is. ``split`` names the judgements of a BEIR folder that has several.
    ``pool`` puts the sessions of all of LongMemEval's questions into one collection, each session once.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     home = Path(folder, "tea")
    ...     Path(home, "qrels").mkdir(parents=True)
    ...     _ = Path(home, "corpus.jsonl").write_text('{"_id": "n1", "text": "Prefers green tea."}')
    ...     _ = Path(home, "queries.jsonl").write_text('{"_id": "q1", "text": "which tea?"}')
    ...     _ = Path(home, "qrels", "test.tsv").write_text("q1\tn1\t1")
    ...     dataset = load_dataset(home)
    >>> dataset.name, dataset.notes, dict(dataset.questions[0].relevant)
    ('tea', 1, {'n1': 1})
    """
    place = Path(path).expanduser()
    chosen = format and arguments.choice("format", format, FORMATS)
    depth = level and arguments.choice("level", level, LEVELS)
    if not place.exists():
        raise ArgumentError("dataset", f"there is no {place}")
    if chosen == "beir" or (chosen is None and place.is_dir()):
        if level is not None:
            raise ArgumentError("level", "is for conversations, LoCoMo's and LongMemEval's; leave it out here")
        _refuse_pool(pool=pool)
        if not (place / "queries.jsonl").exists():
            raise ArgumentError("dataset", f"{place} is no BEIR folder: there is no queries.jsonl in it")
        dataset = load_beir(place, split=split)
    elif place.is_dir():
        raise ArgumentError("dataset", f"{place} is a folder; {chosen} is a JSON file")
    else:
        if split is not None:
            raise ArgumentError("split", "is for BEIR folders; leave it out here")
        samples = read_json_file(place)
        if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
            raise IngestError(f"{place}: must be a list of objects, as LoCoMo and LongMemEval are")
        keys = samples[0].keys() if samples else ()
        if chosen == "locomo" or (chosen is None and {"conversation", "qa"} <= set(keys)):
            _refuse_pool(pool=pool)
            dataset = load_locomo(place, samples, level=depth or "turn")
        elif chosen == "longmemeval" or "haystack_sessions" in keys:
            dataset = load_longmemeval(place, samples, level=depth or "session", pool=pool)
        else:
            raise ArgumentError(
                "dataset", f"{place} is none of {', '.join(FORMATS)}; if it is one of them, name it by format"
            )
    if not dataset.answerable:
        raise ArgumentError("dataset", f"{place} has no question that could be judged" + _because(dataset))
    return dataset


def _refuse_pool(*, pool: bool) -> None:
    if pool:
        raise ArgumentError("pool", "is for LongMemEval, whose questions have a haystack each; leave it out here")


def _because(dataset: Dataset) -> str:
    return f" ({'; '.join(dataset.remarks)})" if dataset.remarks else ""
