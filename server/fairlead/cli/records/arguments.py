"""What the commands about records share."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from fairlead.cli.arguments import path_of
from fairlead.cli.records.stored import read_stored
from fairlead.session.record.keyless import Identity
from fairlead.session.record.keys import BadKey, read_public_key
from fairlead.session.record.shape import BadRecord
from fairlead.session.record.signed import NamedKey, OpenedRecord, Trust, open_record

Fail = Callable[[str], NoReturn]

_MAX_KEY = 100_000  # bytes


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say who must have signed a record."""
    about = "a public key, one of which must have signed the record; can be given several times"
    parser.add_argument("--key", metavar="FILE", action="append", default=[], help=about)
    about = "who must have signed the record without a key, such as the URL of a workflow; needs --issuer"
    parser.add_argument("--identity", metavar="NAME", help=about)
    about = "who vouches for --identity, such as https://token.actions.githubusercontent.com"
    parser.add_argument("--issuer", metavar="URL", help=about)


def read_trust(given: argparse.Namespace, fail: Fail) -> Trust:
    """Who must have signed, as the options of `add_trust` say."""
    if (given.identity is None) != (given.issuer is None):
        fail("--identity and --issuer need each other")
    if given.identity is not None and given.key:
        fail("--key and --identity cannot be used together")
    identity = Identity(given.identity, given.issuer) if given.identity is not None else None
    return Trust(_read_keys(given.key, fail), identity)


def _read_keys(files: Sequence[str], fail: Fail) -> Sequence[NamedKey]:
    keys = list[NamedKey]()
    for file in files:
        try:
            keys.append(NamedKey(file, read_public_key(read_key_file(path_of(file)))))
        except BadKey as error:
            fail(f"the key {file} cannot be used. {error}")
    return keys


def read_key_file(path: Path) -> bytes:
    """The content of the file of a key. Raises BadKey if it cannot be read."""
    try:
        if not path.is_file():
            raise BadKey("There is no such file.")
        with open(path, "rb") as file:
            return file.read(_MAX_KEY)
    except OSError as error:
        raise BadKey(f"It cannot be read: {os.strerror(error.errno or 0)}.") from error


def open_stored(file: str, fail: Fail) -> OpenedRecord:
    """The record in a file, whoever has signed it."""
    try:
        return open_record(read_stored(path_of(file)))
    except BadRecord as error:
        fail(f"{file} cannot be used. {error}")
