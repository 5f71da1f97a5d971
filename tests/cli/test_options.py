"""Options of commands agree with the library's definitions of search options and note fields."""

from __future__ import annotations

import click

from recollect.cli.notes import add
from recollect.cli.search import search
from recollect.model import NOTE_FIELDS
from recollect.retrieval.options import search_options

NOT_OFFERED = {"filters", "vector"}
"""Filters have an option for each field; vectors cannot be typed."""


def test_search_offers_every_search_option() -> None:
    parameters = {parameter.name: parameter for parameter in search.params}
    options = search_options()
    assert set(options) - set(parameters) == NOT_OFFERED
    for name in set(options) - NOT_OFFERED - {"preset"}:
        parameter = parameters[name]
        assert isinstance(parameter, click.Option)
        assert parameter.help == options[name].help
        assert parameter.to_info_dict()["default"] == options[name].default


def test_add_offers_every_note_field() -> None:
    offered = {parameter.name for parameter in add.params}
    by_hand = {name for name, field in NOTE_FIELDS.items() if field.by_hand}
    assert by_hand - offered == {"content"}  # the argument TEXT
