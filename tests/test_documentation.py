"""Public names are documented, and links in the docs have targets."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError
from recollect.model import Candidate, Step
from recollect.query import find_time_expressions
from recollect.ranking import STAGES, Stage
from recollect.retrieval import Attempt, Context, FusionRules, Preset, ScoreTransfer, StageRun, Trace, presets
from recollect.retrieval.confidence import ConfidenceEvidence
from recollect.retrieval.rescoring import StemDiscount
from recollect.settings import Settings
from tests.test_public_surface import SURFACE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

PUBLIC = [(module, name) for module, names in SURFACE.items() for name in names.split()]
CALLABLES = [(module, name) for module, name in PUBLIC if callable(getattr(importlib.import_module(module), name))]
WITHOUT_EXAMPLE = {"RecollectError", "ArgumentTypeError", "AnchorExtractor", "Renderer", "Expression"}
WITHOUT_EXAMPLE |= {name for name in SURFACE["recollect"].split() if name.endswith(("Error", "Warning"))}
WITHOUT_EXAMPLE |= {"Embedder", "Reranker"}  # protocols
WITHOUT_EXAMPLE |= {"Memory", "MemoryStats", "AsyncMemory"}  # shown in the examples of open() and open_async()
WITHOUT_EXAMPLE |= {"Caller", "Key"}  # shown in the example of KeyRing
WITHOUT_EXAMPLE |= {"serve_stdio"}  # runs until it is ended
WITHOUT_EXAMPLE |= {"Extension"}  # shown with create_app
WITHOUT_EXAMPLE |= {"Attempt"}  # shown in the example of Trace
WITHOUT_EXAMPLE |= {"Collection", "Question", "Ranking"}  # shown in the examples of Dataset and Outcome
# Results that are shown where they are returned
WITHOUT_EXAMPLE |= {"Comparison", "ComparisonResult", "Difference", "Interval", "Parameter", "QuestionDifference"}
WITHOUT_EXAMPLE |= {"ReliabilityBin", "Report", "SettingChange", "TrustMetrics", "TuningResult", "WinLoss"}
WITHOUT_EXAMPLE |= {"Match", "AnyOf", "AllOf", "Except"}  # shown in the example of expression()


@pytest.mark.parametrize(("module", "name"), CALLABLES)
def test_public_names_have_docstrings_with_examples(module: str, name: str) -> None:
    public = getattr(importlib.import_module(module), name)
    if name == "Expression":
        return  # a union of the node classes, which have docstrings of their own
    documentation = inspect.getdoc(public)
    assert documentation
    assert name in WITHOUT_EXAMPLE or ">>> " in documentation
    if inspect.isclass(public):
        for attribute, member in vars(public).items():
            if not attribute.startswith("_") and inspect.isfunction(member):
                assert inspect.getdoc(member), f"{name}.{attribute}"


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_public_names_are_in_the_docs(module: str, name: str) -> None:
    if module == "recollect" and (name in SURFACE["recollect"].splitlines()[-2].split() or name == "__version__"):
        return
    texts = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{name} is in no page of docs/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_targets(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text) + re.findall(r'(?:src|href)="([^"#]+)()"', text)
    for target, anchor in links:
        if "://" not in target:
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in _anchors(path), f"{page.name} links to {target}#{anchor}"


def test_index_lists_every_page_once() -> None:
    listed = re.findall(r"^- \[.+?\]\((.+?\.md)\): .+", _page("index.md"), re.MULTILINE)
    assert sorted([*listed, "index.md"]) == [page.name for page in PAGES if page.parent.name == "docs"]


@pytest.mark.parametrize(
    "page", ["index", "memory", "command-line", "mcp", "server", "pipeline", "presets", "evaluation"]
)
def test_readme_links_to_page(page: str) -> None:
    assert f"(docs/{page}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_contributing_describes_every_script() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for script in (ROOT / "scripts").iterdir():
        if "." not in script.name:
            assert f"scripts/{script.name}" in contributing


def test_pipeline_drawing_has_the_numbers_of_the_page() -> None:
    drawing = (ROOT / "docs/pipeline-example.svg").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", _page("pipeline.md"), flags=re.DOTALL))
    drawn = re.findall(r">([0-9]+\.[0-9]+)<", drawing)
    assert len(drawn) > 40
    assert [number for number in drawn if number not in examples] == []


def test_trace_fields_are_documented() -> None:
    step = Step("importance", "why", 0.94, 0.0, 0.5, 0.47, 2, 1)
    candidate = Candidate("n1", evidence=("lexical", 1, 7.0, 0.5), ceiling=1.0, superseded_by=("n2",), rerank_score=1.0)
    data = Trace(
        mode="hybrid",
        original_query="tea",
        attempts=[Attempt("initial", "tea", 1)],
        rerank_skipped_reason="unanimity",
        rerank_provider="turner",
        unanimity=2,
        error_stage="bm25",
        error_detail="gone",
        preset="default",
        embedder="topics",
        embedded_query="tea",
        context_elapsed=1.0,
        contexts={"n1": Context(3.5, ("n2",))},
        evidence={"n1": ConfidenceEvidence(0.6, 0.5, 0.1, 1.0)},
        stem_only={"n1": StemDiscount(3.5, ("ines",))},
        excluded=("coffee",),
        fusion=FusionRules().to_dict(),
        date_hints=("2026/04/04",),
        times=find_time_expressions("yesterday", datetime(2026, 4, 5, tzinfo=UTC)),
        time_only=True,
        graph_elapsed=1.0,
        graph_count=1,
        graph_skipped_reason="none",
        transfers={"n1": [ScoreTransfer("n2", "next", 0.1)]},
        stages=[StageRun("importance", 1, 0.1)],
        below_min_confidence=1,
        answer_threshold=0.5,
        warnings=["so"],
        results=[replace(candidate, steps=(step,))],
    ).to_dict()
    page = _page("pipeline.md").partition("## The trace, field by field")[2]
    assert [name for name in _keys(data) if f"`{name}`" not in page] == []


SECTIONS = [field for field in fields(Preset) if isinstance(getattr(Preset(name="plain"), field.name), Settings)]
SETTINGS = [
    (section.name, field.name) for section in SECTIONS for field in fields(getattr(Preset(name="plain"), section.name))
]
CONSTANTS = [(name, setting.name, setting.default) for name, stage in STAGES.items() for setting in fields(stage)]


class TestPresetsPage:
    @pytest.mark.parametrize(("section", "setting"), SETTINGS)
    def test_settings_have_their_default_and_range(self, section: str, setting: str) -> None:
        _, default, values, meaning = _row("presets.md", f"`{section}.{setting}`", columns=4)
        rules = getattr(Preset(name="plain"), section)
        assert default == _format(getattr(rules, setting), empty="empty")
        assert meaning
        if match := re.fullmatch(r"(\d+) to (\d+)(?:; 0 means (\d+))?", values):
            minimum, maximum = int(match[1]), int(match[2])
            for allowed, stored in ((minimum, int(match[3] or minimum)), (maximum, maximum)):
                assert getattr(rules.changed({setting: allowed}), setting) == stored
            for outside in (minimum - 1, maximum + 1):
                with pytest.raises(ArgumentError, match=f"{section}.{setting}"):
                    rules.changed({setting: outside})
        elif values.startswith("a table"):
            assert values.endswith("each 0 to 1000")
        else:
            for choice in values.split(", "):
                value = {"true": True, "false": False}.get(choice, choice)
                assert getattr(rules.changed({setting: value}), setting) == value

    def test_every_setting_is_described(self) -> None:
        for field in fields(Preset):
            assert field in SECTIONS or _row("presets.md", f"`{field.name}`", columns=4)

    @pytest.mark.parametrize(("section", "setting"), SETTINGS)
    def test_settings_of_each_preset(self, section: str, setting: str) -> None:
        values = [_format(getattr(getattr(preset, section), setting)) for preset in presets().values()]
        if len(set(values)) > 1:
            assert _row("presets.md", f"`{section}.{setting}`", columns=6)[1:] == values

    def test_stages_of_each_preset(self) -> None:
        stages = ["; ".join(map(_stage_cell, preset.stages)) or "–" for preset in presets().values()]
        assert _row("presets.md", "`stages`", columns=6)[1:] == stages
        assert _row("presets.md", "", columns=6)[1:] == [f"`{name}`" for name in presets()]
        thresholds = [_format(preset.answer_threshold) for preset in presets().values()]
        assert _row("presets.md", "`answer_threshold`", columns=6)[1:] == thresholds
        assert _row("presets.md", "`candidate_k`", columns=6)[1:] == [
            str(preset.candidate_k) for preset in presets().values()
        ]
        assert {preset.min_confidence for preset in presets().values()} == {0.0}

    def test_every_stage_and_constant_is_described(self) -> None:
        table = _page("presets.md").partition("| stage | constant |")[2]
        described: list[tuple[str, str, str]] = []
        stage = ""
        for line in table.splitlines()[2:]:
            first, constant, default, _ = _cells(line)
            stage = first.strip("`") or stage
            described.append((stage, constant.strip("`"), default))
        with_constants = [(stage, name, _format(default)) for stage, name, default in CONSTANTS]
        assert [row for row in described if row[1]] == with_constants
        assert list(dict.fromkeys(row[0] for row in described)) == list(STAGES)


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as Markdown renderers name them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


def _row(page: str, first_cell: str, *, columns: int) -> list[str]:
    """Return the cells of the only table row with this number of columns and this first cell."""
    rows = [_cells(line) for line in _page(page).splitlines() if line.startswith("|")]
    (only_row,) = [row for row in rows if len(row) == columns and row[0] == first_cell]
    return only_row


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _stage_cell(stage: Stage) -> str:
    constants = ", ".join(f"{name} {_format(getattr(stage, name))}" for name in stage.names())
    return f"{stage.name}: {constants}" if constants else stage.name


def _format(value: Any, *, empty: str = "–") -> str:
    """Return the value of a setting as the page writes it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number:g}" for name, number in value.items()) or empty
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:g}"


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _keys(data: Any) -> Iterator[str]:
    """Yield all keys in JSON data."""
    if isinstance(data, dict):
        yield from data
        data = list(data.values())
    for value in data if isinstance(data, list) else ():
        yield from _keys(value)
