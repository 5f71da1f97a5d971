"""``recollect keys``: create, list and revoke the API keys of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recollect.cli import options, terminal

if TYPE_CHECKING:
    from recollect.server.auth import Key, KeyRing

_key_file = options.key_file("The file with the hashes of the keys; recollect keys add creates it.", required=True)


@click.group()
def keys() -> None:
    """Create, list and revoke the keys of a server.

    A key grants one right in some or all namespaces: read, write (includes read) or admin (includes both). The key
    file has only hashes of the keys; running servers apply a change at once.
    """


@keys.command("add")
@click.argument("name")
@click.option("--namespace", "namespaces", metavar="NAME", multiple=True, help="A namespace of the key. Repeatable.")
@click.option("--all-namespaces", is_flag=True, help="The key is valid in every namespace, including future ones.")
@click.option("--right", type=click.Choice(["read", "write", "admin"]), default="read", help="The right of the key.")
@_key_file
@options.as_json
@options.quiet
def add_key(
    *, name: str, namespaces: tuple[str, ...], all_namespaces: bool, right: str, key_file: str, as_json: bool
) -> None:
    """Create a key and print it once.

    NAME says who uses the key. Nothing but the key is printed on standard output.
    """
    if bool(namespaces) == all_namespaces:  # both or neither
        raise click.UsageError("the key needs namespaces; pass either --namespace or --all-namespaces")
    key, key_text = _key_ring(key_file).add(name, None if all_namespaces else namespaces, right)
    if as_json:
        terminal.print_json({**_fields_without_hash(key), "key": key_text})
        return
    click.echo(key_text)
    grant = f"{key.name} has the right {right} {_in_namespaces(key)}"
    terminal.print_info(f"{grant}; save the key now, it is not shown again")


@keys.command("list")
@_key_file
@options.as_json
def list_keys(*, key_file: str, as_json: bool) -> None:
    """List ids, names and rights of the keys, not the keys themselves."""
    stored_keys = _key_ring(key_file).keys()
    if as_json:
        terminal.print_json([_fields_without_hash(key) for key in stored_keys])
        return
    for key in stored_keys:
        fields = (key.id, f"{key.created_at:%Y-%m-%d}", f"{key.grant.right!s:<5}", key.name, _in_namespaces(key))
        click.echo(terminal.sanitise_line("  ".join(fields)))


@keys.command("revoke")
@click.argument("id")
@_key_file
@options.quiet
def revoke_key(*, id: str, key_file: str) -> None:  # noqa: A002 (the argument's name)
    """Revoke a key by its id, as list shows it.

    Running servers reject the key from now on. The exit code is 1 if there is no key with this id.
    """
    if not _key_ring(key_file).revoke(id):
        raise click.ClickException(f"there is no key {id!r} in {key_file}; recollect keys list shows the ids")
    terminal.print_message(f"revoked {id}")


def _key_ring(path: str) -> KeyRing:
    from recollect.server.auth import KeyRing  # noqa: PLC0415 (imports regex, which help does not need)

    return KeyRing(path)


def _fields_without_hash(key: Key) -> dict[str, Any]:
    return {name: value for name, value in key.to_dict().items() if name != "hash"}


def _in_namespaces(key: Key) -> str:
    namespaces = key.grant.namespaces
    return "in all namespaces" if namespaces is None else f"in {', '.join(sorted(namespaces))}"
