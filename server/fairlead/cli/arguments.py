"""What the parsers of several commands share."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fairlead.agent.errors import ModelError
from fairlead.cli.config import BadConfig, read_config, user_config
from fairlead.cli.view.text import escape_hidden
from fairlead.session.record.shape import BadRecord
from fairlead.shell.environment import read_pattern
from fairlead.shell.network import Service
from fairlead.workspace import secrets
from fairlead.workspace.paths import Roots, real_path

WRONG_USAGE = 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, without terminal sequences."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: {escape_hidden(message)}\nTry `{self.prog} --help`.\n")


def add_workspace(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--workspace`. `what` ends the sentence `the folder to`."""
    about = f"the folder to {what} (default: the current one); can be given several times"
    parser.add_argument("--workspace", metavar="DIR", action="append", help=about)


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a JSON file with settings as in VS Code, such as its settings.json; options replace what it sets "
        "(default: your own config.json, if it exists)",
    )


def add_pass_variable(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pass-variable",
        metavar="NAME",
        type=pattern_type(read_pattern),
        action="append",
        default=[],
        help="an environment variable, or a pattern such as DJANGO_*, that sandboxed commands get unless it looks like "
        "a secret; can be given several times",
    )


def add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--service",
        metavar="HOST:PORT",
        type=_service,
        action="append",
        default=[],
        help="a server of this machine or the local network that sandboxed commands reach, such as localhost:5432; can "
        "be given several times",
    )


def _service(text: str) -> str:
    try:
        return str(Service.parse(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error


def pattern_type(read: Callable[[str], str]) -> Callable[[str], str]:
    """The type of an option whose value `read` checks."""

    def read_option(text: str) -> str:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} was not understood. {error}".rstrip(".")) from error

    return read_option


def read_config_option(given: argparse.Namespace, fail: Callable[[str], NoReturn]) -> dict[str, Any]:
    """The settings of the file that `--config` names, else of the user's own file; none if there is none."""
    path = path_of(given.config) if given.config is not None else user_config()
    if given.config is None and not path.exists():
        return {}
    try:
        return read_config(path)
    except BadConfig as error:
        fail(f"{given.config or path} {error}")


def path_of(text: str) -> Path:
    """Expands `~` as a shell does. `~` before an unknown user's name stays as it is."""
    return Path(os.path.expanduser(text))


def read_workspace(given: Sequence[str] | None, fail: Callable[[str], NoReturn]) -> Roots:
    """The folders that the options name, else the current one, with links resolved.

    Args:
        fail: ends the command with the message that it gets; called if one of them is not a folder.
    """
    folders = given or ["."]
    wrong = next((folder for folder in folders if not path_of(folder).is_dir()), None)
    if wrong is not None:
        fail(f"the workspace is not a folder: {wrong}")
    return Roots.of(*(real_path(path_of(folder)) for folder in folders))


def add_allow_secret(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-secret",
        metavar="PATTERN",
        type=pattern_type(secrets.read_pattern),
        action="append",
        default=[],
        help="a file that looks like a secret and is not, or a pattern such as 'tests/certs/*.pem'; can be given "
        "several times",
    )


def positive_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number greater than 0")
    return int(text)


def output_file(
    given: str | None, kind: str, read: Callable[[Path], object], fail: Callable[[str], NoReturn]
) -> Path | None:
    """The absolute path of the file that an option names; None if it names none.

    Args:
        kind: what the file will contain, for error messages.
        read: reads such a file. An existing file that is not empty is only overwritten if `read` can read it.
        fail: ends the command with the message that it gets; called if the file must not or cannot be written.
    """
    if not given:
        return None
    path = path_of(given)
    if path.is_dir() or not path.absolute().parent.is_dir():
        fail(f"the {kind} must be a file in an existing folder: {given}")
    try:
        if has_content(path):
            read(path)
    except (BadRecord, ModelError):
        fail(f"the file exists and is not a {kind}, so it is not overwritten; choose another one: {given}")
    return path.absolute()


def has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0  # a device has no content to lose
