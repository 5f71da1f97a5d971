"""A preset: which legs, which fusion, which stages in which order, with which constants. All of it is data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.retrieval.rules import (
    ContextRules,
    FusionRules,
    GraphRules,
    LadderRules,
    QueryRules,
    RerankRules,
    Section,
    StageRules,
    number_between,
    stages,
)

__all__ = ["Preset", "changed_preset", "preset_from_toml"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One configuration of the pipeline.

    >>> from recollect.retrieval import presets
    >>> presets()["memini"].fusion.k
    5.0
    """

    name: str
    about: str = ""
    """What it is, in one line."""
    query: QueryRules = field(default_factory=QueryRules)
    ladder: LadderRules = field(default_factory=LadderRules)
    fusion: FusionRules = field(default_factory=FusionRules)
    context: ContextRules = field(default_factory=ContextRules)
    graph: GraphRules = field(default_factory=GraphRules)
    stages: tuple[StageRules, ...] = ()
    rerank: RerankRules = field(default_factory=RerankRules)
    candidate_k: int = 60
    """How many notes each leg retrieves before fusion, if a search sets no ``candidate_k``."""
    min_confidence: float = 0.0
    """The least confidence with which a note is shown, from 0 to 1; 0 shows all."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer, from 0 to 1; 0: every hit does."""

    def __post_init__(self) -> None:
        """Check what is not a section; sections check themselves."""
        arguments.name("name", self.name)
        arguments.line("about", self.about)
        object.__setattr__(self, "stages", stages("stages", self.stages))
        object.__setattr__(self, "candidate_k", arguments.at_least_one("candidate_k", self.candidate_k))
        object.__setattr__(self, "min_confidence", number_between(0, 1)("min_confidence", self.min_confidence))
        object.__setattr__(self, "answer_threshold", number_between(0, 1)("answer_threshold", self.answer_threshold))
        for name, kind in _SECTIONS.items():
            if not isinstance(getattr(self, name), kind):
                raise ArgumentTypeError(name, f"must be {kind.__name__}, got {type(getattr(self, name)).__name__}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to other processes as plain data: read-only tables cannot be pickled."""
        return preset_of, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return the preset as plain data, from which TOML or JSON can be written."""
        told: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        told |= {name: getattr(self, name).to_dict() for name in _SECTIONS}
        return told | {"stages": [stage.to_dict() for stage in self.stages]}

    def to_toml(self) -> str:
        """Return the preset as TOML, from which a preset of one's own can begin."""
        import tomli_w  # noqa: PLC0415 (only who writes TOML needs it)

        return tomli_w.dumps(self.to_dict())


_SECTIONS: dict[str, type[Section]] = {
    "query": QueryRules,
    "ladder": LadderRules,
    "fusion": FusionRules,
    "context": ContextRules,
    "graph": GraphRules,
    "rerank": RerankRules,
}
_PLAIN = ("name", "about", "candidate_k", "min_confidence", "answer_threshold")
_KNOWN = [each.name for each in fields(Preset)]


def changed_preset(base: Preset, told: Mapping[str, Any]) -> Preset:
    """Return ``base`` with what a mapping says of it: sections setting by setting, stages as a whole."""
    changes = dict(told)
    for name, value in told.items():
        if name not in _KNOWN:
            raise ArgumentError(name, f"is no part of a preset; there are base, {', '.join(_KNOWN)}")
        if name in _SECTIONS:
            changes[name] = getattr(base, name).changed(value)
    return replace(base, **changes)


def preset_of(told: Mapping[str, Any]) -> Preset:
    """Return the preset that :meth:`Preset.to_dict` told of."""
    return changed_preset(Preset(name=told["name"]), told)


def preset_from_toml(path: Path, known: Mapping[str, Preset]) -> Preset:
    """Return the preset in a TOML file: ``base`` names the one that it changes, by default ``default``."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError("preset", f"{path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError("preset", f"{path} is not TOML: {error}") from None
    base = told.pop("base", "default")
    if not isinstance(base, str) or base not in known:
        raise ArgumentError("preset", f"{path}: base must be one of {', '.join(known)}, got {base!r}")
    try:
        return changed_preset(known[base], {"name": path.stem, "about": "", **told})
    except ArgumentError as error:
        raise ArgumentError("preset", f"{path}: {error}") from None
