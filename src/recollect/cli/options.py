"""The options that commands share, and the kinds of values that they take."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, NoReturn, TypeVar

import click

from recollect.errors import ArgumentError

__all__ = [
    "as_json",
    "database",
    "embedder",
    "given",
    "mcp_secrets",
    "namespace",
    "parsed_aliases",
    "parsed_date",
    "parsed_end",
    "parsed_expiry",
    "parsed_pairs",
    "parsed_question_date",
    "parsed_values",
    "quiet",
    "reranker",
    "secrets",
    "seed",
]

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

F = TypeVar("F", bound=Callable[..., Any])

database = click.option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH|URL",
    default="recollect.db",
    envvar="RECOLLECT_DB",
    show_default=True,
    show_envvar=True,
    help="Where the memory is: a file, or the address of a server.",
)
embedder = click.option(
    "--embedder",
    metavar="SPEC",
    default="auto",
    envvar="RECOLLECT_EMBEDDER",
    show_default=True,
    show_envvar=True,
    help="What turns text into vectors: auto, none, minilm, static, a folder with an ONNX model, openai:MODEL or "
    "openai:MODEL@URL.",
)


def _secrets(default: str) -> Callable[[F], F]:
    return click.option(
        "--secrets",
        type=click.Choice(["none", "refuse", "redact"]),
        default=default,
        envvar="RECOLLECT_SECRETS",
        show_default=True,
        show_envvar=True,
        help="What to do with passwords, keys and card numbers: nothing, refuse the note, or redact them.",
    )


secrets = _secrets("none")
mcp_secrets = _secrets("refuse")
"""The same option for MCP, where language models write the notes: by default it refuses."""
reranker = click.option(
    "--reranker",
    metavar="SPEC",
    default="none",
    callback=lambda _context, _parameter, value: None if value == "none" else value,
    envvar="RECOLLECT_RERANKER",
    show_default=True,
    show_envvar=True,
    help="What reads the best again: none, cohere:MODEL, voyage:MODEL or openai:MODEL, each also with @URL, "
    "tei:URL, or a folder with an ONNX cross-encoder.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, no warnings, nothing but the result.")


def seed(help: str) -> Callable[[F], F]:  # noqa: A002 (the option's word for it)
    """Return the option that says where drawing begins."""
    return click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help=help)


def given(context: click.Context) -> list[click.Parameter]:
    """Return the arguments and options that stand on the command line."""
    source = click.core.ParameterSource.COMMANDLINE
    return [each for each in context.command.params if each.name and context.get_parameter_source(each.name) is source]


def namespace(help: str = "The namespace to work in; 'default' if none is named.") -> Callable[[F], F]:  # noqa: A002 (the option's word for it)
    """Return the option that names a namespace."""
    return click.option("--namespace", metavar="NAME", default=None, help=help)


def parsed_date(_: click.Context | None, param: click.Parameter, value: str | None) -> datetime | None:
    """Read a day or an instant as ISO 8601 writes them; without an offset it is UTC."""
    from recollect import arguments  # noqa: PLC0415 (brings regex, which help does not need)

    try:
        return None if value is None else arguments.instant("date", value)
    except ArgumentError as error:
        raise click.BadParameter(error.problem, param=param) from None


def parsed_expiry(context: click.Context, param: click.Parameter, value: str | None) -> datetime | str | None:
    """Read when a note expires: a day or an instant, so many hours, days or weeks from now, or never."""
    from recollect import clock  # noqa: PLC0415 (like all of the library)

    told = value.strip().lower() if value else ""
    if told == "never":
        return told
    number, unit = told[:-1], _UNITS.get(told[-1:])
    if unit is None or not number.isdecimal():
        return parsed_date(context, param, value)
    try:
        return clock.now() + int(number) * unit
    except (OverflowError, ValueError):
        raise click.BadParameter(f"lies too far in the future: {value}", param=param) from None


def parsed_end(context: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Read the end of a span: an instant, or a day, which belongs to the span until it is over."""
    moment = parsed_date(context, param, value)
    if moment is None or value is None or not _is_day(value):
        return moment
    try:
        return moment + timedelta(days=1)
    except OverflowError:
        raise click.BadParameter(f"lies too far in the future: {value}", param=param) from None


def parsed_question_date(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a date in any of the forms in which a question's date may be written."""
    from recollect.query.dates import check_question_date  # noqa: PLC0415 (as above)

    try:
        check_question_date(value)
    except ArgumentError as error:
        raise click.BadParameter(error.problem, param=param) from None
    return value


def parsed_values(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Read KEY=VALUE: the value as JSON where it is JSON, otherwise as text."""
    found: dict[str, Any] = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"must be KEY=VALUE, got {value!r}", param=param)
        try:
            found[key] = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            found[key] = text
    return found


def parsed_pairs(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]] | None:
    """Read KIND=TARGET, or a TARGET alone, which is related; ``None`` if there is none."""
    pairs = [(kind, target) if sign else ("related", kind) for kind, sign, target in (v.partition("=") for v in values)]
    for (kind, target), value in zip(pairs, values, strict=True):
        if not kind or not target:
            raise click.BadParameter(f"must be KIND=TARGET, got {value!r}", param=param)
    return pairs or None


def parsed_aliases(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, list[str]]:
    """Read TERM=ALTERNATIVE,ALTERNATIVE; one term may be given several times."""
    aliases: dict[str, list[str]] = {}
    for value in values:
        term, _sign, listed = value.partition("=")
        alternatives = [each.strip() for each in listed.split(",") if each.strip()]
        if not term.strip() or not alternatives:
            raise click.BadParameter(f"must be TERM=ALTERNATIVE,ALTERNATIVE, got {value!r}", param=param)
        aliases.setdefault(term.strip(), []).extend(alternatives)
    return aliases


def _is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(constant)
