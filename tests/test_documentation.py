"""What is public is documented; what the documents point at exists."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.model import Candidate, Step
from recollect.ranking import Loan
from recollect.retrieval import Attempt, FusionRules, StageRun, Trace
from tests.test_public_surface import SURFACE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

PUBLIC = [(module, name) for module, names in SURFACE.items() for name in names.split()]
CALLABLES = [(module, name) for module, name in PUBLIC if callable(getattr(importlib.import_module(module), name))]
WITHOUT_EXAMPLE = {"RecollectError", "ArgumentTypeError", "AnchorExtractor", "Renderer", "Expression"}
WITHOUT_EXAMPLE |= {name for name in SURFACE["recollect"].split() if name.endswith(("Error", "Warning"))}
WITHOUT_EXAMPLE |= {"Embedder", "Library", "Reranker"}  # protocols
WITHOUT_EXAMPLE |= {"Memory", "MemoryStats", "AsyncMemory"}  # shown in the examples of open() and open_async()
WITHOUT_EXAMPLE |= {"Attempt"}  # shown in the example of Trace
WITHOUT_EXAMPLE |= {"Match", "AnyOf", "AllOf", "Except"}  # shown in the example of expression()


@pytest.mark.parametrize(("module", "name"), CALLABLES)
def test_every_public_function_and_class_has_a_docstring_with_an_example(module: str, name: str) -> None:
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
def test_every_public_name_is_in_the_docs(module: str, name: str) -> None:
    if module == "recollect" and (name in SURFACE["recollect"].splitlines()[-2].split() or name == "__version__"):
        return
    texts = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{name} is in no page of docs/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) + re.findall(r'(?:src|href)="([^"#]+)"', text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.name != "README.md":
            assert str(page.relative_to(ROOT)) in readme, f"README.md does not link to {page.name}"


def test_every_script_is_described() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for script in (ROOT / "scripts").iterdir():
        if "." not in script.name:
            assert f"scripts/{script.name}" in contributing


def test_the_figures_of_the_drawn_example_are_those_of_the_code_on_its_page() -> None:
    drawing = (ROOT / "docs/pipeline-example.svg").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", _page("pipeline.md"), flags=re.DOTALL))
    drawn = re.findall(r">([0-9]+\.[0-9]+)<", drawing)
    assert len(drawn) > 40
    assert [number for number in drawn if number not in examples] == []


def test_every_field_of_a_trace_is_described() -> None:
    step = Step("importance", "why", 0.94, 0.0, 0.5, 0.47, 2, 1)
    found = Candidate("n1", evidence=("lexical", 1, 7.0, 0.5), ceiling=1.0, superseded_by=("n2",), rerank_score=1.0)
    told = Trace(
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
        fusion=FusionRules().to_dict(),
        date_hints=("2026/04/04",),
        graph_elapsed=1.0,
        graph_count=1,
        graph_skipped_reason="none",
        loans={"n1": [Loan("n2", "next", 0.1)]},
        stages=[StageRun("importance", 1, 0.1)],
        below_floor=1,
        warnings=["so"],
        results=[replace(found, steps=(step,))],
    ).to_dict()
    page = _page("pipeline.md").partition("## The trace, field by field")[2]
    assert [name for name in _names(told) if f"`{name}`" not in page] == []


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _names(told: Any) -> Iterator[str]:
    """Yield the names in JSON-ready data, and in what it holds."""
    if isinstance(told, dict):
        yield from told
        told = list(told.values())
    for each in told if isinstance(told, list) else ():
        yield from _names(each)
