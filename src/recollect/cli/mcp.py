"""``recollect mcp``: a memory for language models, over standard input and output or over HTTP."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from recollect.cli import options, terminal
from recollect.cli.keys import file_of_keys

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.server.rights import Caller

__all__ = ["command"]


@click.command("mcp")
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="With --http: where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7700,
    show_default=True,
    help="With --http: the port; 0 for any that is free.",
)
@file_of_keys("With --http: the file of keys; without it, only this machine is served.", required=False)
@click.option("--read-only", is_flag=True, help="Without --http: offer only the tools that change nothing.")
@click.option("--preset", metavar="NAME|FILE", default="default", show_default=True, help="How to search.")
@options.namespace("Without --http: the only namespace that is served; all if none is named.")
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
    preset: str,
    namespace: str | None,
    embedder: str,
    db: str,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Serve the memory to language models by the Model Context Protocol.

    A client starts it and talks over standard input and output; with --http, clients reach it at http://HOST:PORT/mcp.
    The memory is created where it is missing, and the model is loaded once, at the start.
    """
    _refuse_what_belongs_to_the_other(context, over_http=over_http)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if over_http:
        _serve_http(db, embedder, preset, host, port, keys)
        return
    with _open(db, embedder, preset) as memory:
        from recollect.server.mcp.over_stdio import serve_stdio  # noqa: PLC0415 (brings the SDK, which is heavy)

        serve_stdio(memory, _caller(namespace, read_only=read_only))


_OF_HTTP = ("host", "port", "keys")
_OF_STDIO = ("namespace", "read_only")


def _refuse_what_belongs_to_the_other(context: click.Context, *, over_http: bool) -> None:
    """Raise an error for an option that would mean nothing here, rather than pass it over in silence."""
    for option in options.given(context):
        if over_http and option.name in _OF_STDIO:
            raise click.UsageError(f"{option.opts[0]} is not for --http, where keys say who may do what")
        if not over_http and option.name in _OF_HTTP:
            raise click.UsageError(f"{option.opts[0]} needs --http")


def _open(db: str, embedder: str, preset: str) -> Memory:
    """Open the memory and load its model, so that no call has to wait for it."""
    from recollect.errors import EmbedderError  # noqa: PLC0415
    from recollect.opening import open as open_memory  # noqa: PLC0415 (brings SQLite and numpy)

    memory = open_memory(db, embedder=embedder, preset=preset)
    try:
        if memory.embedder is not None:
            memory.embedder.embed_query("what is it about?")
    except EmbedderError as error:
        terminal.warn(f"searches are by words alone: {error}")
    return memory


def _caller(namespace: str | None, *, read_only: bool) -> Caller:
    from recollect.server.rights import Caller, Grant, Right  # noqa: PLC0415 (brings regex)

    grant = Grant.of(None if namespace is None else [namespace], Right.READ if read_only else Right.ADMIN)
    return Caller("this client", grant)


def _serve_http(db: str, embedder: str, preset: str, host: str, port: int, keys: str | None) -> None:
    import uvicorn  # noqa: PLC0415 (heavy, as all that follows)

    from recollect.server.keys import KeyRing  # noqa: PLC0415
    from recollect.server.mcp.over_http import McpApp  # noqa: PLC0415
    from recollect.server.mcp.standing_alone import ADDRESS, refuse_strangers, standing_alone  # noqa: PLC0415

    refuse_strangers(host, has_keys=keys is not None)
    ring = None if keys is None else KeyRing(keys)
    if ring is not None:
        ring.keys()  # a file that cannot be read is told now, not at the first request
    with _open(db, embedder, preset) as memory:
        config = uvicorn.Config(standing_alone(McpApp(memory, ring)), host=host, port=port, log_config=None)
        with config.bind_socket() as socket:
            terminal.say_aside(f"serving {db} at http://{host}:{socket.getsockname()[1]}{ADDRESS}")
            with _sigterm_is_no_death():
                uvicorn.Server(config).run([socket])


@contextmanager
def _sigterm_is_no_death() -> Iterator[None]:
    """Let the memory be closed: uvicorn ends at the signal, and then raises it once more."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
