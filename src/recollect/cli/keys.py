"""``recollect keys``: manage the keys of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.cli import options, terminal

if TYPE_CHECKING:
    from recollect.server.auth import Key, KeyRing

_keys_file = options.keys_file("The file with the hashes of the keys; recollect keys add creates it.", required=True)


@click.group()
def keys() -> None:
    """Create, list and revoke the keys of a server.

    A key is valid for some namespaces and one right: read, write (includes read) or admin (includes both). The file
    contains hashes; running servers apply a change at once.
    """


@keys.command("add")
@click.argument("name")
@click.option("--namespace", "namespaces", metavar="NAME", multiple=True, help="A namespace of the key. Repeatable.")
@click.option("--all-namespaces", is_flag=True, help="The key is valid in every namespace, including future ones.")
@click.option("--right", type=click.Choice(["read", "write", "admin"]), default="read", help="The right of the key.")
@_keys_file
@options.as_json
@options.quiet
def add_key(
    *, name: str, namespaces: tuple[str, ...], all_namespaces: bool, right: str, keys: str, as_json: bool
) -> None:
    """Create a key and print it once.

    NAME is the user of the key. The key is the only thing on standard output.
    """
    if bool(namespaces) == all_namespaces:
        raise click.UsageError("the key needs namespaces; pass --namespace or --all-namespaces")
    key, text = _key_ring(keys).add(name, None if all_namespaces else namespaces, right)
    if as_json:
        terminal.print_json({**_public_fields(key), "key": text})
        return
    click.echo(text)
    terminal.print_info(f"{key.name} has the right {right} {_namespaces(key)}; save the key now, it is not shown again")


@keys.command("list")
@_keys_file
@options.as_json
def list_keys(*, keys: str, as_json: bool) -> None:
    """List ids, names and rights of the keys, not the keys themselves."""
    ring = _key_ring(keys).keys()
    if as_json:
        terminal.print_json([_public_fields(key) for key in ring])
        return
    for key in ring:
        fields = (key.id, f"{key.created_at:%Y-%m-%d}", f"{key.grant.right!s:<5}", key.name, _namespaces(key))
        click.echo(terminal.sanitise_line("  ".join(fields)))


@keys.command("revoke")
@click.argument("id")
@_keys_file
@options.quiet
def revoke_key(*, id: str, keys: str) -> None:  # noqa: A002 (the argument's name)
    """Revoke a key by its id, as list shows it.

    Running servers reject it from now on. The exit code is 1 if it does not exist.
    """
    if not _key_ring(keys).revoke(id):
        raise click.ClickException(f"there is no key {id!r} in {keys}; recollect keys list shows all")
    terminal.print_message(f"revoked {id}")


def _key_ring(path: str) -> KeyRing:
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (imports regex, which help does not need)

    return KeyRing(path)


def _public_fields(key: Key) -> dict[str, Any]:
    return {name: value for name, value in key.to_dict().items() if name != "hash"}


def _namespaces(key: Key) -> str:
    namespaces = key.grant.namespaces
    return "in all namespaces" if namespaces is None else f"in {', '.join(sorted(namespaces))}"
