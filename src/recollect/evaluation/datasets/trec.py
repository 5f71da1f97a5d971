"""TREC files of runs and judgements (qrels).

A line of a run is ``question Q0 note rank score tag``, a line of judgements ``question 0 note grade``. White space
separates columns, so white space and ``%`` within an id are percent-encoded when writing and decoded when reading.
U+FEFF is encoded, too: at the start of a file it would be read as a byte order mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from urllib.parse import quote, unquote

from recollect.errors import IngestError
from recollect.evaluation.dataset import Question
from recollect.evaluation.datasets.files import read_lines
from recollect.evaluation.outcome import Ranking

_SPECIAL = re.compile(r"[\s%\ufeff]")
_HEADINGS = frozenset(("score", "grade", "relevance", "rel", "rating", "label", "judgement", "judgment"))
"""Names of the grade column in a header line."""


def read_qrels(path: str | PathLike[str]) -> dict[str, dict[str, int]]:
    r"""Return the grades of each question's notes, from TREC's four columns or BEIR's three tab-separated columns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "qrels").write_text("q1 0 n1 1\nq1 0 n2 0\n")
    ...     read_qrels(Path(folder, "qrels"))
    {'q1': {'n1': 1, 'n2': 0}}
    """
    judged: dict[str, dict[str, int]] = {}
    for number, line in read_lines(Path(path)):
        tabbed = "\t" in line
        columns = [column.strip() for column in line.split("\t")] if tabbed else line.split()
        if len(columns) == 4:
            del columns[1]
        if len(columns) != 3:
            raise IngestError(
                f"{path}, line {number}: must be a question, a note and a grade, got {line.strip()[:60]!r}"
            )
        question, note, grade = columns
        try:
            value = float(grade)
        except ValueError:
            if number == 1 and grade.lower() in _HEADINGS:
                continue
            raise IngestError(f"{path}, line {number}: the grade must be a number, got {grade[:60]!r}") from None
        if not value.is_integer():
            raise IngestError(f"{path}, line {number}: the grade must be a whole number, got {grade[:60]!r}")
        if not tabbed:
            question, note = unquote(question), unquote(note)
        if judged.setdefault(question, {}).setdefault(note, int(value)) != value:
            raise IngestError(f"{path}, line {number}: {note[:60]!r} already has another grade for {question[:60]!r}")
    return judged


def write_qrels(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    r"""Write the relevant notes of each question.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels")
    ...     write_qrels(path, [Question(id="q1", text="tea?", collection="", relevant={"n1": 1})])
    ...     path.read_text()
    'q1 0 n1 1\n'
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question in questions:
            judged = question.relevant.items()
            file.writelines(f"{_encoded(question.id)} 0 {_encoded(note)} {grade}\n" for note, grade in judged)


def write_run(path: str | PathLike[str], rankings: Mapping[str, Ranking], *, tag: str) -> None:
    r"""Write the rankings of a system.

    Many tools sort by score, and scores may be equal. So n + 1 − rank, for n notes, is written as the score: it gives
    the same order.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "run")
    ...     write_run(path, {"q1": Ranking(("n1",), (0.7,), 1.5)}, tag="default")
    ...     path.read_text()
    'q1 Q0 n1 1 1 default\n'
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question, ranking in rankings.items():
            for rank, note in enumerate(ranking.ids, 1):
                score = len(ranking.ids) + 1 - rank
                file.write(f"{_encoded(question)} Q0 {_encoded(note)} {rank} {score} {_encoded(tag)}\n")


def _encoded(text: str) -> str:
    return _SPECIAL.sub(lambda match: quote(match[0]), text)
