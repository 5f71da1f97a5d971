"""``recollect completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

__all__ = ["command"]

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, /, *, shell: str) -> None:
    """Print the completion script for a shell.

    bash: eval "$(recollect completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: recollect completion fish >
    ~/.config/fish/completions/recollect.fish
    """
    kind = get_completion_class(shell) or ShellComplete
    made = kind(context.find_root().command, {}, "recollect", "_RECOLLECT_COMPLETE")
    # Not made.source(): for bash it would start one to ask for its version, which this machine may not even have.
    click.echo(made.source_template % made.source_vars())
