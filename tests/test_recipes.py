"""The recipes of CONTRIBUTING.md for a stage and a fusion method, followed from a package outside of Recollect."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from recollect import Retrieval
from recollect.errors import ArgumentError
from recollect.fusion import FUSION_METHODS
from recollect.model import Candidate
from recollect.ranking import STAGES
from recollect.retrieval import preset_from

STAGE = '''
"""Multiply the scores of notes whose title contains a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking import Adjustment, Stage, StageContext, StageResult
from recollect.settings import number, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPenalty(Stage):
    name: ClassVar[str] = "draft_penalty"
    factor: float = setting(0.5, number(0, 1))

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult:
        return StageResult(
            [[Adjustment("is a draft", self.factor)] if "draft" in candidate.title else [] for candidate in candidates]
        )
'''

FUSION_METHOD = '''
"""Score each candidate by the number of lists that contain it."""

from collections.abc import Mapping, Sequence

from recollect.fusion.base import FusionRules, fuse
from recollect.model import Candidate


def fuse_by_votes(
    lists: Mapping[str, Sequence[Candidate]], rules: FusionRules, max_scores: Mapping[str, float]
) -> list[Candidate]:
    points = [[rules.weights.get(leg, 1.0)] * len(candidates) for leg, candidates in lists.items()]
    return fuse(list(lists.values()), points, legs=list(lists), ceiling=3.0, ties=rules.ties, limit=None)
'''


class Index:
    """An index with two notes that both contain every query."""

    model = None

    def search_text(self, *_: object, **__: object) -> list[Candidate]:
        return [
            Candidate("n1", path="a.md", title="draft of the plan", content="tea", score=2.0),
            Candidate("n2", path="b.md", title="the plan", content="tea", score=1.9),
        ]

    def search_vectors(self, *_: object, **__: object) -> list[Candidate]:
        return []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "recipe_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import stage, votes\n", encoding="utf-8")
    (folder / "stage.py").write_text(STAGE, encoding="utf-8")
    (folder / "votes.py").write_text(FUSION_METHOD, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("recipe_package")
    for name in [name for name in sys.modules if name.startswith("recipe_package")]:
        del sys.modules[name]


def preset_file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(f'base = "trovella"\n{text}\n', encoding="utf-8")
    return path


def test_stage_of_another_package(package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = preset_file(tmp_path, '[[stages]]\nstage = "draft_penalty"\nfactor = 0.25')
    with pytest.raises(ArgumentError, match="draft_penalty"):
        preset_from(preset)
    monkeypatch.setitem(STAGES, "draft_penalty", package.stage.DraftPenalty)
    result = Retrieval(Index()).search("tea", preset=preset)
    assert [hit.id for hit in result] == ["n2", "n1"]
    (step,) = [step for step in result[1].candidate.steps if step.stage == "draft_penalty"]
    assert (step.factor, step.reason) == (0.25, "is a draft")


def test_fusion_method_of_another_package(package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUSION_METHODS, "votes", package.votes.fuse_by_votes)
    preset = preset_file(tmp_path, '[fusion]\nmethod = "votes"\nweights = {lexical = 3}')
    result = Retrieval(Index()).search("tea", preset=preset)
    assert [(hit.id, hit.score) for hit in result] == [("n1", 3.0), ("n2", 3.0)]
