from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from recollect.bench.engines import catalogue
from recollect.bench.engines.catalogue import Entry
from recollect.bench.results import Results
from recollect.cli.bench import _show, parsed_sizes
from tests.bench.figures import CHROMA
from tests.cli.conftest import Run, error_of

QUICK = ("--sizes", "200", "--queries", "4", "--seconds", "0.02", "--engine", "bm25s-numpy")


def test_tables_plots_and_json(run: Run) -> None:
    result = run("bench", *QUICK, "--engine", "recollect", "--json", "bench.json", "--out", "out")
    assert result.exit_code == 0, result.output
    assert "### 200 notes (generated, seed 0, vectors of 384 numbers)" in result.stdout
    assert "| bm25s + numpy, by hand |" in result.stdout
    assert Path("out/bench.md").read_text(encoding="utf-8") == result.stdout
    assert {path.name for path in Path("out").glob("*.svg")} == {
        "bench-hybrid.svg",
        "bench-words.svg",
        "bench-vectors.svg",
    }
    told = json.loads(Path("bench.json").read_text(encoding="utf-8"))
    assert {each["engine"] for each in told["figures"]} == {"bm25s-numpy", "recollect"}


def test_what_is_in_the_file_is_not_measured_again(run: Run) -> None:
    run("bench", *QUICK, "--json", "bench.json", "--scratch", "scratch")
    before = Path("bench.json").read_text(encoding="utf-8")
    assert Path("scratch/generated-200-0-4/corpus.json").exists()
    run("bench", *QUICK, "--json", "bench.json", "--scratch", "scratch")
    assert Path("bench.json").read_text(encoding="utf-8") == before
    run("bench", *QUICK, "--json", "bench.json", "--scratch", "scratch", "--again", "-q")
    assert Path("bench.json").read_text(encoding="utf-8") != before


def test_nothing_is_drawn_that_was_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    _show(Results({"cpu": "Z80", "cores": 1}, [CHROMA]), None, "out")
    assert [path.name for path in Path("out").glob("*.svg")] == ["bench-vectors.svg"]
    assert "| Chroma |" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_told_of_before_anything_is_measured(run: Run) -> None:
    Path("file").touch()
    told = error_of(run("bench", *QUICK, "--out", "file/out", "--scratch", "scratch"), 2)
    assert "--out: must be a folder that can be made" in told
    assert not Path("scratch").exists()


def test_json_on_standard_output(run: Run) -> None:
    result = run("bench", *QUICK, "--json", "-")
    assert json.loads(result.stdout)["figures"][0]["notes"] == 200


def test_notes_of_a_folder(run: Run) -> None:
    Path("vault").mkdir()
    for place in range(12):
        text = f"The kettle squeaks with sencha{place} and gyokuro{place}, says kenji{place}."
        Path(f"vault/{place}.md").write_text(text, encoding="utf-8")
    result = run("bench", "--notes", "vault", "--embedder", "static", *QUICK[2:], "--out", "out")
    assert result.exit_code == 0, result.output
    assert "### 12 notes (notes of vault, " in result.stdout


def test_engines_that_are_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"bm25s-numpy": catalogue.ENGINES["bm25s-numpy"], "x": Entry("x", "X", {"no_such_module": "xdb"})}
    monkeypatch.setattr(catalogue, "ENGINES", known)
    monkeypatch.setattr("recollect.bench.engines.ENGINES", known)
    result = run("bench", *QUICK[:-2])
    assert result.exit_code == 0
    assert result.stderr == "warning: x is left out: xdb must be installed: pip install 'recollect[bench]'\n"
    problem = error_of(run("bench", "--engine", "x"), 2)
    assert problem.startswith("--engine: x cannot be measured: xdb must be installed: pip install 'recollect[bench]'")


@pytest.mark.parametrize("value", ["tea", "10k,", "k", "99", "-5", "1.5k", "101m"])
def test_sizes_that_are_none(value: str) -> None:
    with pytest.raises(click.BadParameter, match="must be numbers from 100 to 100m, such as 10k,100k,1m, got"):
        parsed_sizes(None, None, value)


def test_sizes_are_for_generated_notes(run: Run) -> None:
    Path("vault").mkdir()
    problem = error_of(run("bench", "--notes", "vault", "--sizes", "10k"), 2)
    assert problem == "--sizes: is for generated notes; leave it out, or --notes"


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0"])
def test_seconds_are_a_number(run: Run, value: str) -> None:
    assert error_of(run("bench", "--seconds", value), 2).startswith("--seconds: must be ")


def test_a_file_must_have_a_folder(run: Run) -> None:
    problem = error_of(run("bench", "--json", "nowhere/bench.json"), 2)
    assert problem.startswith("--json: must be in a folder that is there, got 'nowhere/bench.json'")


def test_sizes_are_taken_once() -> None:
    assert parsed_sizes(None, None, "1k,1000,2K") == (1000, 2000)
