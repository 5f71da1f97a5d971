"""``recollect serve``: serve a memory over HTTP."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from recollect.cli import memories, options, terminal
from recollect.stores import redact_secrets


@click.command()
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=7700, help="The port; 0 chooses a free one.")
@options.keys_file("Require the keys in this file; necessary if other machines can reach the server.")
@options.preset
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Requests per second for each key; 0: no limit. By default 100 if keys are required.",
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
    "--searches",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of concurrent searches; by default the number of processors.",
)
@click.option(
    "--reports", type=click.Path(path_type=Path), metavar="FOLDER", help="Show the evaluation reports in this folder."
)
@options.secrets()
@options.reranker
@options.embedder
@options.memory
@click.pass_context
def serve(
    context: click.Context,
    /,
    *,
    keys: str | None,
    max_body: float,
    timeout: float,
    searches: int | None,
    db: str,
    as_json: bool,
    **params: Any,
) -> None:
    """Serve the memory over HTTP until Ctrl-C.

    MCP clients connect to /mcp. A server on this machine requires keys only with --keys; at any other address it
    always does. Requests are logged on standard error, as JSON unless it is a terminal and --json is missing; --quiet
    logs errors only.
    """
    for library in ("OPENBLAS", "MKL"):
        # Set before numpy is imported: its threads wait in busy loops, which doubles the cost of concurrent searches.
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        from recollect.server.auth import KeyRing  # noqa: PLC0415 (an extra)
        from recollect.server.http.request_log import Log  # noqa: PLC0415 (an extra)
        from recollect.server.http.server import check_keys  # noqa: PLC0415 (an extra)
        from recollect.server.http.server import serve as serve_http  # noqa: PLC0415 (an extra)
        from recollect.server.http.settings import MEGABYTE, Settings  # noqa: PLC0415 (an extra)
        from recollect.server.mcp import mcp_extension  # noqa: PLC0415 (an extra)
    except ImportError:
        raise click.ClickException("serving needs more packages; pip install 'recollectdb[server]'") from None

    ring = None if keys is None else KeyRing(keys)
    settings = Settings(
        require_keys=ring is not None,
        max_body_bytes=round(max_body * MEGABYTE),
        timeout=timeout,
        **{name: params.pop(name) for name in ("host", "port", "rate", "reports")},
    )
    if searches is not None:
        settings = replace(settings, read_threads=searches)
    check_keys(settings, ring)  # before the memory and the model are opened
    logs_json = as_json or not sys.stderr.isatty()
    log = Log(sys.stderr, as_json=logs_json, requests=not terminal.is_quiet())

    def on_ready(address: str) -> None:
        if logs_json:
            log.write("ready", address=address)
        if not as_json:
            access = "with keys" if ring else "open to this machine"
            terminal.print_message(f"serving {redact_secrets(db)} at {address}, {access}; ready, Ctrl-C stops")
            sys.stdout.flush()

    with memories.open_or_create(db, **params) as memory:
        # Language models write notes through MCP: it refuses secrets unless --secrets is given.
        by_default = context.get_parameter_source("secrets") is ParameterSource.DEFAULT
        mcp = mcp_extension(memory.with_secrets("refuse") if by_default else memory, settings)
        serve_http(memory, settings, log=log, ring=ring, extensions=[mcp], on_ready=on_ready)
    log.write("stopped")
