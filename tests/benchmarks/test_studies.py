"""The study behind the default runs from end to end, on samples of our own; what it finds is for its own run to say."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy, copytree

import numpy as np
import pytest
from benchmarks.studies import exact_terms, parts
from benchmarks.studies.ablation import variants
from benchmarks.studies.dates import dated_questions
from benchmarks.studies.default import filled, main
from benchmarks.studies.exactness import titles_as_questions
from benchmarks.studies.fusing import convex, reciprocal
from benchmarks.studies.importance import arithmetic
from benchmarks.studies.laboratory import Laboratory, Legs
from benchmarks.studies.material import materials
from benchmarks.studies.tables import against, difference_table, share, table

import recollect
from recollect.evaluation import load_dataset
from recollect.fusion import reciprocal_rank_fusion
from recollect.model import Candidate
from recollect.ranking.anchors import RegexAnchorExtractor

SAMPLES = Path(__file__).parents[1] / "evaluation" / "samples"


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    copy(SAMPLES / "talks.json", folder / "locomo.json")
    for name in ("scifact", "musique"):
        copytree(SAMPLES / "kitchen", folder / name)
    return folder


def test_the_whole_study_runs_and_leaves_no_place_empty(datasets: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs"
    given = ["--datasets", str(datasets), "--out", str(out), "--cache", str(tmp_path / "cache")]
    assert main([*given, "--embedder", "static", "--quick"]) == 0
    written = (out / "study.md").read_text(encoding="utf-8")
    measured = [place for place in re.findall(r"\(not measured: ([^)]*)\)", written) if not place.endswith("minilm")]
    assert measured == []
    assert {path.name for path in out.glob("*.svg")} >= {"study-standing-musique.svg", "study-k-scifact.svg"}
    assert all("<svg" in path.read_text(encoding="utf-8") for path in out.glob("*.svg"))


def test_a_chapter_alone_is_printed(datasets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--datasets", str(datasets), "--out", str(tmp_path), "--cache", str(tmp_path), "--embedder", "static"]
    assert main([*given, "--chapter", "arithmetic"]) == 0
    assert "last place that passes the first" in capsys.readouterr().out
    assert not (tmp_path / "study.md").exists()


def test_exact_terms_are_looked_up_in_any_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tea.md").write_text("# Tea\n\nSencha since ERR_4021.\n")
    with recollect.open(tmp_path / "own.db", embedder=None) as memory:
        memory.add("Sencha at 70 degrees.")
    sources = [
        str(SAMPLES / "kitchen"),
        str(SAMPLES / "talks.json"),
        str(SAMPLES / "haystacks.json"),
        str(pages),
        str(tmp_path / "own.db"),
        "sample",
    ]
    options = ["--embedder", "none", "--preset", "trovella", "--mode", "bm25", "--sample", "5", "--level", "turn"]
    assert exact_terms.main([*sources, *options, "--first", "0", "--ten", "0"]) == 0
    shown = capsys.readouterr().out
    assert "| kitchen | all | 5 |" in shown
    assert "| talks | all | 10 |" in shown  # two conversations
    assert "| haystacks | all | 5 |" in shown  # pooled into one
    assert "| pages | all | 5 | 1.000 | 1.000 |" in shown  # Tea, Sencha, ERR_4021, ERR and 4021
    assert "| own | all | 2 | 1.000 | 1.000 |" in shown
    assert exact_terms.main(["sample", *options, "--first", "1.1"]) == 1


def test_shares_of_exact_terms() -> None:
    ranks = [1, 1, 2, None]
    found = [exact_terms.Found("tea", "word", "n1", rank) for rank in ranks]
    assert exact_terms.shares(found) == (0.5, 0.75)
    assert exact_terms.shares([]) == (0.0, 0.0)


def test_a_missing_collection_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--datasets", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert "there is no locomo*.json" in capsys.readouterr().err


def test_the_published_arithmetic_of_the_importance_prior() -> None:
    told = arithmetic(Laboratory({}, ["static"]))["arithmetic"]
    # 0.7/61 lies between 1/88 (rank 28) and 1/87 (rank 27)
    assert "| RRF, k = 60 | × (0.7 + 0.3·importance) | 27 |" in told


def test_fusing_outside_of_the_pipeline_cuts_each_list_first() -> None:
    legs = Legs([Candidate("a", score=1.0), Candidate("b", score=0.5)], [Candidate("c", score=1.0)])
    assert [each.id for each in reciprocal(legs, k=60, depth=1)] == ["a", "c"]
    assert [each.id for each in reciprocal(legs, k=5)] == [
        each.id for each in reciprocal_rank_fusion(legs, k=5, ties="first_seen")
    ]
    assert [(each.id, each.score) for each in convex(legs, vector=0.4, zero=0.0)] == [
        ("a", 0.6),
        ("c", 0.4),
        ("b", 0.3),
    ]


def test_dates_made_by_rule_point_at_the_answer_or_elsewhere() -> None:
    dataset = load_dataset(SAMPLES / "talks.json", level="turn")
    extractor = RegexAnchorExtractor()
    for right in (True, False):
        dated = dated_questions(dataset, right=right)
        assert dated.questions
        assert dated.synthetic
        for question in dated.questions:
            assert question.asked
            assert extractor.anchor(question.text)


def test_titles_become_questions_only_where_one_note_has_them(datasets: Path) -> None:
    material = titles_as_questions(materials(datasets)["MuSiQue"])
    titles = [note.title for each in material.dataset.collections.values() for note in each.notes]
    assert material.dataset.questions
    assert all(titles.count(question.text) == 1 for question in material.dataset.questions)


def test_every_variant_of_the_default_differs_from_it() -> None:
    default, *others = variants()
    assert len({each.digest() for each in others} | {default.digest()}) == len(others) + 1


def test_tables_tell_differences_with_their_verdicts() -> None:
    ours, theirs = np.array([1.0] * 40), np.array([0.0, 1.0] * 20)
    assert against(ours, theirs).endswith("**better**")
    assert against(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])).endswith("inconclusive")
    told = difference_table("system", {"tea": {"old": theirs, "new": ours}, "jam": {"old": theirs}}, "old")
    assert told.splitlines()[2] == "| old | 0.500 | 0.500 |"
    assert told.splitlines()[3].endswith("| – |")
    assert share(0, 0) == "– (of 0)"
    assert table(["a"], [["1"]]) == "| a |\n|---|\n| 1 |"
    assert filled("{{a}} {{b}}", {"a": "1"}) == "1 (not measured: b)"


def test_parts_and_constants_of_the_default_are_measured_on_every_collection(
    datasets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    removed, moved = parts.parts(), parts.constants()
    monkeypatch.setattr(parts, "parts", lambda: [removed[0], removed[-2]])
    monkeypatch.setattr(parts, "constants", lambda: moved[:2])
    monkeypatch.setattr(parts, "OWN", {"temporal": "mrr"})
    parts.main(["--datasets", str(datasets), "--embedder", "static", "--questions", "4"])
    printed = capsys.readouterr().out
    assert "| stage duplicates off |" in printed
    assert "temporal set, mrr (4) |" in printed
    assert re.search(r"The mean gap between tuned and left-out collections is 0\.\d{3}\.", printed)


def test_the_system_that_other_collections_choose() -> None:
    columns = {
        "a": {"default": np.array([0.5, 0.5]), "x": np.array([0.9, 0.9])},
        "b": {"default": np.array([0.6, 0.6]), "x": np.array([0.1, 0.1])},
    }
    rows = parts.leave_one_out(columns).splitlines()
    assert rows[2] == "| a | default | 0.500 | 0.500 | x | 0.900 |"
    assert rows[3] == "| b | x | 0.100 | 0.600 | default | 0.600 |"
    assert rows[-1] == "The mean gap between tuned and left-out collections is 0.450."
