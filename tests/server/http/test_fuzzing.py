"""Generated requests: the server never fails and responds as OpenAPI describes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi import checks as openapi_checks
from scripts.api_reference import http_schema as reference_schema

import recollect
from recollect.server import KeyRing
from recollect.server.http import Settings
from tests.server.http.conftest import bearer
from tests.server.http.running import Running, running
from tests.server.http.test_operator_routes_reports import page

EXAMPLES = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 15


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, float(text.count("e"))] for text in texts]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, str]]]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    ring = KeyRing(folder / "keys.json")
    _, key = ring.add("fuzzer", None, "admin")
    (folder / "tea.html").write_text(page())
    with recollect.open(folder / "memory.db", embedder=embed) as memory:
        memory.add_many([{"content": f"Tea number {number}.", "id": str(number)} for number in range(5)])
        with running(memory, Settings(require_keys=True, rate=0, reports=folder), ring=ring) as started:
            yield started, bearer(key)


CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.unsupported_method,
    openapi_checks.ignored_auth,
]


PATHS = reference_schema()["paths"]
OPERATIONS = [(path, method) for path, methods in PATHS.items() for method in methods]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_fuzzed_requests(path: str, method: str, mode: GenerationMode, server: tuple[Running, dict[str, str]]) -> None:
    started, headers = server
    operation = schemathesis.openapi.from_url(f"{started.url}/openapi.json")[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        response = case.call_and_validate(headers=headers, checks=CHECKS)
        # In a URL everything is text; only a body has numbers.
        body = case.meta.components.get(ParameterLocation.BODY)
        if body is not None and body.mode is GenerationMode.NEGATIVE:
            assert 400 <= response.status_code < 500

    try:
        send()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # no invalid request is possible
