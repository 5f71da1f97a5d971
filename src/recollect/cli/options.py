"""The options that commands share, and the kinds of values that they take."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, NoReturn, TypeVar

import click

from recollect.errors import ArgumentError

__all__ = [
    "DATE",
    "KEY_VALUE",
    "LAST_DAY",
    "as_json",
    "database",
    "embedder",
    "namespace",
    "parsed_aliases",
    "parsed_pairs",
    "quiet",
]

F = TypeVar("F", bound=Callable[..., Any])

database = click.option(
    "--db",
    type=click.Path(dir_okay=False),
    metavar="PATH",
    default="recollect.db",
    envvar="RECOLLECT_DB",
    show_default=True,
    show_envvar=True,
    help="The file that holds the memory.",
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
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, no warnings, nothing but the result.")


def namespace(help: str = "The namespace to work in; 'default' if none is named.") -> Callable[[F], F]:  # noqa: A002
    """Return the option that names a namespace."""
    return click.option("--namespace", metavar="NAME", default=None, help=help)


class Date(click.ParamType):
    """A day or an instant as ISO 8601 writes them; without an offset it is UTC."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant."""
        from recollect import arguments  # noqa: PLC0415 (brings regex, which help does not need)

        try:
            return arguments.instant(self.name, value)
        except ArgumentError as error:
            self.fail(error.problem, param, ctx)


class LastDay(Date):
    """An instant that is left out, or a day that is not: the span ends when the day does."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant at which the span ends."""
        moment = super().convert(value, param, ctx)
        try:
            date.fromisoformat(value)
            return moment + timedelta(days=1)
        except OverflowError:
            self.fail(f"lies too far in the future: {value}", param, ctx)
        except ValueError:
            return moment


class KeyValue(click.ParamType):
    """A key and a value: the value as JSON where it is JSON, otherwise as text."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """Return key and value."""
        key, sign, text = value.partition("=")
        if not sign or not key:
            self.fail(f"must be KEY=VALUE, got {value!r}", param, ctx)
        try:
            return key, json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return key, text


DATE = Date()
LAST_DAY = LastDay()
KEY_VALUE = KeyValue()


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


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(constant)
