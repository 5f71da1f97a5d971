"""Each stage as a function of candidates, a query and its settings, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect import Candidate, arguments
from recollect.model import as_candidates
from recollect.ranking import (
    ExactMatch,
    ExactTerm,
    ImportancePrior,
    RegexAnchorExtractor,
    ScoreTransfer,
    SessionLift,
    SpeakerTurns,
    StageContext,
    Superseded,
    TemporalBoost,
    TimeMatch,
    run_stage,
)
from recollect.ranking.propagation import added_transfers, multiplied_by_transfers
from recollect.ranking.stage import apply_result, with_steps


def importance_prior(candidates: Any, **settings: Any) -> list[Candidate]:
    return run_stage(ImportancePrior(**settings), candidates)


def lift_sessions(candidates: Any, **settings: Any) -> list[Candidate]:
    return run_stage(SessionLift(**settings), candidates)


def exact_match(candidates: Any, *, query: str, **settings: Any) -> list[Candidate]:
    return run_stage(ExactMatch(**settings), candidates, StageContext(query))


def lift_exact_term(candidates: Any, *, query: str, forms: Sequence[str] = (), **settings: Any) -> list[Candidate]:
    return run_stage(ExactTerm(**settings), candidates, StageContext(query, term_forms=tuple(forms)))


def weight_speaker_turns(candidates: Any, *, query: str, **settings: Any) -> list[Candidate]:
    return run_stage(SpeakerTurns(**settings), candidates, StageContext(query))


def boost_time_matches(
    candidates: Any, *, query: str, now: Any, time_only: bool = False, **settings: Any
) -> list[Candidate]:
    context = StageContext(query, arguments.instant("now", now), time_only=time_only)
    return run_stage(TimeMatch(**settings), candidates, context)


def temporal_boost(
    candidates: Any,
    *,
    query: str,
    now: datetime,
    extractor: Any = RegexAnchorExtractor(),  # noqa: B008 (it has no state)
    combine: Any = "add",
    **settings: Any,
) -> list[Candidate]:
    context = StageContext(query, arguments.instant("now", now))
    notes = [note.copy() for note in as_candidates("candidates", candidates)]
    stage = TemporalBoost(combine=combine, **settings)
    result = stage.adjust_by(extractor, notes, context)
    return notes if result is None else with_steps(apply_result(stage.name, notes, result))


class GivenSupersessions:
    def __init__(self, superseded_by: Mapping[str, Sequence[str]]) -> None:
        self.superseded_by = superseded_by

    def current_notes(self, _: Sequence[Candidate]) -> tuple[list[Candidate], Mapping[str, Sequence[str]]]:
        return [], self.superseded_by


def demote_superseded(candidates: Any, superseded_by: Mapping[str, Sequence[str]], **settings: Any) -> list[Candidate]:
    context = StageContext(supersessions=GivenSupersessions(superseded_by))
    return run_stage(Superseded(**settings), candidates, context)


def add_transfers(
    candidates: Any,
    transfers: Mapping[str, Sequence[ScoreTransfer]],
    *,
    weight: float = 1.0,
    max_lift: float = 0.0,
    min_own_score_ratio: float = 0.0,
) -> list[Candidate]:
    notes = [note.copy() for note in as_candidates("candidates", candidates)]
    result = added_transfers(
        notes, transfers, weight=weight, max_lift=max_lift, min_own_score_ratio=min_own_score_ratio
    )
    return with_steps(apply_result("graph", notes, result))


def multiply_by_transfers(
    candidates: Any, transfers: Mapping[str, Sequence[ScoreTransfer]], *, weight: float = 1.0
) -> list[Candidate]:
    notes = [note.copy() for note in as_candidates("candidates", candidates)]
    return with_steps(apply_result("graph", notes, multiplied_by_transfers(notes, transfers, weight=weight)))
