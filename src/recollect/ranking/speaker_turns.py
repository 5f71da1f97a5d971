"""Speaker turns: raise the turns of a conversation that are likely to contain an answer.

A turn is raised if the query is about its speaker. That is so if the query names the speaker, or if the query is in
the first person ("when did I ...") and the speaker is the user. A turn that asks questions is lowered. A turn that is
long for its speaker is raised, and a short turn is lowered, because most short turns are thanks and greetings. These
signs are weak, so the factors are close to 1.

A turn that follows a question may answer it in words that do not repeat the topic ("In May."). So if the question has
more points in the vector leg than the turn, the turn gets a share of the difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum, log
from statistics import median
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, display_name
from recollect.settings import number, setting

_SPEAKER = re.compile(r"\s*([^\W\d_][\w .'’-]{0,39}):\s")  # a name of at most 40 characters, a colon and white space
_SENTENCE_ENDS = re.compile(r"[.!?…]+")
_WORD = re.compile(r"[^\W_]+")  # letters and digits
_FIRST_PERSON = frozenset(("i", "my", "me", "mine", "we", "our", "us"))
_SECOND_PERSON = frozenset(("you", "your", "yours"))
_USER_ROLES = frozenset(("user", "human"))  # the names of the human's role in chat transcripts
_CHAT_ROLES = _USER_ROLES | {"assistant", "ai", "bot", "model", "system"}  # the names of all roles in chat transcripts
_MAX_LOG_RATIO = 1.5  # a turn counts as at most 4.5 times as long or as short as the median of its speaker's turns


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerTurns(Stage):
    """Multiply the scores of turns by factors for their speaker, their questions and their length.

    A turn is a note with a session and a position whose content begins with the name of its speaker, as in ``Ada: I
    moved.``. If the turn before it asks something and has more points in the vector leg, ``answers * share * gap`` is
    added to its score, where ``share`` is the share of that turn's sentences that are questions, and ``gap`` is the
    difference of the points. In a chat with an assistant nothing is added, because there a reply says little about the
    user. Then the score is multiplied by up to three factors:

    - ``1 + speaker`` if the query names the speaker, but not all speakers among the candidates; or if the query is in
      the first person ("I", "my", without "you") and the speaker is called ``user`` or ``human``
    - ``1 - asks * share``, where ``share`` is the share of the turn's sentences that are questions
    - ``1 + length * ln((w + 1) / (m + 1))``, where ``w`` is the number of the turn's words, and ``m`` is the median of
      this number over the speaker's turns among the candidates; the logarithm is limited to ±1.5

    >>> from recollect.ranking import StageContext, run_stage
    >>> turns = [{"id": "a", "content": "Ben: And how is Oslo?", "score": 0.5, "session": "s", "position": 1},
    ...          {"id": "b", "content": "Ada: I love Oslo.", "score": 0.5, "session": "s", "position": 2}]
    >>> ranked = run_stage(SpeakerTurns(), turns, StageContext("Where did Ada move?"))
    >>> [(turn.id, round(turn.score, 3)) for turn in ranked]
    [('b', 0.55), ('a', 0.4)]
    """

    name: ClassVar[str] = "speaker_turns"
    speaker: float = setting(0.1, number(0))
    asks: float = setting(0.2, number(0))
    length: float = setting(0.1, number(0))
    answers: float = setting(0.0, number(0))

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the factors of each turn; ``None`` if no candidate is a turn."""
        in_sessions = [note for note in candidates if note.session and note.position is not None]
        matches = {note.id: _SPEAKER.match(note.content) for note in in_sessions}
        speakers = {turn_id: match[1] for turn_id, match in matches.items() if match}
        if not speakers:
            return None
        lengths = {note.id: note.content.count(" ") + 1 for note in candidates if note.id in speakers}
        lengths_by_speaker: dict[str, list[int]] = {}
        for turn_id, length in lengths.items():
            lengths_by_speaker.setdefault(speakers[turn_id], []).append(length)
        medians = {speaker: median(values) for speaker, values in lengths_by_speaker.items()}
        subjects = _subjects(context.query, set(medians))
        # The turns that ask another person something, by session and position.
        questions = {
            (note.session, note.position): note
            for note in (in_sessions if self.answers else ())
            if "?" in note.content and speakers.get(note.id, "user").lower() not in _CHAT_ROLES
        }
        adjustments: list[list[Adjustment]] = []
        for note in candidates:
            speaker = speakers.get(note.id)
            if speaker is None:
                adjustments.append([])
                continue
            turn_adjustments = self._adjustments(note, speaker, subjects, lengths[note.id], medians[speaker])
            question = questions.get((note.session, (note.position or 0) - 1))
            if question is not None and (gap := _vector_points(question) - _vector_points(note)) > 0:
                reason = partial(_answer_reason, question)
                addend = self.answers * _question_share(question.content) * gap
                turn_adjustments.insert(0, Adjustment(reason, addend=addend))
            adjustments.append(turn_adjustments)
        return StageResult(adjustments)

    def _adjustments(
        self, turn: Candidate, speaker: str, subjects: set[str], length: int, median_length: float
    ) -> list[Adjustment]:
        adjustments = []
        if speaker in subjects:
            adjustments.append(Adjustment(lambda: f"the query is about its speaker, {speaker}", 1 + self.speaker))
        question_share = _question_share(turn.content)
        if question_share:
            reason = "asks more than it tells" if question_share > 0.5 else "asks"
            adjustments.append(Adjustment(reason, max(0.0, 1 - self.asks * question_share)))
        log_ratio = max(-_MAX_LOG_RATIO, min(_MAX_LOG_RATIO, log((length + 1) / (median_length + 1))))
        if log_ratio:
            reason = "long for a turn" if log_ratio > 0 else "short for a turn"
            adjustments.append(Adjustment(reason, max(0.0, 1 + self.length * log_ratio)))
        return adjustments


def _vector_points(turn: Candidate) -> float:
    """Return the points of a turn in the vector leg."""
    legs, points = turn.evidence[::4], turn.evidence[3::4]
    return fsum(value for leg, value in zip(legs, points, strict=True) if leg == "vector")


def _answer_reason(question: Candidate) -> str:
    return f"may answer {display_name(question)!r}"


def _subjects(query: str, speakers: set[str]) -> set[str]:
    """Return the speakers that a query is about; see :class:`SpeakerTurns`."""
    words = set(_WORD.findall(query.lower()))
    subjects = {speaker for speaker in speakers if words.issuperset(_WORD.findall(speaker.lower()))}
    if subjects == speakers:
        subjects = set()
    if not words.isdisjoint(_FIRST_PERSON) and words.isdisjoint(_SECOND_PERSON):
        subjects |= {speaker for speaker in speakers if speaker.lower() in _USER_ROLES}
    return subjects


def _question_share(content: str) -> float:
    """Return the share of the sentences of a text that are questions."""
    if "?" not in content:
        return 0.0
    ends = _SENTENCE_ENDS.findall(content)
    return sum("?" in end for end in ends) / len(ends)
