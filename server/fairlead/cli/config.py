"""Reads the settings of the editors for the terminal: from the file of `--config`, else from the user's own file.

No file of the workspace is read: whoever wrote it could give the agent more permissions.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from fairlead.app.settings import SECTION
from fairlead.errors import FairleadError
from fairlead.json_reader import names_of
from fairlead.json_values import is_object, plain_json
from fairlead.session.settings import Settings

MAX_BYTES = 1_000_000
_OF_ENDPOINT = ("endpoint", "model", "baseUrl", "effort", "contextTokens", "replay")
"""Settings that belong together: an endpoint, an address or a recording as an option replaces them all."""


def user_config() -> Path:
    """The user's own file of settings, which may not exist."""
    return platformdirs.user_config_path("fairlead", appauthor=False) / "config.json"


class BadConfig(FairleadError):
    """The file is not a file of settings. The message continues a sentence that begins with its name."""


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a file, by their names without the prefix `fairlead.`. Does not check their values.

    The file has the format of VS Code's `settings.json`: JSON with comments and commas after the last value. If there
    are names with the prefix, all others belong to other programs.

    Raises:
        BadConfig: it cannot be read, or is not a JSON object.
    """
    given, _ = read_object(path)
    prefix = f"{SECTION}."
    own = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    if is_object(section := given.get(SECTION)):
        own = {**section, **own}
    if not own:
        return given
    known = {name for name, _ in names_of(Settings)}  # the others, such as the path of Python, are for VS Code
    return {name: value for name, value in own.items() if name.partition(".")[0] in known}


def read_object(path: Path) -> tuple[dict[str, Any], str]:
    """The JSON object in a file, and its text. Raises BadConfig as `read_config`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise BadConfig("is too long for a file of settings.")
        text = data.decode("utf-8-sig")
        given = json.loads(plain_json(text))
    except OSError as error:
        raise BadConfig(f"cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadConfig("is not UTF-8.") from error
    except json.JSONDecodeError as error:
        raise BadConfig(f"is not valid JSON, in line {error.lineno}: {error.msg}.") from error
    except ValueError as error:
        raise BadConfig("contains a number that is too long.") from error
    except RecursionError as error:
        raise BadConfig("is nested too deeply.") from error
    if not is_object(given):
        raise BadConfig('must contain a JSON object, such as {"model": "..."}.')
    return given, text


def with_options(config: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file and the command line, as a client sends them (docs/protocol.md, `Settings`).

    An option replaces the setting of the file.
    """
    left_out = {*options, *(["replay"] if "model" in options else [])}
    if options.keys() & {"endpoint", "baseUrl", "replay"}:
        left_out |= {*_OF_ENDPOINT}
    return {SECTION: {**{name: value for name, value in config.items() if name not in left_out}, **options}}
