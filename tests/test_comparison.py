"""docs/comparison.md describes Recollect correctly, and has sources for what it says about other products."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest

import recollect
from recollect.retrieval import presets

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "comparison.md").read_text(encoding="utf-8")
TEXT, _, SOURCES = PAGE.partition("\n## Sources\n")
CODE = r"[A-Z]\d+"
PRODUCTS = ("Recollect", "LanceDB", "Qdrant", "Weaviate", "mem0")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _table(page: str, header: str) -> dict[str, list[str]]:
    """Return the rows of the table with this header, by their first cells."""
    assert page.count(header) == 1
    lines = page.partition(header)[2].splitlines()[2:]
    rows = map(_cells, takewhile(lambda line: line.startswith("|"), lines))
    return {row[0].strip("`"): row[1:] for row in rows}


class TestSources:
    def test_source_codes_have_links(self) -> None:
        used = set(re.findall(rf"\[({CODE})\]", TEXT))
        listed = re.findall(rf"^\| \[({CODE})\] \| \S", SOURCES, flags=re.MULTILINE)
        addresses = dict(re.findall(rf"^\[({CODE})\]: (\S+)$", SOURCES, flags=re.MULTILINE))
        assert len(used) > 50
        assert sorted(listed) == sorted(used)
        assert list(addresses) == listed
        assert all(address.startswith("https://") for address in addresses.values())

    @pytest.mark.parametrize("product", PRODUCTS[1:])
    def test_rows_of_products_have_sources(self, product: str) -> None:
        rows = [line for line in TEXT.splitlines() if line.startswith(f"| **{product}**")]
        assert len(rows) == 9
        source = rf"\[{product[0].upper()}\d+\]"
        assert [row for row in rows if not re.search(source, row) and "none found" not in row] == []

    def test_tables_have_all_products(self) -> None:
        names = re.findall(r"^\| \*\*(\w+)\*\* \|", TEXT, flags=re.MULTILINE)
        assert names == list(PRODUCTS) * 9

    def test_page_has_date_and_versions(self) -> None:
        assert re.search(r"As of \*\*\d{4}-\d\d-\d\d\*\*", TEXT)
        versions = _table(TEXT, "| product | version |")
        assert tuple(versions) == PRODUCTS
        assert versions["Recollect"][0] == recollect.__version__


class TestPresets:
    ROWS = _table(TEXT, "| | fusion | score of a rank |")

    def test_table_has_all_presets(self) -> None:
        assert {name.removesuffix("`, ours") for name in self.ROWS} == set(presets())

    @pytest.mark.parametrize("name", [name for name in presets() if name != "default"])
    def test_rank_differences_of_presets(self, name: str) -> None:
        fusion = presets()[name].fusion
        weights = ", ".join(f"{weight:g}" for weight in fusion.weights.values())
        method, score = self.ROWS[name][:2]
        assert fusion.method == "rrf"
        assert score == f"{'w' if weights else 1} / ({fusion.k:g} + rank), ranks from {fusion.rank_base}"
        assert method.partition(" with weights ")[2] == weights

    def test_stages_of_presets(self) -> None:
        (temporal, duplicates) = presets()["memini"].stages
        (importance,) = presets()["weighted-graph"].stages
        settings = temporal.to_dict()
        assert (temporal.name, duplicates.name) == ("temporal", "duplicates")
        assert self.ROWS["memini"][2] == (
            f"{settings['relevance']:.2f} relevance + {settings['recency']:.2f} recency + "
            f"{settings['importance']:.2f} importance, "
            f"+ {settings['boost']:.2f} for a time; duplicates"
        )
        assert self.ROWS["weighted-graph"][2] == (
            f"× ({importance.to_dict()['base']:g} + {importance.to_dict()['slope']:g} · importance)"
        )
        assert presets()["trovella"].stages == ()
        assert [stage.name for stage in presets()["jeffs-brain"].stages] == ["intent"]

    def test_fusion_of_the_default(self) -> None:
        fusion = presets()["default"].fusion
        lexical, vector = fusion.weights["lexical"], fusion.weights["vector"]
        assert fusion.method == "convex"
        assert self.ROWS["default`, ours"][0] == f"convex, {lexical:g} and {vector:g}"
        assert f"convex, lexical {lexical:g} and vector {vector:g}; BM25 is scaled from 0" in TEXT
        assert (dict(fusion.min_scores), fusion.score_union) == ({"lexical": 0}, True)


def test_numbers_are_those_of_the_study() -> None:
    header = "| | LoCoMo turns, any@5 |"
    (titles,) = [_cells(line)[1:] for line in TEXT.splitlines() if line.startswith(header)]
    study = (DOCS / "study.md").read_text(encoding="utf-8").partition("### Against the published systems")[2]
    minilm_table = study.partition("With MiniLM:")[2].partition("With the static embedder:")[0]
    rows = [_cells(line) for line in minilm_table.splitlines()]
    columns = next(cells[1:] for cells in rows if cells[0] == "system")
    measured = {cells[0].strip("`"): dict(zip(columns, cells[1:], strict=True)) for cells in rows if len(cells) > 2}
    for name, values in _table(TEXT, header).items():
        for title, value in zip(titles, values, strict=True):
            assert value == measured[name][title], (name, title)
