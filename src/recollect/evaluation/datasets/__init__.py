"""``load_dataset`` and the registry of dataset formats. A new format is one module and one entry in ``DATASETS``."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Dataset
from recollect.evaluation.datasets.beir import BEIR
from recollect.evaluation.datasets.files import DatasetFormat, DatasetSource
from recollect.evaluation.datasets.locomo import LOCOMO
from recollect.evaluation.datasets.longmemeval import LONGMEMEVAL

__all__ = ["DATASETS", "LEVELS", "DatasetFormat", "load_dataset"]

DATASETS: dict[str, DatasetFormat] = {"beir": BEIR, "locomo": LOCOMO, "longmemeval": LONGMEMEVAL}
"""The dataset formats by name. If the user names no format, the first format that recognises the dataset is used."""

LEVELS = ("turn", "session")
"""The parts of a conversation that can become one note."""


def load_dataset(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the option's name)
    level: str | None = None,
    split: str | None = None,
    pool: bool = False,
    corrections: str | PathLike[str] | None = None,
) -> Dataset:
    r"""Read a dataset: a BEIR folder, or a JSON file of LoCoMo or LongMemEval.

    ``format`` is a name in ``DATASETS``; without it the content decides. ``level`` says what becomes a note: each
    ``turn`` of a conversation (the default for LoCoMo) or each ``session`` (the default for LongMemEval). ``split``
    selects a judgement file of a BEIR folder, such as ``dev`` for ``qrels/dev.tsv``. ``pool`` puts the sessions of all
    LongMemEval questions into one collection, each session once. ``corrections`` is a JSON file with the errors of
    LoCoMo's key, in the format of ``dial481/locomo-audit``; its evidence replaces that of the dataset.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as temporary:
    ...     folder = Path(temporary, "tea")
    ...     Path(folder, "qrels").mkdir(parents=True)
    ...     _ = Path(folder, "corpus.jsonl").write_text('{"_id": "n1", "text": "Prefers green tea."}')
    ...     _ = Path(folder, "queries.jsonl").write_text('{"_id": "q1", "text": "which tea?"}')
    ...     _ = Path(folder, "qrels", "test.tsv").write_text("q1\tn1\t1")
    ...     dataset = load_dataset(folder)
    >>> dataset.name, dataset.notes, dict(dataset.questions[0].relevant)
    ('tea', 1, {'n1': 1})
    """
    source = DatasetSource(Path(path).expanduser())
    if format is not None:
        arguments.choice("format", format, tuple(DATASETS))
    if level is not None:
        arguments.choice("level", level, LEVELS)
    if not source.path.exists():
        raise ArgumentError("dataset", f"there is no file or folder {source.path}")
    corrections_path = None if corrections is None else Path(corrections).expanduser()
    if corrections_path is not None and not corrections_path.is_file():
        raise ArgumentError("corrections", f"there is no file {corrections_path}")
    name = format or next((name for name, candidate in DATASETS.items() if candidate.detect(source)), None)
    if name is None:
        names = ", ".join(DATASETS)
        raise ArgumentError("dataset", f"{source.path} is not recognised as {names}; specify its format")
    dataset_format = DATASETS[name]
    values = {"level": level, "split": split, "pool": pool, "corrections": corrections_path}
    options = {option: value for option, value in values.items() if value}
    for option in options.keys() - dataset_format.options:
        supporting = " and ".join(key for key, other in DATASETS.items() if option in other.options)
        raise ArgumentError(option, f"is for {supporting}; leave it out for {name}")
    dataset = dataset_format.load(source, **options)
    if not dataset.answerable:
        reason = f" ({'; '.join(dataset.remarks)})" if dataset.remarks else ""
        raise ArgumentError("dataset", f"{source.path} has no question with a relevant note{reason}")
    return dataset
