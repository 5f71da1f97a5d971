"""``recollect presets``: the ways to search, and one's own."""

from __future__ import annotations

import click

from recollect.cli import options, terminal

__all__ = ["command"]


@click.command("presets")
@click.argument("name", required=False)
@click.option("--toml", "as_toml", is_flag=True, help="Print NAME as TOML, to begin one's own from.")
@options.as_json
def command(*, name: str | None, as_toml: bool, as_json: bool) -> None:
    """List the presets, or show one of them.

    A preset is a way to search: which legs, which fusion, which stages. NAME is one of them, or a TOML file: recollect
    presets default --toml > mine.toml begins one's own, and --preset mine.toml searches with it.
    """
    from recollect.retrieval import preset_from, presets  # noqa: PLC0415 (brings numpy)

    if as_toml and not name:
        raise click.UsageError("which preset? --toml needs a NAME")
    chosen = [preset_from(name)] if name else list(presets().values())
    if as_json:
        told = [preset.to_dict() for preset in chosen]
        terminal.print_json(told[0] if name else told)
        return
    if as_toml:
        # Without a name of its own, a preset is called like the file that it is kept in.
        _, _, rest = chosen[0].to_toml().partition("\n")
        click.echo(rest, nl=False)
        return
    from recollect.cli import preset_tables  # noqa: PLC0415 (brings rich, which is heavy)

    if name:
        preset_tables.draw_preset(terminal.console(), chosen[0], presets()["default"])
    else:
        preset_tables.draw_presets(terminal.console(), chosen)
