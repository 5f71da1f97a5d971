"""``recollect mcp``: serve a memory to language models, over standard input and output or over HTTP."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from recollect.cli import memories, options, terminal
from recollect.errors import EmbedderError
from recollect.stores import redact_secrets

_HTTP_ONLY = ("host", "port", "keys")
_STDIO_ONLY = ("namespace", "read_only")


@click.command()
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="With --http: the address to listen on; an address of another machine needs --keys.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7700, help="With --http: the port; 0 chooses a free one."
)
@options.keys_file("With --http: the file of keys; without it, only this machine is served.")
@click.option("--read-only", is_flag=True, help="Without --http: offer only the tools that change nothing.")
@options.preset
@options.namespace("Without --http: serve only this namespace; by default all.")
@options.secrets("refuse")
@options.reranker
@options.embedder
@options.database
@options.quiet
@click.pass_context
def mcp(
    context: click.Context,
    /,
    *,
    over_http: bool,
    host: str,
    port: int,
    keys: str | None,
    read_only: bool,
    namespace: str | None,
    db: str,
    **arguments: Any,
) -> None:
    """Serve the memory to language models over MCP.

    A client of the Model Context Protocol starts it and uses standard input and output; with --http, clients connect to
    http://HOST:PORT/mcp. The memory is created if it is missing, and the model is loaded at the start. Notes with a
    password, key or card number are refused, unless --secrets says otherwise.
    """
    for name, flag in options.command_line_parameters(context):
        if over_http and name in _STDIO_ONLY:
            raise click.UsageError(f"{flag} cannot be used with --http, where keys define the rights")
        if not over_http and name in _HTTP_ONLY:
            raise click.UsageError(f"{flag} requires --http")
    try:
        if over_http:
            _serve_http(db, arguments, host=host, port=port, keys=keys)
        else:
            _serve_stdio(db, arguments, namespace, read_only=read_only)
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing; pip install 'recollectdb[server]'") from None


def _serve_stdio(db: str, arguments: dict[str, Any], namespace: str | None, *, read_only: bool) -> None:
    from recollect.server.auth import Caller, Grant, Right  # noqa: PLC0415 (imports regex)
    from recollect.server.mcp.server import serve_stdio  # noqa: PLC0415 (an extra)

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    grant = Grant.of(None if namespace is None else [namespace], Right.READ if read_only else Right.ADMIN)
    with memories.open_or_create(db, **arguments) as memory:
        try:
            if memory.embedder is not None:  # load the model now, so that no call waits for it
                memory.embedder.embed_query("what is it about?")
        except EmbedderError as error:
            terminal.warn(f"searches are lexical only: {error}")
        serve_stdio(memory, Caller("this client", grant))


def _serve_http(db: str, arguments: dict[str, Any], *, host: str, port: int, keys: str | None) -> None:
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (an extra)
    from recollect.server.http.request_log import Log  # noqa: PLC0415 (an extra)
    from recollect.server.http.server import check_keys, serve  # noqa: PLC0415 (an extra)
    from recollect.server.http.settings import Settings  # noqa: PLC0415 (an extra)
    from recollect.server.mcp import mcp_extension  # noqa: PLC0415 (an extra)

    ring = None if keys is None else KeyRing(keys)
    settings = Settings(host=host, port=port, require_keys=ring is not None)
    check_keys(settings, ring)  # before the memory and the model are opened
    log = Log(sys.stderr, as_json=not sys.stderr.isatty(), requests=not terminal.is_quiet())

    def on_ready(address: str) -> None:
        terminal.print_message(f"serving {redact_secrets(db)} at {address}/mcp; ready, Ctrl-C stops")
        sys.stdout.flush()

    with memories.open_or_create(db, **arguments) as memory:
        extension = mcp_extension(memory, settings)
        serve(memory, settings, log=log, ring=ring, extensions=[extension], api=False, on_ready=on_ready)
