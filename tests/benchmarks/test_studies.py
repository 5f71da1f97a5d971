"""The studies run end to end on small samples."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy, copytree

import numpy as np
import pytest
from benchmarks.studies import datasets as judged
from benchmarks.studies import exact_terms, parts
from benchmarks.studies.tables import difference_table, difference_text, table

import recollect

SAMPLES = Path(__file__).parents[1] / "evaluation" / "samples"


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    copy(SAMPLES / "talks.json", folder / "locomo.json")
    for name in ("scifact", "musique"):
        copytree(SAMPLES / "kitchen", folder / name)
    return folder


def test_exact_terms_of_all_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    printed = capsys.readouterr().out
    assert "| kitchen | all | 5 |" in printed
    assert "| talks | all | 10 |" in printed  # two conversations
    assert "| haystacks | all | 5 |" in printed  # pooled into one
    assert "| pages | all | 5 | 1.000 | 1.000 |" in printed  # Tea, Sencha, ERR_4021, ERR and 4021
    assert "| own | all | 2 | 1.000 | 1.000 |" in printed
    assert exact_terms.main(["sample", *options, "--first", "1.1"]) == 1


def test_exact_terms_hit_rates() -> None:
    ranks = [1, 1, 2, None]
    results = [exact_terms.TokenRank("tea", "word", "n1", rank) for rank in ranks]
    assert exact_terms.hit_rates(results) == (0.5, 0.75)
    assert exact_terms.hit_rates([]) == (0.0, 0.0)


def test_difference_table() -> None:
    ours, theirs = np.array([1.0] * 40), np.array([0.0, 1.0] * 20)
    assert difference_text(ours, theirs).endswith("**better**")
    assert difference_text(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])).endswith("inconclusive")
    markdown = difference_table("system", {"tea": {"old": theirs, "new": ours}, "jam": {"old": theirs}}, "old")
    assert markdown.splitlines()[2] == "| old | 0.500 | 0.500 |"
    assert markdown.splitlines()[3].endswith("| – |")
    assert table(["a"], [["1"]]) == "| a |\n|---|\n| 1 |"


def test_parts_of_all_collections(
    datasets: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    removed, moved = parts.parts(), parts.constants()
    monkeypatch.setattr(parts, "parts", lambda: [removed[0], removed[-2]])
    monkeypatch.setattr(parts, "constants", lambda: moved[:2])
    monkeypatch.setattr(judged, "OWN_DATASETS", {"temporal": "mrr"})
    parts.main(["--datasets", str(datasets), "--embedder", "static", "--questions", "4"])
    printed = capsys.readouterr().out
    assert "| stage duplicates off |" in printed
    assert "temporal set, mrr (4) |" in printed
    assert re.search(r"The mean gap between tuned and left-out collections is 0\.\d{3}\.", printed)


def test_parts_leave_one_out() -> None:
    columns = {
        "a": {"default": np.array([0.5, 0.5]), "x": np.array([0.9, 0.9])},
        "b": {"default": np.array([0.6, 0.6]), "x": np.array([0.1, 0.1])},
    }
    rows = parts.leave_one_out(columns).splitlines()
    assert rows[2] == "| a | default | 0.500 | 0.500 | x | 0.900 |"
    assert rows[3] == "| b | x | 0.100 | 0.600 | default | 0.600 |"
    assert rows[-1] == "The mean gap between tuned and left-out collections is 0.450."
