"""``recollect search`` and ``recollect explain``: search a memory, and explain the ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.cli import memories, options, terminal

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.retrieval import SearchResult


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--show-weak",
    is_flag=True,
    help="Also show weak candidates, marked as weak. If there is no answer, all hits are weak; otherwise, a hit is "
    "weak if its confidence is below the answer threshold and below a tenth of the best confidence.",
)
@options.preset
@options.search
@click.pass_context
def search(context: click.Context, /, *, show_weak: bool, as_json: bool, **params: Any) -> None:
    """Search for notes.

    The words of QUERY are one query, which may contain "a phrase", AND, OR, NOT, and tea* for a prefix. Write -- before
    a query that starts with a dash. The exit code is 1 if there is no answer. Weak candidates are shown only with
    --show-weak; --json always contains them.
    """
    result = _search(params, as_json=as_json, warn=True)
    if not as_json:
        print_result(result, show_weak=show_weak)
    context.exit(0 if result.has_answer else 1)


@click.command()
@click.argument("query", nargs=-1, required=True)
@options.preset
@options.search
@click.pass_context
def explain(context: click.Context, /, *, as_json: bool, **params: Any) -> None:
    """Search and explain the ranking.

    Shows how the query was parsed, which queries were tried and how long the search took. Then shows for each hit, even
    a weak one, the score of each leg and the effect of each stage. The exit code is 1 if there is no answer.
    """
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)
    from recollect.retrieval.messages import no_results_message  # noqa: PLC0415 (imports numpy)

    result = _search(params, as_json=as_json, warn=as_json)  # without --json, the explanation contains the warnings
    if not as_json:
        tables.print_explanation(terminal.console(), result)
        if not result:
            terminal.print_info(no_results_message(result.trace))
    context.exit(0 if result.has_answer else 1)


def _search(params: dict[str, Any], *, as_json: bool, warn: bool) -> SearchResult:
    """Search with the options of a command; print the warnings if ``warn``, and the result if ``as_json``."""
    with memories.open_for_search(params) as memory:
        result = run_search(memory, params)
        if not result:
            _warn_if_empty(memory, params["namespace"] or "default")
    if warn:
        for warning in result.warnings:
            terminal.warn(warning)
    if as_json:
        terminal.print_json(result.to_dict())
    return result


def _warn_if_empty(memory: Memory, namespace: str) -> None:
    """Warn if a namespace has no notes, and name the namespaces that have notes."""
    if memory.count(namespace=namespace):
        return
    others = ", ".join(name for name, count in memory.stats().store.notes.items() if count)
    advice = f"choose --namespace from: {others}" if others else "recollect add stores a note"
    terminal.warn(f"there are no notes in namespace {namespace!r}; {advice}")


def run_search(memory: Memory, params: dict[str, Any]) -> SearchResult:
    """Search with the options of a command."""
    return memory.search(" ".join(params["query"]), **options.search_arguments(params))


def print_result(result: SearchResult, *, show_weak: bool) -> None:
    """Print the hits; if there is no answer, print a line that says why, and how to see the weak candidates."""
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)
    from recollect.retrieval import messages  # noqa: PLC0415 (imports numpy)

    if exclusion := messages.exclusion_message(result.trace):
        terminal.print_info(exclusion)
    if result.has_answer or (result and show_weak):
        retry = messages.retry_message(result.trace)
        if retry and retry not in result.warnings:  # the caller has printed the warnings
            terminal.print_info(retry)
        tables.print_hits(terminal.console(), result, show_weak=show_weak)
    if not result:
        terminal.print_info(messages.no_results_message(result.trace))
    elif not result.has_answer:
        reason = messages.no_answer_message(result.best_confidence, result.answer_threshold)
        hint = "the hits above are weak candidates" if show_weak else "--show-weak shows the weak candidates"
        terminal.print_info(f"no answer to {result.query!r} in this memory: {reason}; {hint}")
