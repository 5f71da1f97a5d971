"""``recollect mcp``: serve a memory to language models, over standard input and output."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from recollect.cli import memories, options, terminal
from recollect.errors import EmbedderError


@click.command()
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@options.preset
@options.namespace("Serve only this namespace; by default all.")
@options.secrets("refuse")
@options.reranker
@options.embedder
@options.database
@options.quiet
def mcp(*, read_only: bool, namespace: str | None, db: str, **arguments: Any) -> None:
    """Serve the memory to a language model over MCP.

    A client of the Model Context Protocol starts it and uses standard input and output; recollect serve has MCP over
    HTTP. The memory is created if it is missing, and the model is loaded at the start. Notes with a password, key or
    card number are refused, unless --secrets says otherwise.
    """
    try:
        from recollect.server.auth import Caller, Grant, Right  # noqa: PLC0415 (imports regex)
        from recollect.server.mcp.stdio_transport import serve_stdio  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing; pip install 'recollectdb[server]'") from None

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    grant = Grant.of(None if namespace is None else [namespace], Right.READ if read_only else Right.ADMIN)
    with memories.open_or_create(db, **arguments) as memory:
        try:
            if memory.embedder is not None:  # load the model now, so that no call waits for it
                memory.embedder.embed_query("what is it about?")
        except EmbedderError as error:
            terminal.warn(f"searches are lexical only: {error}")
        serve_stdio(memory, Caller("this client", grant))
