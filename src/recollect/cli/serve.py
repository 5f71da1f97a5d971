"""``recollect serve`` and ``recollect mcp``: serve a memory over HTTP, or over MCP on standard input and output."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from recollect.cli import memories, options, terminal
from recollect.stores import redact_secrets

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.server.preparation import EmbedderPreparation

_download = click.option(
    "--download/--no-download",
    default=True,
    help="With the embedder auto, download its model in the background if it is missing.",
)


@click.command()
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=7700, help="The port; 0 chooses a free one.")
@options.key_file("Require the keys in this file; necessary if other machines can reach the server.")
@options.preset
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    metavar="N",
    help="The number of requests per second that each key may send; 0 means no limit. By default 100 if keys are "
    "required, else 0.",
)
@click.option(
    "--max-body",
    type=click.FloatRange(min=0.001),
    default=4,
    metavar="MB",
    help="The maximum size of a request in megabytes.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.001),
    default=30,
    metavar="SECONDS",
    help="The maximum time of a request in seconds.",
)
@click.option(
    "--reports", type=click.Path(path_type=Path), metavar="FOLDER", help="Show the evaluation reports in this folder."
)
@options.secrets()
@options.reranker
@options.embedder
@_download
@options.memory
@click.pass_context
def serve(context: click.Context, /, *, max_body: float, db: str, as_json: bool, **params: Any) -> None:
    """Serve the memory over HTTP until Ctrl-C.

    The memory is created if it is missing. Search is lexical until a missing embedding model is downloaded. MCP clients
    connect to /mcp. At a loopback address such as 127.0.0.1, keys are required only with --keys; at any other address,
    they are always required. Requests are logged on standard error: as JSON with --json or if standard error is not a
    terminal, otherwise as text. With --quiet, only warnings and errors are logged.
    """
    for library in ("OPENBLAS", "MKL"):
        # Idle threads of BLAS wait in busy loops, which doubles the cost of concurrent searches, so BLAS gets one
        # thread. BLAS reads the variable when numpy is imported, which is later.
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        from recollect.server.auth import KeyRing  # noqa: PLC0415 (an extra)
        from recollect.server.http.request_log import Log  # noqa: PLC0415 (an extra)
        from recollect.server.http.server import check_keys  # noqa: PLC0415 (an extra)
        from recollect.server.http.server import serve as serve_http  # noqa: PLC0415 (an extra)
        from recollect.server.http.settings import MEGABYTE, Settings  # noqa: PLC0415 (an extra)
        from recollect.server.mcp import mcp_extension  # noqa: PLC0415 (an extra)
    except ImportError:
        raise click.ClickException("the server is not installed; pip install 'recollectdb[server]'") from None

    key_file = params.pop("key_file")
    ring = None if key_file is None else KeyRing(key_file)
    settings = Settings(
        require_keys=ring is not None,
        max_body_bytes=round(max_body * MEGABYTE),
        **{name: params.pop(name) for name in ("host", "port", "rate", "reports", "timeout")},
    )
    check_keys(settings, ring)  # fail before the memory and the model are loaded
    logs_json = as_json or not sys.stderr.isatty()
    log = Log(sys.stderr, as_json=logs_json, quiet=terminal.is_quiet())

    def report_ready(address: str) -> None:
        if logs_json:
            log.write("ready", address=address)
        if not as_json:
            access = "with keys" if ring else "open to this machine"
            terminal.print_message(f"serving {redact_secrets(db)} at {address}, {access}; ready, Ctrl-C stops")
            sys.stdout.flush()

    with _open_and_prepare(db, **params) as (memory, preparation):
        # Language models write notes through MCP, so MCP refuses secrets unless --secrets is given.
        secrets_option_given = context.get_parameter_source("secrets") is not ParameterSource.DEFAULT
        extension = mcp_extension(memory if secrets_option_given else memory.with_secrets("refuse"), settings)

        def on_ready(address: str) -> None:
            report_ready(address)
            preparation.start()  # later than the configuration of the log

        serve_http(memory, settings, log=log, ring=ring, extensions=[extension], on_ready=on_ready)
    log.write("stopped")


@click.command()
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@options.preset
@options.namespace("Serve only this namespace; by default all.")
@options.secrets("refuse")
@options.reranker
@options.embedder
@_download
@options.database
@options.quiet
def mcp(*, read_only: bool, namespace: str | None, db: str, **arguments: Any) -> None:
    """Serve the memory to a language model over MCP.

    A client of the Model Context Protocol starts this command and uses its standard input and output; recollect serve
    serves MCP over HTTP. The memory is created if it is missing. The embedding model is loaded in the background;
    search is lexical until a missing model is downloaded. Notes with a password, key or card number are refused, unless
    --secrets says otherwise.
    """
    try:
        from recollect.server.auth import Caller, Grant, Right  # noqa: PLC0415 (imports regex)
        from recollect.server.mcp.server import serve_stdio  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise click.ClickException(f"{error.name} is not installed; pip install 'recollectdb[server]'") from None

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    grant = Grant.of(None if namespace is None else [namespace], Right.READ if read_only else Right.ADMIN)
    with _open_and_prepare(db, **arguments) as (memory, preparation):
        preparation.start()  # now, so that no call waits for the model
        serve_stdio(memory, Caller("this client", grant))


@contextmanager
def _open_and_prepare(
    db: str, *, embedder: str, download: bool, secrets: str, **arguments: Any
) -> Iterator[tuple[Memory, EmbedderPreparation]]:
    """Open the memory, and prepare its embedder in the background; an embedder other than auto is only loaded."""
    from recollect.server.preparation import EmbedderPreparation  # noqa: PLC0415 (help does not need it)

    is_auto = embedder == "auto"
    with ExitStack() as stack:
        if not terminal.is_quiet():
            logger = logging.getLogger("recollect.server.preparation")
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.INFO)
        with warnings.catch_warnings(record=True) as caught:
            memory = stack.enter_context(memories.open_to_serve(db, embedder, secrets, **arguments))
        preparation = EmbedderPreparation(memory, download=download and is_auto, embed=is_auto)
        stack.callback(preparation.stop)
        if not memory.embedder_warning:  # otherwise the vectors' model is being downloaded
            for warning in caught:
                warnings.warn(warning.message, stacklevel=1)
        yield memory, preparation
