"""The state of one search: what its parts have computed, how its lists are fused, and the changes of each score."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.fusion import FUSION_METHODS, FusionScale
from recollect.fusion.base import FusionRules
from recollect.model import Candidate, Step
from recollect.query import Token
from recollect.ranking.stage import Change, StageResult, apply_result
from recollect.retrieval.confidence import Calibration
from recollect.retrieval.lexical import LexicalResult
from recollect.retrieval.preset import Preset
from recollect.retrieval.request import SearchRequest, SearchScope
from recollect.retrieval.terms import TermFrequencies, positive_terms
from recollect.retrieval.trace import Trace
from recollect.retrieval.vector import VectorResult, scale_similarities
from recollect.retrieval.word_forms import Substitution


class SearchState:
    """The state of one search: its request, its rules, and what the parts have computed so far."""

    __slots__ = (
        "_changes",
        "background",
        "calibration",
        "frequencies",
        "lexical",
        "max_lexical_score",
        "preset",
        "request",
        "scope",
        "substitutions",
        "trace",
        "vector",
    )

    def __init__(
        self, preset: Preset, request: SearchRequest, scope: SearchScope, trace: Trace, calibration: Calibration
    ) -> None:
        self.preset = preset
        self.request = request
        self.scope = scope
        self.trace = trace
        self.calibration = calibration
        self.lexical = LexicalResult([], request.tree)
        self.vector = VectorResult(None)
        self.background: float | None = None
        """The score of the last note that the vector leg itself retrieved: the similarity that fusion scales to 0."""
        self.frequencies: dict[tuple[Token, ...], TermFrequencies | None] = {}
        """The document frequencies of the terms of each query; ``None`` if they are unavailable."""
        self.substitutions: tuple[Substitution, ...] = ()
        self.max_lexical_score: float | None = None
        """The best lexical score before coverage, which fusion scales to 1; a poor match stays below it."""
        self._changes: dict[str, list[Change]] = {}

    @property
    def forms_of_only_term(self) -> tuple[str, ...]:
        """The other forms of the query's only term."""
        is_only_term = len(positive_terms(self.request.terms)) == len(self.substitutions) == 1
        return self.substitutions[0].forms if is_only_term else ()

    def _leg_weights(self) -> dict[str, float]:
        """Return the weights of the legs, lower for a guess of the lexical leg and for a weak model."""
        rules = self.preset.fusion
        factors = {
            "lexical": self.preset.ladder.guess_weight if self.lexical.is_guess else 1.0,
            "vector": self.calibration.model_quality if rules.weight_by_model_quality else 1.0,
        }
        changed = {leg: rules.weights.get(leg, 1.0) * factor for leg, factor in factors.items() if factor != 1}
        return {**rules.weights, **changed}

    def fuse(self, lists: Mapping[str, list[Candidate]]) -> list[Candidate]:
        """Fuse the lists of several legs by the rules of the preset."""
        rules, min_scores = self.preset.fusion, dict(self.preset.fusion.min_scores)
        max_scores = {} if self.max_lexical_score is None else {"lexical": self.max_lexical_score}
        if rules.scales_similarities and self.background is not None and lists.get("vector"):
            deviations = rules.deviations if len(lists) > 1 else 0.0  # a single leg has no other to leave influence to
            scaled = scale_similarities(
                lists["vector"], self.background, penalty=rules.chunk_penalty, deviations=deviations
            )
            lists = {**lists, "vector": scaled.candidates}
            max_scores["vector"] = scaled.one
            if rules.score_union:
                min_scores = {"vector": scaled.zero, **min_scores}
        scale = FusionScale(self._leg_weights(), min_scores, max_scores)
        settings = {name: getattr(rules, name) for name in FusionRules.__slots__}
        self.trace.fusion = settings | {"weights": scale.weights, "min_scores": min_scores}
        if rules.method == "convex":
            self.trace.fusion["max_scores"] = max_scores
        return FUSION_METHODS[rules.method](lists, rules, scale)

    def apply(self, stage: str, candidates: list[Candidate], result: StageResult) -> list[Candidate]:
        """Return the candidates as a stage leaves them, and remember the changes."""
        ranked = []
        for candidate, changes in apply_result(stage, candidates, result):
            if changes:
                self._changes.setdefault(candidate.id, []).extend(changes)
            ranked.append(candidate)
        return ranked

    def steps(self, candidate: Candidate) -> tuple[Step, ...]:
        """Return the record of a candidate, with its reasons in words."""
        return tuple(change.step() for change in self._changes.get(candidate.id, ()))

    def score_before_demotion(self, candidate: Candidate) -> float:
        """Return the score of a candidate before the stage ``superseded``."""
        changes = self._changes.get(candidate.id, ())
        scores = (change.score_before for change in changes if change.stage == "superseded")
        return next(scores, candidate.score)
