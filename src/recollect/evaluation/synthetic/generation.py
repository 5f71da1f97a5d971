"""A stratified set of questions from one's own notes, by rule: nothing is asked of a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect import arguments
from recollect.evaluation.dataset import UNANSWERABLE, Collection, Dataset, Question
from recollect.evaluation.synthetic.alike import words_alike
from recollect.evaluation.synthetic.exact import exact_questions
from recollect.evaluation.synthetic.lexicon import Lexicon
from recollect.evaluation.synthetic.multi_hop import connected_question
from recollect.evaluation.synthetic.paraphrase import paraphrase
from recollect.evaluation.synthetic.sampling import spread
from recollect.evaluation.synthetic.stale import current_notes, stale_question, successors_of
from recollect.evaluation.synthetic.temporal import temporal_questions
from recollect.evaluation.synthetic.typo import typo_question
from recollect.evaluation.synthetic.unanswerable import foreign_question
from recollect.model import Note

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["COLLECTION", "STRATA", "generate_questions"]

STRATA = ("exact", "paraphrase", "multi-hop", "typo", "temporal", "stale", UNANSWERABLE)
COLLECTION = "default"
"""What the questions name as their collection: the memory that they were made from."""

_BESIDE = frozenset(("previous", "next"))
"""To be beside a note says nothing of what it is about."""
_REPLACING = frozenset(("supersedes", "superseded-by"))
"""Of two notes of which one replaced the other, one alone answers."""


_WHY_NO_MORE = {
    "typo": "the other notes have no long word that they alone hold",
    "temporal": "the month or day of creation does not identify the other notes",
    "stale": "no other note was superseded that has words of its own",
}
_WHY_NO_MORE_WORDS = "the other notes say nothing that they alone say and the rules can ask for"


class _Asked(NamedTuple):
    text: str
    relevant: tuple[int, ...]
    kind: str = ""
    """The kind of question within its stratum."""
    asked: str = ""
    """When it is asked."""


def generate_questions(
    memory: Memory,
    *,
    namespace: str | None = None,
    each: int = 100,
    seed: int = 0,
    foreign: Iterable[Note] = (),
) -> Dataset:
    """Make up to ``each`` questions of each stratum whose answers are known, from the notes of a namespace.

    ``exact``: a token or words that one note alone holds, by kind. ``paraphrase``: a sentence of a note in other words,
    as far as rules and the memory's embedder know some. ``multi-hop``: words of a note, and one of a note that it is
    connected with; both answer. ``typo``: one or two rare words, misspelt. ``temporal``: the notes of a month or a day,
    or a word in a month. ``stale``: words of a superseded note; the current note answers. ``unanswerable``:
    about notes of another collection, ``foreign``, that have little in common with these; no note answers.

    What several notes would answer alike is not asked, and no note twice in a stratum. The same notes and ``seed`` give
    the same questions. They are synthetic: they compare ways to search over these notes, and say little of how good a
    search is for what people ask.

    >>> import recollect, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with recollect.open(f"{folder.name}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Deploys fail with ERR_4021 since Monday.", id="n1")
    ...     _ = memory.add("Tea at four.", id="n2")
    ...     made = generate_questions(memory, each=1)
    >>> made.synthetic, made.questions[0].strata, made.questions[0].relevant
    (True, ('exact', 'exact: name'), {'n1': 1})
    >>> made.remarks[-1]
    'unanswerable: 0 of 1 made; no notes of another collection were given'
    >>> folder.cleanup()
    """
    wanted = arguments.at_least_one("each", each)
    start = arguments.count("seed", seed)
    notes = list(memory.notes(namespace=namespace))
    lexicon, elsewhere = Lexicon(notes), Lexicon(list(foreign))
    makers: dict[str, Callable[[np.random.Generator], Iterator[_Asked]]] = {
        "exact": lambda draw: _exact(lexicon, draw),
        "paraphrase": lambda draw: _paraphrases(lexicon, draw, memory),
        "multi-hop": lambda draw: _connected(lexicon, draw, memory),
        "typo": lambda draw: _typos(lexicon, draw),
        "temporal": lambda draw: _temporal(lexicon, draw),
        "stale": lambda draw: _stale(lexicon, draw),
        UNANSWERABLE: lambda draw: _unanswerable(lexicon, elsewhere, draw),
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
                    strata=(stratum, f"{stratum}: {asked.kind}") if asked.kind else (stratum,),
                    asked=asked.asked,
                )
            )
        if len(made) < wanted:
            why = _why(stratum, lexicon, elsewhere, memory, made=bool(made))
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


def _why(stratum: str, lexicon: Lexicon, elsewhere: Lexicon, memory: Memory, *, made: bool) -> str:
    """Return why there are no more questions of a stratum."""
    if stratum == UNANSWERABLE and not elsewhere.notes:
        return "no notes of another collection were given"
    if stratum == UNANSWERABLE:
        return "the other foreign notes have too many words in common with these"
    if stratum == "multi-hop" and (made or _any_connected(lexicon, memory)):
        return "connected notes that are left cannot be told from others by rare words"
    if stratum == "multi-hop":
        return "no two notes are connected by a link, a mention or an entity"
    return _WHY_NO_MORE.get(stratum, _WHY_NO_MORE_WORDS)


def _exact(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    """Yield a question about each note, of the kind that was asked least so far."""
    counts: Counter[str] = Counter()
    for place in spread(lexicon.notes, draw):
        options = exact_questions(lexicon, place, draw)
        if options:
            kind = min(options, key=lambda each: counts[each])
            counts[kind] += 1
            yield _Asked(options[kind], (place,), kind)


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


def _typos(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    for place in spread(lexicon.notes, draw):
        text = typo_question(lexicon, place, draw)
        if text is not None:
            yield _Asked(text, (place,))


def _temporal(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    for found in temporal_questions(lexicon, draw):
        yield _Asked(found.text, found.relevant, found.kind, found.asked)


def _stale(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    successors = successors_of(lexicon.notes)
    for place in spread(lexicon.notes, draw):
        current, chain = current_notes(place, successors)
        text = stale_question(lexicon, place, chain, draw) if current else None
        if text is not None:
            yield _Asked(text, tuple(sorted(current)))


def _unanswerable(lexicon: Lexicon, elsewhere: Lexicon, draw: np.random.Generator) -> Iterator[_Asked]:
    for place in spread(elsewhere.notes, draw):
        text = foreign_question(lexicon, elsewhere, place, draw)
        if text is not None:
            yield _Asked(text, ())


def _any_connected(lexicon: Lexicon, memory: Memory) -> bool:
    return any(_connections(memory, note) for note in lexicon.notes)


def _connections(memory: Memory, note: Note) -> list[str]:
    """Return the ids of the notes that have to do with a note, each once."""
    near = memory.neighbours(note)
    return list(dict.fromkeys(each.note.id for each in near if each.kind not in _BESIDE | _REPLACING))
