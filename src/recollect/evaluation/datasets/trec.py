"""TREC files: runs, which are rankings of a system, and qrels, which are judgements.

A line of a run is ``question Q0 note rank score tag``. A line of qrels is ``question 0 note grade``. White space
separates columns, so white space and ``%`` within an id are percent-encoded when writing and decoded when reading.
U+FEFF is percent-encoded as well, because at the start of a file it would be read as a byte order mark.
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

_SPECIAL = re.compile(r"[\s%\ufeff]")  # the characters that are percent-encoded
_GRADE_HEADINGS = frozenset(("score", "grade", "relevance", "rel", "rating", "label", "judgement", "judgment"))
"""Names of the grade column, by which a header line is recognised."""


def read_qrels(path: str | PathLike[str]) -> dict[str, dict[str, int]]:
    r"""Return the grade of each judged note, by question id and note id.

    The file has TREC's four columns, or BEIR's three tab-separated columns, whose ids are not percent-encoded.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "qrels").write_text("q1 0 n1 1\nq1 0 n2 0\n")
    ...     read_qrels(Path(folder, "qrels"))
    {'q1': {'n1': 1, 'n2': 0}}
    """
    grades: dict[str, dict[str, int]] = {}
    for number, line in read_lines(Path(path)):
        location = f"{path}, line {number}"
        tab_separated = "\t" in line
        columns = [column.strip() for column in line.split("\t")] if tab_separated else line.split()
        if len(columns) == 4:
            del columns[1]  # TREC's second column, called iteration, is not used
        if len(columns) != 3:
            raise IngestError(f"{location}: must be a question, a note and a grade, got {line.strip()[:60]!r}")
        question, note, grade = columns
        try:
            value = float(grade)
        except ValueError:
            if number == 1 and grade.lower() in _GRADE_HEADINGS:
                continue
            raise IngestError(f"{location}: the grade must be a number, got {grade[:60]!r}") from None
        if not value.is_integer():
            raise IngestError(f"{location}: the grade must be a whole number, got {grade[:60]!r}")
        if not tab_separated:
            question, note = unquote(question), unquote(note)
        if grades.setdefault(question, {}).setdefault(note, int(value)) != value:
            raise IngestError(f"{location}: {note[:60]!r} already has another grade for {question[:60]!r}")
    return grades


def write_qrels(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    r"""Write the relevant notes of each question with their grades, as a TREC file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels")
    ...     write_qrels(path, [Question(id="q1", text="tea?", collection="", relevant={"n1": 1})])
    ...     path.read_text()
    'q1 0 n1 1\n'
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question in questions:
            grades = question.relevant.items()
            file.writelines(f"{_encode(question.id)} 0 {_encode(note)} {grade}\n" for note, grade in grades)


def write_run(path: str | PathLike[str], rankings: Mapping[str, Ranking], *, tag: str) -> None:
    r"""Write the rankings of a system, by question id, as a TREC file; ``tag`` names the system.

    Many tools sort by score, and scores may be equal. So the score that is written is n + 1 − rank for n notes, which
    keeps the order.

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
                file.write(f"{_encode(question)} Q0 {_encode(note)} {rank} {score} {_encode(tag)}\n")


def _encode(text: str) -> str:
    return _SPECIAL.sub(lambda match: quote(match[0]), text)
