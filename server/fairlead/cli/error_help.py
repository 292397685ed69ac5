"""What the user can type after a run that failed because of its model."""

from collections.abc import Iterator
from dataclasses import replace

from rich.text import Text

from fairlead.cli.options import RunOptions
from fairlead.cli.program import program_name
from fairlead.cli.summary import continue_command
from fairlead.cli.view.text import escape_hidden
from fairlead.models.common.presets import presets
from fairlead.wire import protocol as wire

_OTHER_MODEL = ("unknown_model", "no_tools", "no_images", "region")


def help_lines(error: wire.RunErrorWire, options: RunOptions) -> list[Text]:
    """A line for each thing that may help: what it is for, and the command or the address."""
    return [Text(f"{purpose}: {escape_hidden(what)}", style="dim") for purpose, what in _help(error, options)]


def _help(error: wire.RunErrorWire, options: RunOptions) -> Iterator[tuple[str, str]]:
    kind = error["kind"]
    for model in error["models"]:
        yield f"To use {escape_hidden(model)}", continue_command(replace(options, model=model))
    if kind in _OTHER_MODEL and not error["models"]:
        yield "To see the models", f"{program_name()} models"
        yield "To use another model", continue_command(replace(options, model="NAME"))
    owner = presets().get(error["keyEndpoint"])
    if owner is not None:
        theirs = replace(options, endpoint=owner.name, base_url="", model="" if owner.model else "NAME", small_model="")
        yield f"To use {owner.title}, set its key as {owner.key_variables[0]}", continue_command(theirs)
    if error["accountUrl"]:
        yield "To add credit", error["accountUrl"]
    if kind in ("wrong_server", "proxy"):
        yield "To use another address", continue_command(replace(options, base_url="URL"))
