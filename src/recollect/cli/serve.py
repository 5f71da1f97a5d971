"""``recollect serve``: the memory for other processes and machines."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click
from click.core import ParameterSource

from recollect.cli import asking, opening, options, terminal
from recollect.cli.keys import file_of_keys
from recollect.stores import redact_secrets

__all__ = ["command"]

_COUNT = click.IntRange(min=1)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7700, show_default=True, help="The port; 0 for any that is free."
)
@file_of_keys("Ask for the keys in this file; needed where other machines can reach the server.", required=False)
@asking.preset
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Requests a second for each key; 0: no limit. 100 if not given, where keys are asked for.",
)
@click.option(
    "--max-body",
    type=click.FloatRange(min=0.001),
    default=4,
    show_default=True,
    metavar="MB",
    help="How large a request may be, in megabytes.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.001),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long a request may take, in seconds.",
)
@click.option(
    "--searches", type=_COUNT, metavar="N", help="How many searches run at once; by default one for each processor."
)
@click.option(
    "--reports", type=click.Path(path_type=Path), metavar="FOLDER", help="Show the evaluation reports in this folder."
)
@click.option("--telemetry", is_flag=True, help="Send spans by OpenTelemetry, as OTEL_… variables say.")
@options.secrets
@options.reranker
@options.embedder
@options.database
@options.as_json
@options.quiet
def command(
    *,
    host: str,
    port: int,
    keys: str | None,
    preset: str,
    rate: float | None,
    max_body: float,
    timeout: float,
    searches: int | None,
    reports: Path | None,
    telemetry: bool,
    secrets: str,
    reranker: str | None,
    embedder: str,
    db: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Serve the memory over HTTP until Ctrl-C.

    Language models find it at /mcp, by the Model Context Protocol. On one's own machine it asks for no keys unless
    --keys names some; at any other address it must. Requests are logged on standard error: as JSON, but in a terminal
    without --json; with --quiet, only what went wrong.
    """
    for library in ("OPENBLAS", "MKL"):
        # Before numpy is loaded. Its threads wait for each other by turning round and round: with many searches at
        # once, that costs as much again as the searches do.
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        from recollect.server.http.server import check_keys, serve  # noqa: PLC0415 (an extra)
    except ImportError:
        raise click.ClickException("serving needs more packages; pip install 'recollectdb[server]'") from None
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (an extra)
    from recollect.server.http.request_log import Log  # noqa: PLC0415 (an extra)
    from recollect.server.http.settings import MEGABYTE, Settings  # noqa: PLC0415 (an extra)
    from recollect.server.mcp import mcp_extension  # noqa: PLC0415 (an extra)

    ring = None if keys is None else KeyRing(keys)
    more = {} if searches is None else {"read_threads": searches}
    settings = Settings(
        host=host,
        port=port,
        require_keys=ring is not None,
        rate=rate,
        max_body_bytes=round(max_body * MEGABYTE),
        timeout=timeout,
        reports=reports,
        **more,
    )
    check_keys(settings, ring)  # before a memory is made or a model looked for
    in_words = sys.stderr.isatty() and not as_json
    log = Log(sys.stderr, as_json=not in_words, requests=not quiet)

    def on_ready(address: str) -> None:
        if not in_words:
            log.write("ready", address=address)
        if not as_json:
            who = "with keys" if ring else "open to this machine"
            terminal.say(f"serving {redact_secrets(db)} at {address}, {who}; ready, Ctrl-C stops")
            sys.stdout.flush()

    with ExitStack() as stack:
        observers = []
        if telemetry:
            from recollect.server.http.telemetry import otlp_spans  # noqa: PLC0415 (an extra)

            spans = otlp_spans()
            stack.callback(spans.close)
            observers.append(spans.record_request)
        memory = stack.enter_context(opening.open_or_create(db, embedder, secrets, reranker=reranker, preset=preset))
        is_default = click.get_current_context().get_parameter_source("secrets") is ParameterSource.DEFAULT
        mcp = mcp_extension(memory.with_secrets("refuse") if is_default else memory, settings)
        serve(memory, settings, log=log, ring=ring, observers=observers, extensions=[mcp], on_ready=on_ready)
    log.write("stopped")
