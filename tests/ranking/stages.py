"""Each stage as a function of candidates, a query and its settings, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect import Candidate, arguments
from recollect.model import as_candidates
from recollect.ranking import (
    ExactTerm,
    ImportancePrior,
    RegexAnchorExtractor,
    SessionLift,
    SpeakerTurns,
    StageContext,
    Superseded,
    TemporalBoost,
    TimeMatch,
    run_stage,
)
from recollect.ranking.stage import apply_result, with_steps


def importance_prior(candidates: Any, **settings: Any) -> list[Candidate]:
    return run_stage(ImportancePrior(**settings), candidates)


def lift_sessions(candidates: Any, **settings: Any) -> list[Candidate]:
    return run_stage(SessionLift(**settings), candidates)


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


def demote_superseded(candidates: Any, superseded_by: Mapping[str, Sequence[str]], **settings: Any) -> list[Candidate]:
    context = StageContext(current_notes=lambda _: ([], superseded_by))
    return run_stage(Superseded(**settings), candidates, context)
