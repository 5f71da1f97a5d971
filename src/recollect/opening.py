"""Open a memory, and copy a memory to another store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from recollect import arguments
from recollect.embedders import EMBEDDERS, EmbedderChoice, EmbedderSpec, choose_embedder
from recollect.errors import ArgumentError, EmbedderError
from recollect.memory import Memory
from recollect.progress import Progress, shown_progress
from recollect.query import AliasTable
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval import PresetSpec, preset_from
from recollect.retrieval.pipeline import EMBEDDER_SECONDS, RERANKER_SECONDS
from recollect.secrets import MODES, SecretsMode
from recollect.stores import open_store
from recollect.stores.base import Model
from recollect.stores.comparison import StoreComparison, compare_stores
from recollect.stores.copying import CopyCounts, copy_store


def open(  # noqa: A001 (recollect.open is the name that users know)
    target: str | PathLike[str] = "recollect.db",
    *,
    embedder: EmbedderSpec = "auto",
    reranker: RerankerSpec = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    preset: PresetSpec = "default",
    read_only: bool = False,
    record_access: bool = True,
    secrets: SecretsMode | None = None,
    embedder_timeout: float = EMBEDDER_SECONDS,
    reranker_timeout: float = RERANKER_SECONDS,
) -> Memory:
    """Open the memory at ``target``, a file or the URL of a database; a missing file is created.

    ``embedder`` is a value that :func:`recollect.embedders.embedder_from` accepts. ``"auto"`` is the model of the
    stored vectors if it is installed, else the best installed model; ``None`` turns vector search off. ``reranker`` is
    a value that :func:`recollect.rerankers.reranker_from` accepts. Models are loaded on first use. ``aliases`` maps a
    term to the alternatives that are searched in its place. ``preset`` is the name of a preset, the path of a TOML
    file, or a :class:`~recollect.Preset`. ``record_access`` stores when notes were last returned.
    ``secrets="refuse"`` raises :class:`~recollect.SecretFoundError` for a text with a password, key or card number;
    ``"redact"`` stores the text without the secret. A search skips an embedder or reranker that does not respond
    within ``embedder_timeout`` or ``reranker_timeout`` seconds.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, open(f"{folder}/memory.db", embedder=None) as memory:
    ...     _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     [hit.path for hit in memory.search("which tea?")]
    ['memory/tea.md']
    """
    # All arguments are checked before open_store may create a file.
    choice = choose_embedder(embedder)
    options: dict[str, Any] = {
        "reranker": reranker_from(reranker),
        "preset": preset_from(preset),
        "aliases": AliasTable(aliases) if aliases else None,
        "secrets": None if secrets is None else arguments.choice("secrets", secrets, MODES),
        "embedder_timeout": arguments.number("embedder_timeout", embedder_timeout, at_least=0),
        "reranker_timeout": arguments.number("reranker_timeout", reranker_timeout, at_least=0),
    }
    store = open_store(target, read_only=read_only)
    if embedder == "auto":
        choice = _embedder_of_vectors(choice, store.model)
    return Memory(store, choice, record_access=record_access, **options)


def _embedder_of_vectors(choice: EmbedderChoice, model: Model | None) -> EmbedderChoice:
    """Return an embedder of ``model``, the model of the stored vectors; ``choice`` if no such model is installed."""
    if model is None or choice.embedder is None or choice.embedder.name == model.name:
        return choice
    installable = [name for name, entry in EMBEDDERS.items() if entry.unavailable_reason is not None]
    for name in installable:  # only these have the function unavailable_reason; other entries need a server
        try:
            embedder = choose_embedder(name).embedder
        except EmbedderError:
            continue
        if embedder and embedder.name == model.name:
            return EmbedderChoice(embedder, "the model of the stored vectors")
    return choice


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What :func:`copy` copied, and the comparison of the copy with the source."""

    copied: CopyCounts
    verified: StoreComparison | None
    """The comparison; ``None`` if ``verify`` was false."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {"copied": asdict(self.copied), "verified": self.verified and self.verified.to_dict()}


def copy(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    namespaces: Sequence[str] | None = None,
    merge: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> CopyReport:
    """Copy the memory at ``source`` to ``target``, which is created if it is missing, and compare the two.

    The copy has the same notes in the same order, with all fields, links, vectors and documents; nothing is embedded
    and ``source`` does not change. Notes that are the same in ``target`` are skipped: after an interruption the same
    call continues, and a later call copies only what changed. It is an error if ``target`` has notes that ``source``
    lacks, unless ``merge`` is true. ``namespaces`` are the namespaces to copy, by default all. ``verify`` compares all
    notes at the end and searches both memories for some notes; ``verified.same`` of the report says whether notes and
    results agree. Without ``progress``, a bar is drawn if standard error is a terminal.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder:
    ...     with recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...         _ = memory.add("Prefers green tea.", path="memory/tea.md")
    ...     report = copy(f"{folder}/memory.db", f"{folder}/other.db")
    >>> report.copied.added, report.verified.same
    (1, True)
    """
    names = None if namespaces is None else arguments.names("namespaces", namespaces)
    progress_context = shown_progress("Copying") if progress is None else nullcontext(progress)
    try:
        source_store = open_store(source, read_only=True)
    except ArgumentError as error:
        raise type(error)("source", error.problem) from None
    with closing(source_store), closing(open_store(target)) as target_store, progress_context as report_progress:
        stores = source_store, target_store
        copied = copy_store(*stores, namespaces=names, merge=merge, report=report_progress)
        verified = compare_stores(*stores, namespaces=names, merged=merge, report=report_progress) if verify else None
    return CopyReport(copied, verified)
