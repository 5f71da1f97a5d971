"""Questions as a folder, in the format of BEIR but without a corpus: the notes are in the memory."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Dataset, Question

__all__ = ["require_new_folder", "write_questions"]


def write_questions(dataset: Dataset, folder: str | PathLike[str]) -> Path:
    """Write the questions and judgements of a dataset into a folder that is new or empty, and return its path.

    ``queries.jsonl`` has a question a line, with its stratum, when it is asked and whether it is synthetic in the
    ``metadata``; ``qrels/test.tsv`` has the judgements. :func:`~recollect.evaluation.load_dataset` reads such a folder.

    >>> import tempfile
    >>> asked = Question(id="q1", text="which tea?", collection="default", relevant={"n1": 1}, strata=("exact",))
    >>> made = Dataset(name="tiny", collections={}, questions=(asked,), synthetic=True)
    >>> with tempfile.TemporaryDirectory() as temporary:
    ...     print((write_questions(made, f"{temporary}/questions") / "queries.jsonl").read_text().strip())
    {"_id": "q1", "text": "which tea?", "metadata": {"stratum": "exact", "synthetic": true}}
    """
    target = require_new_folder(folder)
    (target / "qrels").mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "_id": question.id,
            "text": question.text,
            "metadata": _strata(question)
            | ({"asked": question.asked} if question.asked else {})
            | {"synthetic": dataset.synthetic},
        }
        for question in dataset.questions
    ]
    judged = [
        f"{question.id}\t{note}\t{grade}" for question in dataset.questions for note, grade in question.relevant.items()
    ]
    (target / "queries.jsonl").write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8"
    )
    (target / "qrels" / "test.tsv").write_text(
        "".join(f"{line}\n" for line in ["query-id\tcorpus-id\tscore", *judged]), encoding="utf-8"
    )
    return target


def require_new_folder(folder: str | PathLike[str]) -> Path:
    """Return the path of a folder if it is new or empty; nothing is ever overwritten.

    >>> require_new_folder("~/questions").name
    'questions'
    """
    target = Path(folder).expanduser()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ArgumentError("folder", f"{target} has something in it already; name another, or empty it first")
    return target


def _strata(question: Question) -> dict[str, str | list[str]]:
    return {"stratum": question.strata[0]} if len(question.strata) == 1 else {"strata": list(question.strata)}
