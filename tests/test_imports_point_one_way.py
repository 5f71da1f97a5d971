"""Imports point from the interfaces down to the data model, without cycles, and never into an engine's internals."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import recollect

ROOT = Path(recollect.__file__).parent

LAYERS = [
    {"__main__"},
    {"cli"},
    {"server"},
    {"integrations"},
    {"client"},
    {"evaluation"},
    {"asynchronous"},
    {"opening"},
    {"memory"},
    {"health"},
    {"writer", "access"},
    {"retrieval"},
    {"ingest", "stores", "embedders", "rerankers"},
    {"jsonl", "inference", "secrets"},
    {"fusion"},
    {"ranking"},
    {"query"},
    {"model", "settings"},
    {"arguments"},
    {"text", "progress", "sample"},
    {"errors", "__version__"},
]
"""Top-level packages and modules by layer; they may import lower layers only."""

DEPTH = {name: depth for depth, layer in enumerate(LAYERS) for name in layer}

ENTRIES = {
    # PostgreSQL's backups are SQLite files.
    "recollect.stores.sqlite": {"recollect.stores", "recollect.stores.postgres.store"},
    "recollect.stores.postgres": {"recollect.stores"},
}
"""Engines, and the modules that may import their ``store``; nothing else of an engine is imported from outside."""


def _module_name(path: Path) -> str:
    return ".".join(("recollect", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {_module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def _statements(nodes: list[ast.stmt], *, at_import: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield import statements; with ``at_import`` only those that run when the module is imported."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body: list[ast.stmt] = getattr(node, "body", [])
        if at_import and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            body = []
        for part in (body, *(getattr(node, name, []) for name in ("orelse", "handlers", "finalbody"))):
            yield from _statements(part, at_import=at_import)


@cache
def imports(module: str, *, at_import: bool = False) -> frozenset[str]:
    """Return the modules of recollect that a module imports."""
    result = set()
    for node in _statements(ast.parse(MODULES[module].read_text(encoding="utf-8")).body, at_import=at_import):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{module}: imports must be absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            result |= {name if name in MODULES else str(node.module) for name in names}
    return frozenset(name for name in result if name in MODULES and name != module)


def test_modules_import_lower_layers_only() -> None:
    errors = []
    for module in MODULES:
        top = module.split(".")[1] if "." in module else ""
        if not top:
            continue  # recollect/__init__.py exports from every layer
        assert top in DEPTH, f"{top} is new: add it to LAYERS"
        for imported in imports(module):
            target = imported.split(".")[1] if "." in imported else "__version__"
            if target != top and DEPTH[target] <= DEPTH[top]:
                errors.append(f"{module} imports {imported}")
    assert errors == []


def test_modules_have_no_import_cycle() -> None:
    graph = {module: imports(module, at_import=True) for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("package", ENTRIES)
def test_only_the_registry_imports_an_engine(package: str) -> None:
    outside = [module for module in MODULES if not f"{module}.".startswith(f"{package}.")]
    errors = [
        f"{module} imports {imported}"
        for module in outside
        for imported in imports(module)
        if f"{imported}.".startswith(f"{package}.")
        and (imported != f"{package}.store" or module not in ENTRIES[package])
    ]
    assert errors == []


def test_only_engines_import_the_shared_sql_code() -> None:
    shared = "recollect.stores.sql."
    users = {module for module in MODULES for imported in imports(module) if imported.startswith(shared)}
    packages = {".".join(module.split(".")[:3]) for module in users}
    assert packages <= {"recollect.stores.sql", "recollect.stores.sqlite", "recollect.stores.postgres"}
