"""A stratified set of questions from one's own notes, by rule: nothing is asked of a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect import arguments
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.synthetic.alike import words_alike
from recollect.evaluation.synthetic.exact import exact_question
from recollect.evaluation.synthetic.lexicon import Lexicon
from recollect.evaluation.synthetic.multi_hop import connected_question
from recollect.evaluation.synthetic.paraphrase import paraphrase
from recollect.evaluation.synthetic.sampling import spread
from recollect.model import Note

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["COLLECTION", "STRATA", "generate_questions"]

STRATA = ("exact", "paraphrase", "multi-hop")
COLLECTION = "default"
"""What the questions name as their collection: the memory that they were made from."""

_BESIDE = frozenset(("previous", "next"))
"""To be beside a note says nothing of what it is about."""
_REPLACING = frozenset(("supersedes", "superseded-by"))
"""Of two notes of which one replaced the other, one alone answers."""


class _Asked(NamedTuple):
    text: str
    relevant: tuple[int, ...]


def generate_questions(memory: Memory, *, namespace: str | None = None, each: int = 100, seed: int = 0) -> Dataset:
    """Make up to ``each`` questions of each stratum whose answers are known, from the notes of a namespace.

    ``exact``: words that one note alone holds. ``paraphrase``: a sentence of a note in other words, as far as rules and
    the memory's embedder know some. ``multi-hop``: words of a note, and one of a note that it is connected with; both
    answer. What several notes would answer alike is not asked, and no note twice in a stratum. The same notes and
    ``seed`` give the same questions. They are synthetic: they compare ways to search over these notes, and say little
    of how good a search is for what people ask.

    >>> import recollect, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with recollect.open(f"{folder.name}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Deploys fail with ERR_4021 since Monday.", id="n1")
    ...     _ = memory.add("Tea at four.", id="n2")
    ...     made = generate_questions(memory, each=1)
    >>> made.synthetic, made.questions[0].strata, made.questions[0].relevant
    (True, ('exact',), {'n1': 1})
    >>> made.remarks[-1]
    'multi-hop: 0 of 1 made; no two notes are connected by a link, a mention or an entity'
    >>> folder.cleanup()
    """
    wanted = arguments.at_least_one("each", each)
    start = arguments.count("seed", seed)
    notes = list(memory.notes(namespace=namespace))
    lexicon = Lexicon(notes)
    makers: dict[str, Callable[[np.random.Generator], Iterator[_Asked]]] = {
        "exact": lambda draw: _exact(lexicon, draw),
        "paraphrase": lambda draw: _paraphrases(lexicon, draw, memory),
        "multi-hop": lambda draw: _connected(lexicon, draw, memory),
    }
    questions: list[Question] = []
    remarks = [f"synthetic: made by rule from {len(notes)} notes with seed {start}"]
    for number, (stratum, make) in enumerate(makers.items()):
        made = _first(make(np.random.default_rng([start, number])), wanted)
        for place, asked in enumerate(made):
            questions.append(
                Question(
                    id=f"{stratum}-{place + 1:03}",
                    text=asked.text,
                    collection=COLLECTION,
                    relevant={notes[each].id: 1 for each in asked.relevant},
                    strata=(stratum,),
                )
            )
        if len(made) < wanted:
            why = _why(stratum, connected=bool(made) or _any_connected(lexicon, memory))
            remarks.append(f"{stratum}: {len(made)} of {wanted} made; {why}")
    return Dataset(
        name="synthetic",
        collections={COLLECTION: Collection(id=COLLECTION, notes=())},  # the notes are in the memory
        questions=tuple(questions),
        synthetic=True,
        remarks=tuple(remarks),
    )


def _first(made: Iterator[_Asked], wanted: int) -> list[_Asked]:
    """Return the first questions of which no two have the same words."""
    found: dict[str, _Asked] = {}
    for asked in made:
        found.setdefault(asked.text, asked)
        if len(found) == wanted:
            break
    return list(found.values())


def _why(stratum: str, *, connected: bool) -> str:
    if stratum != "multi-hop":
        return "the other notes say nothing that they alone say and the rules can ask for"
    if not connected:
        return "no two notes are connected by a link, a mention or an entity"
    return "connected notes that are left cannot be told from others by rare words"


def _exact(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    for place in spread(lexicon.notes, draw):
        text = exact_question(lexicon, place, draw)
        if text is not None:
            yield _Asked(text, (place,))


def _paraphrases(lexicon: Lexicon, draw: np.random.Generator, memory: Memory) -> Iterator[_Asked]:
    alike = words_alike(lexicon, memory.embedder)
    for place in spread(lexicon.notes, draw):
        text = paraphrase(lexicon, place, alike, draw)
        if text is not None:
            yield _Asked(text, (place,))


def _connected(lexicon: Lexicon, draw: np.random.Generator, memory: Memory) -> Iterator[_Asked]:
    places = {note.id: place for place, note in enumerate(lexicon.notes)}
    for place in spread(lexicon.notes, draw):
        names = _connections(memory, lexicon.notes[place])
        others = [places[name] for name in names if name in places]  # one may have come since
        found = connected_question(lexicon, place, others, draw)
        if found is not None:
            yield _Asked(found[0], (place, found[1]))


def _any_connected(lexicon: Lexicon, memory: Memory) -> bool:
    return any(_connections(memory, note) for note in lexicon.notes)


def _connections(memory: Memory, note: Note) -> list[str]:
    """Return the ids of the notes that have to do with a note, each once."""
    near = memory.neighbours(note)
    return list(dict.fromkeys(each.note.id for each in near if each.kind not in _BESIDE | _REPLACING))
