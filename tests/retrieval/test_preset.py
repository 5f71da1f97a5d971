"""Presets are frozen data that check themselves, and can be written and read as TOML."""

from __future__ import annotations

import pickle
import tomllib
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.ranking import Duplicates, ImportancePrior
from recollect.retrieval import FusionRules, GraphRules, Preset, QueryRules, preset_from, presets


def write_preset(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


class TestBuiltInPresets:
    def test_preset_names(self) -> None:
        assert list(presets()) == ["default", "jeffs-brain", "trovella", "memini", "weighted-graph"]
        assert all(name == preset.name for name, preset in presets().items())

    def test_presets_are_frozen(self) -> None:
        preset = presets()["default"]
        with pytest.raises(FrozenInstanceError):
            preset.name = "mine"  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            preset.fusion.k = 1.0  # type: ignore[misc]
        with pytest.raises(TypeError):
            preset.fusion.weights["lexical"] = 2  # type: ignore[index]
        with pytest.raises(TypeError):
            presets()["default"] = preset  # type: ignore[index]

    @pytest.mark.parametrize(
        ("name", "method", "k", "base", "ties"),
        [
            ("jeffs-brain", "rrf", 60, 1, "path"),
            ("trovella", "rrf", 60, 1, "first_seen"),
            ("memini", "rrf", 5, 0, "first_seen"),
            ("weighted-graph", "rrf", 60, 1, "id"),
        ],
    )
    def test_source_presets_have_documented_fusion(
        self, name: str, method: str, k: float, base: int, ties: str
    ) -> None:
        rules = presets()[name].fusion
        assert (rules.method, rules.k, rules.rank_base, rules.ties) == (method, k, base, ties)

    def test_preset_stages_and_weights(self) -> None:
        assert dict(presets()["weighted-graph"].fusion.weights) == {"lexical": 1.0, "vector": 1.0, "graph": 0.35}
        assert [stage.name for stage in presets()["memini"].stages] == ["temporal", "duplicates"]
        assert [stage.name for stage in presets()["jeffs-brain"].stages] == ["intent"]
        assert presets()["trovella"].stages == ()
        literal = [preset.name for preset in presets().values() if preset.query.semantics == "literal"]
        assert literal == ["jeffs-brain", "trovella", "memini", "weighted-graph"]

    @pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
    def test_toml_and_pickle_round_trip(self, preset: Preset, tmp_path: Path) -> None:
        assert preset_from(write_preset(tmp_path, preset.to_toml())) == preset
        assert tomllib.loads(preset.to_toml()) == preset.to_dict()
        assert pickle.loads(pickle.dumps(preset)) == preset  # noqa: S301 (trusted data)


class TestCustomPresets:
    def test_file_changes_its_base(self, tmp_path: Path) -> None:
        path = write_preset(
            tmp_path,
            """
            base = "memini"
            about = "memini by scores"
            [fusion]
            method = "convex"
            weights = { vector = 0.5, lexical = 0.5 }
            """,
        )
        preset = preset_from(path)
        assert (preset.name, preset.about, preset.fusion.method, preset.fusion.k) == (
            "mine",
            "memini by scores",
            "convex",
            5,
        )
        assert preset.stages == presets()["memini"].stages
        assert preset_from(str(path)) == preset

    def test_file_replaces_all_stages(self, tmp_path: Path) -> None:
        preset = preset_from(write_preset(tmp_path, '[[stages]]\nstage = "importance"\nbase = 0.9\n'))
        assert preset.stages == (ImportancePrior(base=0.9),)
        assert preset.graph == presets()["default"].graph

    def test_preset_from_code(self) -> None:
        preset = replace(presets()["default"], name="mine", fusion=FusionRules(k=10), stages=[{"stage": "duplicates"}])  # type: ignore[arg-type]
        assert preset_from(preset) is preset
        assert preset.stages == (Duplicates(),)

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[fusion", "is not TOML"),
            ('base = "nobody"', "base must be one of default, jeffs-brain, trovella, memini, weighted-graph, got"),
            ('base = ["default"]', "base must be one of default, jeffs-brain"),
            (
                '[[stages]]\nstage = "importance"\nslope = 1e308',
                "stages.0..slope: must be at most 1e",
            ),
            ("colour = 1", "colour: is no part of a preset; the parts are base, name, about, query"),
            ("fusion = 3", "fusion: must be a table of settings, got int"),
            ("[fusion]\nkk = 3", "fusion: has no setting 'kk'; there are method, k, rank_base"),
            ("[fusion]\nk = -3", r"fusion.k: must be at least 0, got -3"),
            ("[fusion]\nk = 3e9", r"fusion.k: must be at most 1e\+06, got 3e\+09"),
            ("[fusion]\nrank_base = 2", "fusion.rank_base: must lie between 0 and 1, got 2"),
            ('[fusion]\nmethod = "magic"', "fusion.method: must be one of rrf, convex, got 'magic'"),
            ("[fusion]\nweights = 3", "fusion.weights: must be a table of weights, got int"),
            ("[fusion.weights]\ncolour = 1", "fusion.weights: has no 'colour'; there are lexical, vector, graph"),
            ('[fusion.weights]\nvector = "much"', "fusion.weights.vector: must be a number"),
            ('[graph.edges]\n"" = 1', "a name in graph.edges: must not be empty"),
            ("[ladder]\non = 1", "ladder.on: must be true or false, got 1"),
            ("[context]\non = 1", "context.on: must be true or false, got 1"),
            ("[context]\nprevious = 1.5", "context.previous: must be at most 1, got 1.5"),
            ("[context]\nreach = 0", "context.reach: must lie between 1 and 10, got 0"),
            ("[context]\nbeside = 1", "context: has no setting 'beside'; there are on, seeds, reach, previous, next"),
            ("[query]\nmax_document_frequency = 2", "query.max_document_frequency: must be at most 1, got 2"),
            ("[graph]\nmax_lift = -1", "graph.max_lift: must be at least 0, got -1"),
            (
                '[fusion]\nweight_by_model_quality = "yes"',
                "fusion.weight_by_model_quality: must be true or false, got 'yes'",
            ),
            ('[[stages]]\nstage = "speaker_turns"\nx = 1', "has no setting 'x'; there are speaker, asks, length"),
            ('[[stages]]\nstage = "session"\nweight = -1', "stages.0..weight: must be at least 0, got -1"),
            ("candidate_k = 0", "candidate_k: must be at least 1, got 0"),
            ("answer_threshold = 2", "answer_threshold: must be at most 1, got 2"),
            ("min_confidence = 2", "min_confidence: must be at most 1, got 2"),
            ("stages = [3]", "stages.0.: must be a table that names a stage"),
            ('[[stages]]\nname = "importance"', "stages.0.: must be a table that names a stage"),
            ('[[stages]]\nstage = "magic"', "stages.0..stage: must be one of intent, composite"),
            ('[[stages]]\nstage = "duplicates"\nx = 1', "the stage duplicates has no setting 'x'; it has none"),
            ('[[stages]]\nstage = "importance"\nx = 1', "has no setting 'x'; there are base, slope"),
            ('[[stages]]\nstage = "importance"\nbase = "big"', "stages.0..base: must be a number"),
            ('[[stages]]\nstage = "temporal"\ncombine = "mix"', "stages.0..combine: must be one of add, multiply"),
            ('name = ""', "name: must not be empty"),
        ],
    )
    def test_wrong_file_raises(self, text: str, problem: str, tmp_path: Path) -> None:
        with pytest.raises(ArgumentError, match=f"^preset: .*mine.toml:? .*{problem}") as caught:
            preset_from(write_preset(tmp_path, text))
        assert "\n" not in str(caught.value)

    def test_unreadable_file_raises(self, tmp_path: Path) -> None:
        with pytest.raises(ArgumentError, match=r"preset: .*none\.toml cannot be read: No such file"):
            preset_from(tmp_path / "none.toml")
        (tmp_path / "noise.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(ArgumentError, match="is not TOML"):
            preset_from(tmp_path / "noise.toml")

    @pytest.mark.parametrize(("spec", "problem"), [("magic", "must be one of default, jeffs-brain"), (3, "got int")])
    def test_unknown_preset_raises(self, spec: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            preset_from(spec)

    def test_wrong_section_type_raises(self) -> None:
        with pytest.raises(ArgumentTypeError, match="fusion: must be FusionRules, got GraphRules"):
            Preset(name="mine", fusion=GraphRules())  # type: ignore[arg-type]
        assert QueryRules().changed(QueryRules(semantics="literal")).semantics == "literal"
