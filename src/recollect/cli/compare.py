"""``recollect compare``: the same query, or a dataset, under several presets."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli import asking, evaluating, options, terminal

__all__ = ["command"]

_OF_A_DATASET = ("format", "level", "pool", "split", "limit", "cache", "store", "fresh")
_OF_BOTH = ("presets", "dataset", "mode", "namespace", "embedder", "db", "as_json", "quiet")


@click.command("compare")
@click.option(
    "--preset",
    "presets",
    metavar="NAME|FILE",
    multiple=True,
    help="A preset to compare, by name or as a TOML file; can be given several times. By default all there are.",
)
@click.option(
    "--dataset",
    type=click.Path(exists=True),
    metavar="PATH",
    default=None,
    help="Compare them over all questions of a dataset, as recollect eval does, instead of QUERY.",
)
@evaluating.dataset_options
@asking.optional_question
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    presets: tuple[str, ...],
    dataset: str | None,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Compare presets: the same query under each, or a whole dataset.

    Shows the place of each note under each preset, and how far it moved against the first; of a dataset, how well each
    preset finds what answers its questions.
    """
    _refuse(context, dataset)
    if dataset is not None:
        _compare_over(dataset, presets, asked, as_json=as_json)
        return
    with asking.open_asked(asked) as memory:
        results = memory.compare(asking.words(asked), presets or None, **asking.search_arguments(asked))
    for warning in dict.fromkeys(warning for result in results.values() for warning in result.warnings):
        terminal.warn(warning)
    found = any(results.values())
    if as_json:
        terminal.print_json({name: result.to_dict() for name, result in results.items()})
    elif found:
        from recollect.cli import comparison  # noqa: PLC0415 (brings rich, which is heavy)

        console = terminal.console()
        comparison.draw_places(console, results)
        if not quiet:
            comparison.draw_summaries(console, results)
    else:
        terminal.say_aside(f"nothing was found for {asking.words(asked)!r}; try other words, or fewer filters")
    if not found:
        context.exit(1)


def _compare_over(path: str, presets: tuple[str, ...], asked: dict[str, Any], *, as_json: bool) -> None:
    from recollect.retrieval import presets as known_presets  # noqa: PLC0415 (brings numpy)

    dataset = evaluating.chosen_dataset(path, asked)
    systems = evaluating.systems_of(presets or tuple(known_presets()), [asked["mode"]])
    outcomes = evaluating.judged(dataset, systems, asked)
    if as_json:
        terminal.print_json([outcome.to_dict() for outcome in outcomes])
    else:
        evaluating.show(dataset, outcomes)


def _refuse(context: click.Context, dataset: str | None) -> None:
    """Refuse what would be left unheard: a query is not asked of a dataset, and a query has no level."""
    if dataset is None and not context.params["query"]:
        raise click.UsageError("what is to be compared? Give a QUERY, or --dataset", context)
    for parameter in options.given(context):
        called = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
        if dataset is None and parameter.name in _OF_A_DATASET:
            raise click.UsageError(f"{called} is for --dataset", context)
        if dataset is not None and parameter.name not in (*_OF_A_DATASET, *_OF_BOTH):
            raise click.UsageError(f"{called} cannot be used with --dataset", context)
