"""``recollect presets``: list presets, or show one."""

from __future__ import annotations

import click

from recollect.cli import options, terminal


@click.command()
@click.argument("name", required=False)
@click.option("--toml", "as_toml", is_flag=True, help="Print NAME as TOML, as a start for your own preset.")
@options.as_json
def presets(*, name: str | None, as_toml: bool, as_json: bool) -> None:
    """List the presets, or show one of them.

    A preset defines how to search: legs, fusion and stages. NAME is a preset or a TOML file. Start your own with
    recollect presets default --toml > mine.toml, and search with --preset mine.toml.
    """
    from recollect.retrieval import preset_from  # noqa: PLC0415 (imports numpy)
    from recollect.retrieval import presets as all_presets  # noqa: PLC0415 (imports numpy)

    if as_toml and not name:
        raise click.UsageError("--toml needs the NAME of a preset")
    selected = [preset_from(name)] if name else list(all_presets().values())
    if as_json:
        data = [preset.to_dict() for preset in selected]
        terminal.print_json(data[0] if name else data)
        return
    if as_toml:
        # The first line has the name. It is omitted, since a preset in a file is named after the file.
        _, _, toml_without_name = selected[0].to_toml().partition("\n")
        click.echo(toml_without_name, nl=False)
        return
    from recollect.cli import tables  # noqa: PLC0415 (imports rich)

    if name:
        tables.print_preset(terminal.console(), selected[0], all_presets()["default"])
    else:
        tables.print_presets(terminal.console(), selected)
