"""What a system is judged on: collections of notes, questions put to them, and the notes that answer each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recollect import arguments
from recollect.model import Note

__all__ = ["UNANSWERABLE", "Collection", "Dataset", "Question", "format_count"]

UNANSWERABLE = "unanswerable"
"""The stratum of questions that no note answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the collection that it is put to, and the grades of the notes that answer it."""

    id: str
    text: str
    collection: str
    relevant: Mapping[str, int]
    """The grade, above 0, of each note that answers it, by id; what is not named does not answer.

    Empty if no note answers it: such a question is of the stratum ``unanswerable``.
    """
    strata: tuple[str, ...] = ()
    """The kinds of question that it is one of, such as ``multi-hop``."""
    asked: str = ""
    """When it was asked, as the dataset writes it; empty where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Notes that are searched together, in a store of their own."""

    id: str
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Collections, and questions to them whose answers are known.

    >>> tea = Collection(id="home", notes=(Note(id="n1", content="Prefers green tea."),))
    >>> asked = Question(id="q1", text="which tea?", collection="home", relevant={"n1": 1})
    >>> Dataset(name="tiny", collections={"home": tea}, questions=(asked,)).notes
    1
    """

    name: str
    collections: Mapping[str, Collection]
    questions: tuple[Question, ...]
    synthetic: bool = False
    """Whether questions and judgements were made by rule; figures on it say little about other questions."""
    remarks: tuple[str, ...] = field(default=())
    """What a reader of the figures should know, such as how many questions were left out and why."""

    @property
    def notes(self) -> int:
        """How many notes there are in all collections."""
        return sum(len(collection.notes) for collection in self.collections.values())

    @property
    def answerable(self) -> tuple[Question, ...]:
        """The questions that at least one note answers; ranking measures are means over these."""
        return tuple(question for question in self.questions if question.relevant)

    @property
    def unanswerable(self) -> tuple[Question, ...]:
        """The questions that no note answers; a system should not be confident of what it returns for them."""
        return tuple(question for question in self.questions if not question.relevant)

    @property
    def strata(self) -> tuple[str, ...]:
        """The kinds of question there are, in order."""
        return tuple(sorted({stratum for question in self.questions for stratum in question.strata}))

    def sample(self, size: int) -> Dataset:
        """Return the dataset with so many of its questions, spread evenly over it; all of them if there are no more."""
        wanted, there = arguments.at_least_one("size", size), len(self.questions)
        if wanted >= there:
            return self
        chosen = tuple(self.questions[place * there // wanted] for place in range(wanted))
        return replace(
            self, questions=chosen, remarks=(*self.remarks, f"a sample of {wanted:,} of {there:,} questions")
        )


def format_count(count: int, what: str) -> str:
    """Return a number of things in words.

    >>> format_count(1, "question"), format_count(1200, "note")
    ('1 question', '1,200 notes')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
