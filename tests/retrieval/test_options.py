"""Search options: one list of parameters, from which every interface takes names, defaults and help texts."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

import recollect
from recollect import ArgumentError, AsyncMemory, Filters, Memory, Retrieval, SearchOptions
from recollect.retrieval.options import MODES, SearchKeywords, search_options
from tests.retrieval.stubs import Index

INDEX: Any = Index(lexical_ids={"tea": ["a", "b", "c"]})
NAMES = [option.name for option in fields(SearchOptions)]


def test_keywords_are_the_fields() -> None:
    assert SearchKeywords.__annotations__.keys() == set(NAMES)
    annotations = {name: value.__forward_arg__ for name, value in SearchKeywords.__annotations__.items()}
    assert annotations == {option.name: option.type for option in fields(SearchOptions)}


@pytest.mark.parametrize(
    "function",
    [
        Memory.search,
        Memory.search_many,
        Memory.compare,
        Retrieval.search,
        AsyncMemory.search,
        AsyncMemory.search_many,
        AsyncMemory.compare,
    ],
)
def test_signature_shows_names_and_defaults(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    defaults = {option.name: option.default for option in fields(SearchOptions)}
    assert {name: parameters[name].default for name in NAMES} == defaults


def test_every_option_has_help_and_scalar_ranges() -> None:
    options = search_options()
    assert list(options) == NAMES
    assert all(option.help.endswith(".") for option in options.values())
    assert options["mode"].choices == MODES == ("auto", "hybrid", "bm25", "semantic")
    assert (options["top_k"].annotation, options["top_k"].default, options["top_k"].at_least) == ("int", 10, 0)
    assert (options["answer_threshold"].at_least, options["answer_threshold"].at_most) == (0, 1)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"top_k": -1}, "top_k: must not be negative, got -1 (int)"),
        ({"candidate_k": 1.5}, "candidate_k: must be a whole number, got 1.5 (float)"),
        ({"rerank": "no"}, "rerank: must be true or false, got 'no' (str)"),
        ({"min_confidence": 1.5}, "min_confidence: must be at most 1, got 1.5"),
        ({"answer_threshold": -0.5}, "answer_threshold: must be at least 0, got -0.5"),
        ({"rerank_budget_ms": -1}, "rerank_budget_ms: must be at least 0, got -1"),
        ({"namespace": ""}, "namespace: must not be empty"),
        ({"filters": {"author": "x"}}, "filters: has no condition 'author'; the conditions are path_prefix, tags, "),
        ({"question_date": "some day"}, "question_date: must be a date such as 2026-04-18, "),
        ({"now": "soon"}, "now: must be an ISO-8601 date or time, got 'soon' (str)"),
    ],
)
def test_wrong_value_raises_an_error_that_names_the_option(keywords: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        SearchOptions(**keywords)
    assert str(caught.value).startswith(message)


def test_values_are_converted() -> None:
    options = SearchOptions(filters={"tags": ["tea"]}, now="2026-04-18", min_confidence=1, question_date=" ")
    assert options.filters == Filters(tags=("tea",))
    assert options.now == datetime(2026, 4, 18, tzinfo=UTC)
    assert isinstance(options.min_confidence, float)
    assert options.question_date is None


def test_unknown_option_raises_an_error_that_lists_the_options() -> None:
    with pytest.raises(TypeError, match=r"^topk: is not a search option; the options are top_k, mode, preset, "):
        Retrieval(INDEX).search("tea", topk=3)  # type: ignore[call-arg]


def test_options_must_be_search_options() -> None:
    with pytest.raises(TypeError, match=r"^options: must be SearchOptions, got dict$"):
        Retrieval(INDEX).search("tea", options={"top_k": 3})  # type: ignore[arg-type]


def test_keywords_change_options() -> None:
    retrieval = Retrieval(INDEX)
    options = SearchOptions(top_k=2, mode="bm25")
    assert len(retrieval.search("tea", options=options)) == 2
    assert len(retrieval.search("tea", options=options, top_k=1)) == 1


def test_listing_options_loads_neither_numpy_nor_the_pipeline() -> None:
    code = (
        "import sys; from recollect.retrieval.options import search_options; search_options(); "
        "print({'numpy', 'recollect.retrieval.pipeline', 'recollect.query'} & set(sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout == "set()\n"


def test_package_names_are_loaded_on_demand() -> None:
    assert recollect.SearchOptions is SearchOptions
    with pytest.raises(AttributeError, match=r"module 'recollect.retrieval' has no attribute 'nothing'"):
        recollect.retrieval.nothing  # noqa: B018 (the access is the test)
