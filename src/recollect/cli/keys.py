"""``recollect keys``: who may use a server, and for what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recollect.cli import options, terminal

if TYPE_CHECKING:
    from recollect.server.auth import Key, KeyRing

__all__ = ["command", "file_of_keys"]

F = TypeVar("F", bound=Callable[..., Any])


def file_of_keys(help: str, *, required: bool) -> Callable[[F], F]:  # noqa: A002 (click's name)
    """Return the option that names a file of keys."""
    return click.option(
        "--keys",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        required=required,
        envvar="RECOLLECT_KEYS",
        show_envvar=True,
        help=help,
    )


DEEDS = {"read": "read", "write": "write", "admin": "administer"}

_file = file_of_keys("The file that holds the hashes of the keys; recollect keys add makes it.", required=True)


@click.group("keys")
def command() -> None:
    """Make, list and revoke the keys of a server.

    A key is bound to namespaces and to one right: read, write (which includes read) or admin (which includes both). The
    file holds hashes; servers that are running see a change at once.
    """


@command.command("add")
@click.argument("name")
@click.option(
    "--namespace", "namespaces", metavar="NAME", multiple=True, help="Where it may be used; several: in each."
)
@click.option("--all-namespaces", is_flag=True, help="It may be used in every namespace, also in those to come.")
@click.option(
    "--right",
    type=click.Choice(["read", "write", "admin"]),
    default="read",
    show_default=True,
    help="What it may do there.",
)
@_file
@options.as_json
@options.quiet
def add(
    *,
    name: str,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    right: str,
    keys: str,
    as_json: bool,
    quiet: bool,  # noqa: ARG001 (the terminal asks for it)
) -> None:
    """Make a key and print it, this once.

    NAME is who or what will use it. The key is the only thing on standard output.
    """
    if bool(namespaces) == all_namespaces:
        raise click.UsageError("where may it be used? Give --namespace, or --all-namespaces")
    key, text = _ring(keys).add(name, None if all_namespaces else namespaces, right)
    if as_json:
        terminal.print_json({**_told(key), "key": text})
        return
    click.echo(text)
    terminal.say_aside(f"{key.name} may {DEEDS[right]} {_where(key)}; keep the key now, it is shown this once")


@command.command("list")
@_file
@options.as_json
def list_all(*, keys: str, as_json: bool) -> None:
    """List the keys: their ids, names and rights, not the keys."""
    found = _ring(keys).keys()
    if as_json:
        terminal.print_json([_told(key) for key in found])
        return
    for key in found:
        made = f"{key.created_at:%Y-%m-%d}"
        click.echo(terminal.line(f"{key.id}  {made}  {key.grant.right!s:<5}  {key.name}  {_where(key)}"))


@command.command("revoke")
@click.argument("id")
@_file
@options.quiet
def revoke(*, id: str, keys: str, quiet: bool) -> None:  # noqa: A002, ARG001 (the argument's name; the terminal asks)
    """Take a key away, named by its id as list shows it.

    Servers that are running refuse it from now on. The exit code is 1 if there was none.
    """
    if not _ring(keys).revoke(id):
        raise click.ClickException(f"there is no key {id!r} in {keys}; recollect keys list shows those there are")
    terminal.say(f"revoked {id}")


def _ring(path: str) -> KeyRing:
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (brings regex, which help does not need)

    return KeyRing(path)


def _told(key: Key) -> dict[str, Any]:
    """Return what a person may see of a key."""
    return {name: value for name, value in key.to_dict().items() if name != "hash"}


def _where(key: Key) -> str:
    held = key.grant.namespaces
    return "in all namespaces" if held is None else f"in {', '.join(sorted(held))}"
