"""``recollect mcp``: a memory for language models, over standard input and output or over HTTP."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import click

from recollect.cli import asking, opening, options, terminal
from recollect.cli.keys import file_of_keys
from recollect.errors import EmbedderError
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.server.auth import Caller

__all__ = ["command"]


@click.command("mcp")
@click.option(
    "--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input and output."
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="With --http: where to listen; another address than this machine's own needs --keys.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7700,
    show_default=True,
    help="With --http: the port; 0 for any that is free.",
)
@file_of_keys("With --http: the file of keys; without it, only this machine is served.", required=False)
@click.option("--read-only", is_flag=True, help="Without --http: offer only the tools that change nothing.")
@asking.preset
@options.namespace("Without --http: the only namespace that is served; all if none is named.")
@options.mcp_secrets
@options.reranker
@options.embedder
@options.database
@options.quiet
@click.pass_context
def command(
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
    quiet: bool,
    **parts: Any,
) -> None:
    """Serve the memory to language models.

    By the Model Context Protocol: a client starts it and talks over standard input and output; with --http, clients
    reach it at http://HOST:PORT/mcp. The memory is created where it is missing, and the model is loaded once, at the
    start. Notes that hold a password, key or card number are refused, unless --secrets says otherwise.
    """
    _refuse_what_belongs_to_the_other(context, over_http=over_http)
    try:
        if over_http:
            _serve_http(db, parts, host=host, port=port, keys=keys, quiet=quiet)
        else:
            _serve_stdio(db, parts, namespace, read_only=read_only)
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing; pip install 'recollectdb[server]'") from None


_OF_HTTP = ("host", "port", "keys")
_OF_STDIO = ("namespace", "read_only")


def _refuse_what_belongs_to_the_other(context: click.Context, *, over_http: bool) -> None:
    """Raise an error for an option that would mean nothing here, rather than pass it over in silence."""
    for option in options.given(context):
        if over_http and option.name in _OF_STDIO:
            raise click.UsageError(f"{option.opts[0]} is not for --http, where keys say who may do what")
        if not over_http and option.name in _OF_HTTP:
            raise click.UsageError(f"{option.opts[0]} needs --http")


def _serve_stdio(db: str, parts: dict[str, Any], namespace: str | None, *, read_only: bool) -> None:
    from recollect.server.mcp.stdio_transport import serve_stdio  # noqa: PLC0415 (an extra, and heavy)

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with opening.open_or_create(db, **parts) as memory:
        _load_model(memory)
        serve_stdio(memory, _caller(namespace, read_only=read_only))


def _load_model(memory: Memory) -> None:
    """Load the model, so that no call has to wait for it; without it, words still find."""
    try:
        if memory.embedder is not None:
            memory.embedder.embed_query("what is it about?")
    except EmbedderError as error:
        terminal.warn(f"searches are by words alone: {error}")


def _caller(namespace: str | None, *, read_only: bool) -> Caller:
    from recollect.server.auth import Caller, Grant, Right  # noqa: PLC0415 (brings regex)

    grant = Grant.of(None if namespace is None else [namespace], Right.READ if read_only else Right.ADMIN)
    return Caller("this client", grant)


def _serve_http(db: str, parts: dict[str, Any], *, host: str, port: int, keys: str | None, quiet: bool) -> None:
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (an extra)
    from recollect.server.http.request_log import Log  # noqa: PLC0415 (an extra, as all that follows)
    from recollect.server.http.server import check_keys, serve  # noqa: PLC0415 (an extra)
    from recollect.server.http.settings import Settings  # noqa: PLC0415 (an extra)
    from recollect.server.mcp.http_transport import MCP_PATH, mcp_extension  # noqa: PLC0415 (an extra)

    ring = None if keys is None else KeyRing(keys)
    settings = Settings(host=host, port=port, require_keys=ring is not None)
    check_keys(settings, ring)  # before a memory is made or a model looked for
    log = Log(sys.stderr, as_json=not sys.stderr.isatty(), requests=not quiet)

    def on_ready(address: str) -> None:
        terminal.say(f"serving {redact_secrets(db)} at {address}{MCP_PATH}; ready, Ctrl-C stops")
        sys.stdout.flush()

    with opening.open_or_create(db, **parts) as memory:
        mcp = mcp_extension(memory, settings)
        serve(memory, settings, log=log, ring=ring, extensions=[mcp], api=False, on_ready=on_ready)
