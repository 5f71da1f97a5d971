"""``recollect search``: find notes by words, by meaning and by connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.cli import asking, terminal

if TYPE_CHECKING:
    from recollect.retrieval import SearchResult

__all__ = ["answer", "command"]


@click.command("search")
@click.option("--explain", is_flag=True, help="Draw how each hit came by its score, as recollect explain does.")
@click.option(
    "--show-weak",
    is_flag=True,
    help="Also show weak candidates, marked as weak: all hits if nothing fits, else those whose confidence is below "
    "the answer threshold and below a tenth of the best.",
)
@asking.preset
@asking.question
@click.pass_context
def command(
    context: click.Context, /, *, explain: bool, show_weak: bool, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """Find notes by words and by meaning.

    The words of QUERY are one query: "a phrase", AND, OR, NOT, tea* for a prefix. A query that begins with a dash
    comes after --. The exit code is 1 if nothing in the memory fits. Of the --top-k best notes, weak candidates are
    shown only with --show-weak; --json has them all.
    """
    with asking.open_asked(asked) as memory:
        result = asking.find(memory, asked)
    answer(result, explain=explain, show_weak=show_weak, as_json=as_json, quiet=quiet)
    if not result.has_answer:
        context.exit(1)


def answer(
    result: SearchResult, *, explain: bool = False, show_weak: bool = False, as_json: bool = False, quiet: bool = False
) -> None:
    """Show what was found: as JSON, as an explanation, or as hits; weak ones only with ``show_weak``."""
    if as_json or not explain:  # an explanation tells its warnings itself
        for warning in result.warnings:
            terminal.warn(warning)
    if as_json:
        terminal.print_json(result.to_dict())
        return
    if not explain:
        from recollect.cli import drawing  # noqa: PLC0415 (brings rich, which is heavy)

        drawing.draw_exclusion(result)
    if explain or result.has_answer or (result and show_weak):
        _draw(result, explain=explain, show_weak=show_weak, quiet=quiet)
    if not (explain and result):  # an explanation says so itself
        say_if_nothing_fits(result, shown=show_weak)


def say_if_nothing_fits(result: SearchResult, *, shown: bool) -> None:
    """Say in one line that there is no answer, and how to see the weak candidates unless they are shown."""
    if not result:
        from recollect.retrieval.wording import nothing_found_in_words  # noqa: PLC0415 (brings numpy)

        terminal.say_aside(nothing_found_in_words(result.trace))
    elif not result.has_answer:
        from recollect.retrieval.wording import no_answer_in_words  # noqa: PLC0415 (brings numpy)

        why = no_answer_in_words(result.best_confidence, result.answer_threshold)
        how = "the hits above are weak candidates" if shown else "--show-weak shows the weak candidates"
        terminal.say_aside(f"nothing in this memory fits {result.query!r}: {why}; {how}")


def _draw(result: SearchResult, *, explain: bool, show_weak: bool, quiet: bool) -> None:
    from recollect.cli import drawing  # noqa: PLC0415 (brings rich, which is heavy)

    console = terminal.console()
    if explain:
        drawing.draw_explanation(console, result)
        return
    drawing.draw_retry(result)
    shown = result.hits if show_weak else result.strong_hits
    drawing.draw_hits(console, shown, weak=result.weak_hits)
    if not quiet:
        drawing.draw_summary(console, result, len(shown))
