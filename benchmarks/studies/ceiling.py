"""How far up a conversation's answers could be ranked at all, and what the misses look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchmarks.studies.laboratory import DEEPEST, Laboratory
from benchmarks.studies.tables import against, share, table
from recollect.evaluation import Question, System
from recollect.evaluation.report.wording import fraction
from recollect.model import Note

__all__ = ["deeper", "misses", "pools"]

TURNS = "LoCoMo turns"
SEEN = 5
BESIDE = 2


def pools(lab: Laboratory) -> dict[str, str]:
    """Count the questions with an answer among the first of each leg, of both together, and of the default."""
    material = lab.materials[TURNS]
    default = System("default")
    legs = lab.legs(material, lab.encoder)
    ranked = lab.outcomes(material, lab.encoder, [default], depth=DEEPEST)[default.name].rankings
    rows = []
    for depth in (5, 10, 20, 60, DEEPEST):
        held: Counter[str] = Counter()
        for question in material.dataset.questions:
            words = {each.id for each in legs[question.id].lexical[:depth]}
            meaning = {each.id for each in legs[question.id].vector[:depth]}
            fused = set(ranked[question.id].ids[:depth])
            for name, ids in (("words", words), ("meaning", meaning), ("either", words | meaning), ("us", fused)):
                held[name] += bool(ids.intersection(question.relevant))
        shares = [held[name] / len(legs) for name in ("words", "meaning", "either", "us")]
        rows.append([str(depth), *map(fraction, shares)])
    return {"pools": table(["depth", "BM25 alone", "vectors alone", "either of them", "default, 200 deep"], rows)}


def deeper(lab: Laboratory) -> dict[str, str]:
    """Hold the default with lists of 200 against itself with lists of 60, as every search has them."""
    default = System("default")
    rows = []
    for name in (TURNS, "SciFact", "MuSiQue"):
        material = lab.materials[name] if name == TURNS else lab.materials[name].sample
        usual = lab.outcomes(material, lab.encoder, [default])[default.name]
        deep = lab.outcomes(material, lab.encoder, [default], depth=DEEPEST)[default.name]
        rows += [
            [f"{name}, {measure}", fraction(usual.mean(measure)), against(deep.values[measure], usual.values[measure])]
            for measure in material.measures
            if "@" in measure  # others would count answers that only the deeper one returns
        ]
    return {"deeper": table(["collection", "lists of 60", f"lists of {DEEPEST}"], rows)}


def misses(lab: Laboratory) -> dict[str, str]:
    """Say of the questions without an answer among the first five what is there instead, and what answers are like."""
    material = lab.materials[TURNS]
    default = System("default")
    found = lab.outcomes(material, lab.encoder, [default])[default.name].rankings
    legs = lab.legs(material, lab.encoder)
    notes = {
        (home, note.id or ""): note
        for home, collection in material.dataset.collections.items()
        for note in collection.notes
    }
    missed = []
    traits: dict[str, list[bool]] = {}
    for question in material.dataset.questions:
        best = found[question.id].ids[:SEEN]
        miss = not set(best).intersection(question.relevant)
        missed.append(miss)
        shown = [notes[question.collection, each] for each in best]
        answers = [notes[question.collection, each] for each in question.relevant]
        told = {
            "an answer is at rank 6 to 20": bool(set(found[question.id].ids[SEEN:]).intersection(question.relevant)),
            "a turn of the right session is among the five": _shares_session(shown, answers),
            f"a turn at most {BESIDE} places from an answer is among the five": _beside(shown, answers),
            f"no answer is among the {DEEPEST} best by words": not _matched(question, legs[question.id].lexical),
            "several answers are needed": len(question.relevant) > 1,
            "the shortest answer has at most ten words": min(len(note.content.split()) for note in answers) <= 10,
        }
        told |= {f"category {stratum}": stratum in question.strata for stratum in material.dataset.strata}
        for trait, held in told.items():
            traits.setdefault(trait, []).append(held)
    count = sum(missed)
    rows = []
    for trait, holds in traits.items():
        among = sum(one and other for one, other in zip(holds, missed, strict=True))
        rest = sum(one and not other for one, other in zip(holds, missed, strict=True))
        rows.append([trait, share(among, count), share(rest, len(missed) - count)])
    return {"misses": table(["", "of the misses", "of the others"], rows)}


def _shares_session(shown: Iterable[Note], answers: Iterable[Note]) -> bool:
    return bool({note.session for note in shown}.intersection(note.session for note in answers))


def _beside(shown: Iterable[Note], answers: Iterable[Note]) -> bool:
    places = {(note.session, note.position) for note in shown}
    return any(
        (note.session, (note.position or 0) + step) in places for note in answers for step in range(-BESIDE, BESIDE + 1)
    )


def _matched(question: Question, lexical: Iterable[object]) -> bool:
    return any(getattr(each, "id", None) in question.relevant for each in lexical)
