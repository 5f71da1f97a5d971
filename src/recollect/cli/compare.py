"""``recollect compare``: the same query, or a dataset, with several presets."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli import memories, options, terminal
from recollect.cli.eval import evaluate_systems, read_dataset, show_outcomes, systems_of

__all__ = ["compare"]

_DATASET_ONLY = {"format", "level", "pool", "split", "limit", "cache", "store", "fresh"}
_WITH_DATASET = {"presets", "dataset", "mode", "namespace", "embedder", "db", "as_json", "quiet"}


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--preset",
    "presets",
    metavar="NAME|FILE",
    multiple=True,
    help="A preset: a name or a TOML file. Repeatable; by default all presets.",
)
@click.option(
    "--dataset",
    type=click.Path(exists=True),
    metavar="PATH",
    default=None,
    help="Compare over all questions of a dataset, as recollect eval does, instead of QUERY.",
)
@options.evaluation
@options.search
@click.pass_context
def compare(
    context: click.Context, /, *, presets: tuple[str, ...], dataset: str | None, as_json: bool, **params: Any
) -> None:
    """Compare presets on one query, or on a dataset.

    Shows the rank of each note with each preset, and how far it moved against the first preset. For a dataset, shows
    the measures of each preset.
    """
    _check_parameters(context, dataset)
    if dataset is not None:
        _compare_on_dataset(dataset, presets, params, as_json=as_json)
        return
    query = " ".join(params["query"])
    with memories.open_for_search(params) as memory:
        results = memory.compare(query, presets or None, **options.search_arguments(params))
    for warning in dict.fromkeys(warning for result in results.values() for warning in result.warnings):
        terminal.warn(warning)
    if as_json:
        terminal.print_json({name: result.to_dict() for name, result in results.items()})
    elif any(results.values()):
        from recollect.cli import tables  # noqa: PLC0415 (imports rich)

        tables.print_comparison(terminal.console(), results, summaries=not terminal.is_quiet())
    else:
        terminal.print_note(f"no note matches {query!r}; try other terms, or fewer filters")
    if not any(results.values()):
        context.exit(1)


def _compare_on_dataset(path: str, presets: tuple[str, ...], params: dict[str, Any], *, as_json: bool) -> None:
    from recollect.retrieval import presets as all_presets  # noqa: PLC0415 (imports numpy)

    dataset = read_dataset(path, params)
    outcomes = evaluate_systems(dataset, systems_of(presets or tuple(all_presets()), [params["mode"]]), params)
    if as_json:
        terminal.print_json([outcome.to_dict() for outcome in outcomes])
    else:
        show_outcomes(dataset, outcomes)


def _check_parameters(context: click.Context, dataset: str | None) -> None:
    """Reject options that would have no effect."""
    if dataset is None and not context.params["query"]:
        raise click.UsageError("there is nothing to compare; pass a QUERY or --dataset", context)
    for name, flag in options.command_line_parameters(context):
        if dataset is None and name in _DATASET_ONLY:
            raise click.UsageError(f"{flag} requires --dataset", context)
        if dataset is not None and name not in _DATASET_ONLY | _WITH_DATASET:
            raise click.UsageError(f"{flag} cannot be used with --dataset", context)
