"""What search, explain and compare share: the options of a question, and how it is put to a memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recollect.cli import opening, options
from recollect.errors import RecollectWarning

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.retrieval import SearchResult

__all__ = ["find", "open_asked", "optional_question", "preset", "question", "search_arguments", "words"]

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("auto", "hybrid", "bm25", "semantic")
MOST = 100_000
"""More hits than anyone reads, and few enough for every engine."""

_OPTIONS = (
    click.option(
        "-k", "--top-k", type=click.IntRange(1, MOST), default=10, show_default=True, help="How many to show."
    ),
    click.option(
        "--mode",
        type=click.Choice(MODES),
        default="auto",
        show_default=True,
        help="hybrid: by words and by meaning; bm25: by words alone; semantic: by meaning alone; auto: the best there "
        "is.",
    ),
    click.option(
        "--candidate-k",
        type=click.IntRange(1, MOST),
        default=None,
        help="How many notes each leg retrieves before the lists are fused; by default as the preset says.",
    ),
    click.option("--path", metavar="PREFIX", default="", help="Only notes whose path begins so."),
    click.option(
        "--tag", "tags", metavar="TAG", multiple=True, help="Only notes with this tag; several: with all of them."
    ),
    click.option("--session", metavar="NAME", help="Only notes of this conversation or document."),
    click.option(
        "--since", callback=options.parsed_date, metavar="DATE", help="Only notes made on or after this day or instant."
    ),
    click.option(
        "--until",
        callback=options.parsed_end,
        metavar="DATE",
        help="Only notes made up to this day, that day included, or before this instant. The search is as of that "
        "time: notes made later supersede none, so that what was replaced since is not marked.",
    ),
    click.option(
        "--where",
        callback=options.parsed_values,
        metavar="KEY=VALUE",
        multiple=True,
        help="Only notes whose metadata says so; the value is JSON, or else text. Several: all of them.",
    ),
    click.option(
        "--alias",
        "aliases",
        metavar="TERM=NAME,NAME",
        multiple=True,
        callback=options.parsed_aliases,
        help="Other names that take a term's place; name the term itself to keep it. Can be given several times.",
    ),
    click.option(
        "--rerank/--no-rerank", default=True, help="Whether a reranker reads the best again, if there is one."
    ),
    click.option(
        "--rerank-top-n",
        type=click.IntRange(0, MOST),
        default=20,
        show_default=True,
        metavar="N",
        help="How many the reranker reads.",
    ),
    options.reranker,
    click.option("--no-retry", is_flag=True, help="Do not try other words where these find nothing."),
    click.option(
        "--question-date",
        callback=options.parsed_question_date,
        metavar="DATE",
        help="When the question was asked; 'two weeks ago' is counted from there. "
        "2026-04-18, 2026/04/18 (Sat) 09:30, ISO 8601 or RFC 2822.",
    ),
    click.option(
        "--now",
        callback=options.parsed_date,
        metavar="DATE",
        help="What recency counts from, in ISO 8601; by default the question's date, or the present.",
    ),
    click.option(
        "--min-confidence",
        type=click.FloatRange(0, 1),
        default=None,
        metavar="NUMBER",
        help="Leave out notes with less confidence; by default as the preset says.",
    ),
    click.option(
        "--answer-threshold",
        type=click.FloatRange(0, 1),
        default=None,
        metavar="NUMBER",
        help="The lowest confidence at which the best hit counts as an answer; by default as the preset says.",
    ),
    options.namespace(),
    options.embedder,
    options.database,
    options.as_json,
    options.quiet,
)

preset = click.option(
    "--preset",
    metavar="NAME|FILE",
    default="default",
    show_default=True,
    help="How to search: the name of a preset, or a TOML file that describes one; recollect presets lists them.",
)


def question(command: F) -> F:
    """Give a command the argument QUERY and all options of a question but the preset."""
    return _with_options(click.argument("query", nargs=-1, required=True), command)


def optional_question(command: F) -> F:
    """Give a command the same where there may be no QUERY."""
    return _with_options(click.argument("query", nargs=-1), command)


def _with_options(argument: Callable[[F], F], command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return argument(command)


def words(asked: dict[str, Any]) -> str:
    """Return the query."""
    return " ".join(asked["query"])


def open_asked(asked: dict[str, Any]) -> Memory:
    """Open the memory that is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecollectWarning)  # what is amiss with vectors is told by the search itself
        return opening.open_for_reading(
            asked["db"], asked["embedder"], aliases=asked["aliases"], reranker=asked["reranker"]
        )


def find(memory: Memory, asked: dict[str, Any]) -> SearchResult:
    """Search as the options ask."""
    return memory.search(words(asked), preset=asked["preset"], **search_arguments(asked))


def search_arguments(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what the options mean to :meth:`Memory.search`, but for the query and the preset."""
    same = (
        "top_k", "mode", "candidate_k", "rerank", "rerank_top_n", "question_date", "now",
        "min_confidence", "answer_threshold", "namespace",
    )  # fmt: skip
    return {name: asked[name] for name in same} | {
        "skip_retry_ladder": asked["no_retry"],
        "filters": {
            "path_prefix": asked["path"],
            "tags": asked["tags"],
            "session": asked["session"],
            "created_after": asked["since"],
            "created_before": asked["until"],
            "metadata": asked["where"],
        },
    }
