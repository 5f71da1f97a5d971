"""``recollect explain``: why each hit stands where it stands."""

from __future__ import annotations

from typing import Any

import click

from recollect.cli import asking, search

__all__ = ["command"]


@click.command("explain")
@asking.preset
@asking.question
@click.pass_context
def command(context: click.Context, /, *, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Search, and draw why each hit stands where it stands.

    First how the query was read, what was tried and how long each part took; then for each hit, weak ones too, what
    each leg gave, and what each stage made of it. The exit code is 1 if nothing in the memory fits, as that of search.
    """
    with asking.open_asked(asked) as memory:
        result = asking.find(memory, asked)
    search.answer(result, explain=True, as_json=as_json, quiet=quiet)
    if not result.has_answer:
        context.exit(1)
