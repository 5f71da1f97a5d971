"""``recollect models``: list, download, verify, remove and measure the models of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import downloads, memories, options, terminal
from recollect.errors import ModelError
from recollect.inference.catalogue import CatalogueEntry, catalogue, catalogue_entry

if TYPE_CHECKING:
    from recollect.inference.weights import Weights

_MEASUREMENTS = {
    "load ms": ("load_ms", ",.0f"),
    "query ms, median": ("query_ms_p50", ".1f"),
    "95th percentile": ("query_ms_p95", ".1f"),
    "documents/s": ("documents_per_second", ",.0f"),
    "memory MB": ("memory_mb", "d"),
}
"""The columns of bench, each with the name of the measurement and its format."""
_names = click.argument("names", metavar="[NAME]...", nargs=-1)
_required_names = click.argument("names", metavar="NAME...", nargs=-1, required=True)


@click.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List, download, verify and remove models.

    The models are embedders and rerankers. Without a subcommand they are listed. Select an installed model by its name
    with --embedder or --reranker.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_models)


@models.command("list")
@click.option("--kind", type=click.Choice(["embedder", "reranker"]), help="Only models of this kind.")
@click.option("--installed", is_flag=True, help="Only models that are installed.")
@options.as_json
def list_models(*, kind: str | None = None, installed: bool = False, as_json: bool = False) -> None:
    """List the models of the catalogue in the order in which auto tries them, and where each is installed.

    The column "installed" has "cache" for a downloaded model, or the name and version of a package.
    """
    from recollect.inference.weights import find_weights  # noqa: PLC0415 (help does not need it)

    rows = [(entry, find_weights(entry)) for entry in catalogue().values() if kind in (None, entry.kind)]
    rows = [(entry, weights) for entry, weights in rows if weights or not installed]
    if as_json:
        terminal.print_json([_entry_data(entry, weights) for entry, weights in rows])
        return
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    table = tables.new_table("name", "kind", "size", "dimension", "languages", "licence", "installed")
    for column in (table.columns[2], table.columns[3]):
        column.justify = "right"
    for entry, weights in rows:
        size, dimension = f"{entry.megabytes} MB", str(entry.dimension or "–")
        where = weights.source if weights else "–"
        table.add_row(entry.name, entry.kind, size, dimension, _languages(entry), entry.licence, where)
    console = terminal.console()
    console.width = terminal.PIPE_WIDTH  # a narrow terminal wraps lines, but no name is split within a column
    tables.print_table(console, table)


def _languages(entry: CatalogueEntry) -> str:
    """Return the languages, or how many there are if they are more than two."""
    codes = entry.languages.split(",")
    return entry.languages if len(codes) <= 2 else str(len(codes))


@models.command("show")
@click.argument("name")
@options.as_json
def show_model(*, name: str, as_json: bool) -> None:
    """Show everything that the catalogue knows about a model, and where its files are."""
    from recollect.inference.weights import find_weights  # noqa: PLC0415 (help does not need it)

    entry = catalogue_entry(name)
    weights = find_weights(entry)
    if as_json:
        terminal.print_json(_entry_data(entry, weights))
        return
    fields = {
        "name": entry.name,
        "kind": entry.kind,
        "about": entry.about,
        "size": f"{entry.megabytes} MB, {entry.parameters} million parameters, {entry.precision}",
        "dimension": entry.dimension or "",
        "pooling": entry.pooling,
        "query prefix": repr(entry.query_prefix) if entry.query_prefix else "",
        "document prefix": repr(entry.document_prefix) if entry.document_prefix else "",
        "languages": entry.languages,
        "max tokens": entry.max_tokens,
        "licence": entry.licence,
        "repository": entry.repository,
        "revision": entry.revision or "not known before the first download",
        "pinned": "yes" if entry.is_pinned else "no: its hashes are recorded at the first download",
        "package": entry.package and f"{entry.package.install_command}, a third-party copy",
        "installed": f"{weights.folder} ({weights.source})" if weights else f"no: recollect models download {name}",
        "measured": ", ".join(f"{key} {value}" for key, value in entry.measured.items()) or "not measured",
    }
    for label, value in fields.items():
        terminal.print_field(label, value)
    for file, sha256 in entry.files.items():
        terminal.print_field("file", f"{file} sha256:{sha256 or '–'}")


@models.command("download")
@_names
@options.as_json
@options.quiet
def download_models(*, names: tuple[str, ...], as_json: bool) -> None:
    """Download models from the Hugging Face hub into the cache, and verify them.

    Without NAME it downloads the first embedder of the list. An interrupted download continues where it ended. A file
    whose SHA-256 differs from the catalogue is not installed. HF_ENDPOINT, HF_HUB_OFFLINE, HF_TOKEN and the proxy
    variables have their usual effect.
    """
    entries = [catalogue_entry(name) for name in names] or [next(iter(catalogue().values()))]
    results = []
    for entry in entries:
        weights = downloads.download_with_progress(entry, memories.progress_bar(f"{entry.name}, MB"))
        results.append({"name": entry.name, "folder": str(weights.folder), "pinned": entry.is_pinned})
        if as_json:
            continue
        terminal.print_message(f"{entry.name} is installed in {weights.folder}")
        if not entry.is_pinned:
            terminal.print_info(f"the catalogue has no hashes for {entry.name}; those of this download were recorded")
    downloads.forget_refusal()
    if as_json:
        terminal.print_json(results)


@models.command("verify")
@_names
@options.as_json
@options.quiet
def verify_models(*, names: tuple[str, ...], as_json: bool) -> None:
    """Compare the hashes of installed models with the catalogue, or else with the hashes of the first download.

    Without NAME all installed models are verified. The exit code is 1 if a file differs.
    """
    from recollect.inference.weights import verify  # noqa: PLC0415 (help does not need it)

    problems = {entry.name: verify(entry) for entry in _selected(names)}
    if as_json:
        terminal.print_json(problems)
    else:
        for name, by_file in problems.items():
            for file, problem in by_file.items():
                terminal.print_error(f"{name}: {file}: {problem}; recollect models download {name} repairs it")
            if not by_file:
                terminal.print_message(f"{name}: all hashes are right")
    if any(problems.values()):
        raise click.exceptions.Exit(1)


@models.command("remove")
@_required_names
@options.quiet
def remove_models(*, names: tuple[str, ...]) -> None:
    """Delete downloaded models from the cache, including unfinished downloads.

    A model that is part of a package is not deleted: the message names the command that uninstalls the package.
    """
    from recollect.inference.weights import find_weights, models_folder, remove  # noqa: PLC0415 (help does not need it)

    for entry in [catalogue_entry(name) for name in names]:
        is_link = (models_folder() / entry.name).is_symlink()
        freed = remove(entry)
        weights = find_weights(entry)  # in a package
        uninstall = f"pip uninstall {entry.package.distribution}" if entry.package else ""
        if is_link:
            terminal.print_message(
                f"removed the symbolic link of {entry.name}; the files to which it led are unchanged"
            )
        elif freed:
            still = f"; it is still in the package {weights.source}: {uninstall}" if weights else ""
            terminal.print_message(f"removed {entry.name}, {freed / downloads.MEGABYTE:.1f} MB freed{still}")
        elif weights:
            raise ModelError(f"{entry.name} is part of the package {weights.source}: {uninstall}")
        else:
            raise ModelError(f"{entry.name} is not downloaded; recollect models list --installed shows what is")


@models.command("bench")
@_names
@options.as_json
@options.quiet
def bench_models(*, names: tuple[str, ...], as_json: bool) -> None:
    """Measure load time, latency, throughput and memory of installed models, each in a process of its own.

    Without NAME all installed models are measured. The texts come from the sample notes: 50 short queries and 50
    documents of 200 characters for an embedder, 10 queries with 20 documents each for a reranker.
    """
    from recollect.cli.model_speed import measure_in_subprocess  # noqa: PLC0415 (help does not need it)

    entries = _selected(names)
    results = []
    with memories.progress_bar("measuring") as bar:
        for index, entry in enumerate(entries):
            bar(index, len(entries), entry.name)
            results.append(measure_in_subprocess(entry.name))
    if as_json:
        terminal.print_json(results)
        return
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    table = tables.new_table("name", *_MEASUREMENTS)
    for column in table.columns[1:]:
        column.justify = "right"
    for result in results:
        cells = ("–" if result.get(key) is None else f"{result[key]:{form}}" for key, form in _MEASUREMENTS.values())
        table.add_row(result["name"], *cells)
    tables.print_table(terminal.console(), table)


def _selected(names: Sequence[str]) -> list[CatalogueEntry]:
    """Return the entries with these names, or all installed models; raise ``ModelError`` if there is none."""
    from recollect.inference.weights import find_weights  # noqa: PLC0415 (help does not need it)

    if names:
        return [catalogue_entry(name) for name in names]
    installed = [entry for entry in catalogue().values() if find_weights(entry)]
    if not installed:
        raise ModelError("no model is installed: recollect models download")
    return installed


def _entry_data(entry: CatalogueEntry, weights: Weights | None) -> dict[str, Any]:
    """Return the entry as JSON-ready data, with where it is installed."""
    installed = weights and {"source": weights.source, "folder": str(weights.folder), "file": weights.file}
    return {**entry.to_dict(), "installed": installed}
