"""Options that commands share, and the parsers of their values.

The search options are generated from :class:`recollect.SearchOptions`; all other shared options are defined here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import click

from recollect.errors import ArgumentError
from recollect.retrieval.options import SearchOption, search_options

MAX_HITS = 100_000
"""Upper limit of --top-k and other numbers of notes: more than anyone reads, and few enough for every store."""

_DURATION_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

Command = TypeVar("Command", bound=Callable[..., Any])

_option = partial(click.option, show_envvar=True)


def _combine(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    callback=lambda context, _, value: context.meta.update({"recollect.quiet": value}),
    expose_value=False,
    help="Print the result only: no progress, no warnings.",
)
database = _option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH|URL",
    default="recollect.db",
    envvar="RECOLLECT_DB",
    help="The memory: a file, or the address of a server.",
)
memory = _combine(database, as_json, quiet)
embedder = _option(
    "--embedder",
    metavar="SPEC",
    default="auto",
    envvar="RECOLLECT_EMBEDDER",
    help="The embedding model: auto (the first installed one of recollect models), none, static, a name of this "
    "list, a folder with an ONNX model, openai:MODEL or openai:MODEL@URL.",
)
reranker = _option(
    "--reranker",
    metavar="SPEC",
    default="none",
    callback=lambda _context, _parameter, value: None if value == "none" else value,
    envvar="RECOLLECT_RERANKER",
    help="The model that reranks the best hits: none, auto (the first installed one of recollect models), a name of "
    "this list, a folder with an ONNX cross-encoder, tei:URL, or cohere:MODEL, voyage:MODEL or openai:MODEL with or "
    "without @URL.",
)


def secrets(default: str = "none") -> Callable[[Command], Command]:
    """Return the option ``--secrets``: whether secrets in notes are stored, refused or redacted."""
    return _option(
        "--secrets",
        type=click.Choice(["none", "refuse", "redact"]),
        default=default,
        envvar="RECOLLECT_SECRETS",
        help="How to treat passwords, keys and card numbers in notes: none stores them, refuse rejects the note, "
        "redact removes them from the note.",
    )


def seed(help: str) -> Callable[[Command], Command]:  # noqa: A002 (click's name)
    """Return the option ``--seed`` for the random seed."""
    return _option("--seed", type=click.IntRange(0), default=0, metavar="N", help=help)


def namespace(help: str = "The namespace; by default 'default'.") -> Callable[[Command], Command]:  # noqa: A002 (click's name)
    """Return the option ``--namespace``."""
    return click.option("--namespace", metavar="NAME", help=help)


def key_file(help: str, *, required: bool = False) -> Callable[[Command], Command]:  # noqa: A002 (click's name)
    """Return the option ``--keys`` for the file with the hashes of the server's keys."""
    path = click.Path(dir_okay=False)
    return _option(
        "--keys", "key_file", type=path, metavar="FILE", required=required, envvar="RECOLLECT_KEYS", help=help
    )


def _search_option(option: SearchOption) -> Callable[[Command], Command]:
    """Return the command-line option of a search parameter, with its default, range and help text."""
    name = f"--{option.name.replace('_', '-')}"
    attributes: dict[str, Any] = {"default": option.default, "help": option.help}
    if option.annotation == "bool":
        return click.option(f"{name}/--no-{name[2:]}" if option.default else name, is_flag=True, **attributes)
    if option.choices:
        return click.option(name, type=click.Choice(option.choices), **attributes)
    if option.annotation.startswith("int"):
        flags = ("-k", name) if option.name == "top_k" else (name,)
        return click.option(*flags, type=click.IntRange(int(option.at_least or 0), MAX_HITS), metavar="N", **attributes)
    if option.annotation.startswith("float"):
        value_range = click.FloatRange(option.at_least, option.at_most)
        return click.option(name, type=value_range, metavar="NUMBER", **attributes)
    return click.option(name, metavar="NAME" if option.name == "namespace" else "DATE", **attributes)


preset = _option(
    "--preset",
    metavar="NAME|FILE",
    default="default",
    help="The preset: a name (recollect presets lists them) or a TOML file.",
)


def presets(help_text: str, default: tuple[str, ...] | None = None) -> Callable[[Command], Command]:
    """Return the option ``--preset`` of a command that takes several presets."""
    return click.option("--preset", "presets", metavar="NAME|FILE", multiple=True, default=default, help=help_text)


def parse_date(_: click.Context | None, param: click.Parameter, value: str | None) -> datetime | None:
    """Parse a day or a time in ISO 8601; a time without an offset is in UTC."""
    from recollect import arguments  # noqa: PLC0415 (imports regex, which help does not need)

    try:
        return None if value is None else arguments.instant("date", value)
    except ArgumentError as error:
        raise click.BadParameter(error.problem, param=param) from None


def parse_expiry(context: click.Context, param: click.Parameter, value: str | None) -> datetime | str | None:
    """Parse an expiry: a day or a time, a number of hours, days or weeks from now (``12h``), or ``never``."""
    from recollect import arguments  # noqa: PLC0415 (part of the library)

    text = value.strip().lower() if value else ""
    if text == "never":
        return text
    number, unit = text[:-1], _DURATION_UNITS.get(text[-1:])
    if unit is None or not number.isdecimal():
        return parse_date(context, param, value)
    try:
        return arguments.now() + int(number) * unit
    except (OverflowError, ValueError):
        raise click.BadParameter(f"is too far in the future: {value}", param=param) from None


def parse_end(context: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Parse the exclusive end of a period; a day is included in the period, so its end is the start of the next day."""
    end = parse_date(context, param, value)
    if end is None:
        return None
    try:
        date.fromisoformat(value or "")  # raises ValueError for a time
        return end + timedelta(days=1)
    except ValueError:
        return end
    except OverflowError:
        raise click.BadParameter(f"is too far in the future: {value}", param=param) from None


def parse_metadata(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Return the pairs KEY=VALUE as a dictionary; a value that is JSON is parsed, any other value is text."""
    metadata: dict[str, Any] = {}
    for value in values:
        key, equals_sign, text = value.partition("=")
        if not equals_sign or not key:
            raise click.BadParameter(f"must be KEY=VALUE, got {value!r}", param=param)
        try:
            metadata[key] = json.loads(text, parse_constant=str)  # NaN and Infinity, which are not JSON, stay text
        except (ValueError, RecursionError):
            metadata[key] = text
    return metadata


def parse_links(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]] | None:
    """Return (kind, target) for each KIND=TARGET or TARGET (kind "related"); ``None``, which keeps links, if empty."""
    links = []
    for value in values:
        kind, equals_sign, target = value.partition("=")
        if not kind or (equals_sign and not target):
            raise click.BadParameter(f"must be KIND=TARGET, got {value!r}", param=param)
        links.append((kind, target) if equals_sign else ("related", kind))
    return links or None


def parse_aliases(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, list[str]]:
    """Parse TERM=ALTERNATIVE,ALTERNATIVE; the alternatives of a repeated term are joined."""
    aliases: dict[str, list[str]] = {}
    for value in values:
        term, _equals_sign, text = value.partition("=")
        alternatives = [alternative.strip() for alternative in text.split(",") if alternative.strip()]
        if not term.strip() or not alternatives:
            raise click.BadParameter(f"must be TERM=ALTERNATIVE,ALTERNATIVE, got {value!r}", param=param)
        aliases.setdefault(term.strip(), []).extend(alternatives)
    return aliases


_NOT_GENERATED = ("preset", "filters", "vector")
"""Search options that are not generated: commands define --preset and the filters, and nobody types a vector."""

search = _combine(
    *(_search_option(option) for option in search_options().values() if option.name not in _NOT_GENERATED),
    click.option("--path", metavar="PREFIX", default="", help="Only notes whose path starts with this."),
    click.option(
        "--tag", "tags", metavar="TAG", multiple=True, help="Only notes with this tag. Repeatable: all tags must match."
    ),
    click.option("--session", metavar="NAME", help="Only notes of this conversation or document."),
    click.option(
        "--since", callback=parse_date, metavar="DATE", help="Only notes created on or after this day or time."
    ),
    click.option(
        "--until",
        callback=parse_end,
        metavar="DATE",
        help="Only notes created up to the end of this day, or before this time. Notes created later do not supersede "
        "earlier ones.",
    ),
    click.option(
        "--where",
        callback=parse_metadata,
        metavar="KEY=VALUE",
        multiple=True,
        help="Only notes with this metadata; a value that is not JSON is text. Repeatable: all pairs must match.",
    ),
    click.option(
        "--alias",
        "aliases",
        metavar="TERM=ALTERNATIVE,ALTERNATIVE",
        multiple=True,
        callback=parse_aliases,
        help="Alternatives that replace a term; list the term itself to keep it. Repeatable.",
    ),
    reranker,
    embedder,
    memory,
)


def search_arguments(params: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of :meth:`Memory.search` for the options of a command."""
    arguments = {name: params[name] for name in search_options() if name in params}
    arguments["filters"] = {
        "path_prefix": params["path"],
        "tags": params["tags"],
        "session": params["session"],
        "created_after": params["since"],
        "created_before": params["until"],
        "metadata": params["where"],
    }
    return arguments


dataset = _combine(
    click.option(
        "--format",
        type=click.Choice(["beir", "locomo", "longmemeval"]),
        help="The dataset's format, if it cannot be detected.",
    ),
    click.option(
        "--level",
        type=click.Choice(["turn", "session"]),
        help="What becomes a note: a turn or a session of a conversation. By default a turn in LoCoMo and a session in "
        "LongMemEval.",
    ),
    click.option("--pool", is_flag=True, help="Put the sessions of all LongMemEval questions into one memory."),
    click.option("--split", metavar="NAME", help="The judgements in a BEIR folder, qrels/NAME.tsv; by default test."),
    click.option(
        "--corrections",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Corrections of LoCoMo's key: the file errors.json of github.com/dial481/locomo-audit.",
    ),
    click.option(
        "--limit", type=click.IntRange(1), metavar="N", help="Use only N questions, spread evenly over the dataset."
    ),
    click.option(
        "--cache",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="The folder that caches the vectors of notes; by default in the user's cache folder.",
    ),
)
