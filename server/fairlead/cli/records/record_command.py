"""`fairlead record`: signs a record, and ties it to a commit (docs/record.md)."""

import argparse
import getpass
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from fairlead.cli.arguments import Parser, output_file, path_of, read_workspace
from fairlead.cli.client import StartServer
from fairlead.cli.headless.outcome import DONE, NOT_DONE
from fairlead.cli.records.arguments import open_stored, read_key_file
from fairlead.cli.records.stored import MAX_BYTES, read_stored
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.session.record.commit_message import commit_message
from fairlead.session.record.digest import TRAILER
from fairlead.session.record.envelope import envelope_text
from fairlead.session.record.keyless import sign_keyless
from fairlead.session.record.keys import BadKey, read_private_key
from fairlead.session.record.repository import NOTES, GitFailed, Repository
from fairlead.session.record.shape import BadRecord
from fairlead.session.record.signed import open_record
from fairlead.session.record.statement import statement_text
from fairlead.workspace.replace_file import replace_file

ABOUT = """\
Signs a record (fairlead run --save-record) and ties it to a commit.

commands:
  fairlead record message FILE  print a message for the commit, which names the record
  fairlead record sign FILE     sign the record with a key, or as a CI job without one
  fairlead record attach FILE   save the record in a Git note of the commit
"""
EPILOG = """\
examples:
  fairlead record message record.json | git commit --file -
  fairlead record sign record.json --key ~/.ssh/id_ed25519 --commit HEAD --output signed.json
  fairlead record attach signed.json
  fairlead verify --commit HEAD --key ~/.ssh/id_ed25519.pub

exit codes: 0 done; 1 it did not work; 2 incorrect usage, or FILE is not a record.
"""
NO_MESSAGE = "The record has no accepted change, so there is nothing to commit."
OTHER_NOTE = (
    "The commit {commit} has another record ({digest}) in its note. Remove it first: "
    "git notes --ref={notes} remove {commit}"
)
UNBOUND = (
    "The commit {commit} does not name the record, and no signature names the commit, so `fairlead verify` would "
    "refuse it. Commit with `fairlead record message`, or sign with --commit."
)


async def run_record(arguments: Sequence[str], terminal: Terminal, _: StartServer) -> int:
    """Runs a command of the group. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead record", description=ABOUT, epilog=EPILOG, formatter_class=raw)
    parser.usage = "fairlead record COMMAND FILE [OPTIONS]"
    parser.add_argument("command", choices=["message", "sign", "attach"], metavar="COMMAND")
    parser.add_argument("file", metavar="FILE", help="the record; for message and attach also a signed one")
    by = parser.add_mutually_exclusive_group()
    by.add_argument("--key", metavar="FILE", help="sign: the private key, of OpenSSL or OpenSSH")
    about = "sign: with the identity of this CI job; Sigstore makes the name of the job public"
    by.add_argument("--keyless", action="store_true", help=about)
    about = "sign: the commit that the signature is about (default: none); attach: the commit (default: HEAD)"
    parser.add_argument("--commit", metavar="REV", help=about)
    parser.add_argument("--output", metavar="FILE", help="sign: where to write the signed record")
    about = "the folder whose repository has the commit (default: the current one)"
    parser.add_argument("--workspace", metavar="DIR", help=about)
    given = parser.parse_args(arguments)
    _check_options(given, parser)
    try:
        match given.command:
            case "message":
                return _print_message(given, parser, terminal)
            case "sign":
                return _sign(given, parser, terminal)
            case _:
                return _attach(given, parser, terminal)
    except GitFailed as error:
        return _failed(str(error), terminal)


def _check_options(given: argparse.Namespace, parser: Parser) -> None:
    """Calls `parser.error` for an option that belongs to another command, or one that is missing."""
    signs = given.command == "sign"
    if not signs and (given.key or given.keyless or given.output):
        parser.error("--key, --keyless and --output belong to `fairlead record sign`")
    if signs and not (given.key or given.keyless):
        parser.error("sign needs --key FILE or --keyless")
    if signs and not given.output:
        parser.error("sign needs --output FILE")
    if given.command == "message" and given.commit:
        parser.error("--commit cannot be used with message, which is for a commit to come")
    if given.keyless and given.commit:
        parser.error("--keyless signs no name of a commit; the message of the commit must name the record")


def _print_message(given: argparse.Namespace, parser: Parser, terminal: Terminal) -> int:
    opened = open_stored(given.file, parser.error)
    message = commit_message(opened.record, opened.digest)
    if not message:
        return _failed(NO_MESSAGE, terminal)
    terminal.console.print(Text(clean(message)), soft_wrap=True, end="")
    return DONE


def _sign(given: argparse.Namespace, parser: Parser, terminal: Terminal) -> int:
    opened = open_stored(given.file, parser.error)
    if opened.signer or opened.unproven:
        parser.error(f"{given.file} is signed already; sign the record itself")
    output = output_file(given.output, "signed record", lambda path: open_record(read_stored(path)), parser.error)
    assert output is not None  # `_check_options` has checked that there is one
    commit = _repository(given, parser).commit_id(given.commit) if given.commit else None
    try:
        payload = statement_text(opened.record_json, commit)
    except BadRecord as error:
        return _failed(f"{given.file} cannot be signed. {error}", terminal)
    try:
        signed = sign_keyless(payload) if given.keyless else _signed_with_key(path_of(given.key), payload, terminal)
    except BadKey as error:
        return _failed(f"The key {given.key} cannot be used. {error}" if given.key else str(error), terminal)
    if len(signed) > MAX_BYTES:
        return _failed(f"The signed record would be larger than {MAX_BYTES // 1_000_000} MB.", terminal)
    try:
        replace_file(output, signed)
    except OSError as error:
        return _failed(f"The signed record was not written: {error.strerror or error}", terminal)
    about = f" for the commit {commit}" if commit else ""
    terminal.print(escape_hidden(f"Signed the record{about}, in {given.output}."))
    return DONE


def _signed_with_key(path: Path, payload: bytes, terminal: Terminal) -> bytes:
    """The envelope with a statement. Raises BadKey."""
    ask = (lambda: getpass.getpass("Password of the key: ")) if terminal.can_ask else None
    return envelope_text(read_private_key(read_key_file(path), ask).sign(payload))


def _attach(given: argparse.Namespace, parser: Parser, terminal: Terminal) -> int:
    opened = open_stored(given.file, parser.error)
    repository = _repository(given, parser)
    commit = repository.commit_id(given.commit or "HEAD")
    if opened.commit != commit and opened.digest not in repository.named_records(commit):
        return _failed(UNBOUND.format(commit=commit), terminal)
    note = repository.note(commit)
    if note is not None:
        try:
            digest = open_record(note).digest
        except BadRecord:
            digest = "unreadable"
        if digest != opened.digest:
            return _failed(OTHER_NOTE.format(commit=commit, digest=digest, notes=NOTES), terminal)
    repository.add_note(commit, read_stored(path_of(given.file)))
    terminal.print(f"Saved the record in the note of {commit}. To share it: git push origin {NOTES}")
    if opened.digest not in repository.named_records(commit):
        terminal.print(f"The message of the commit does not name the record ({TRAILER}).", "dim")
    return DONE


def _repository(given: argparse.Namespace, parser: Parser) -> Repository:
    """Raises GitFailed if the folder has none."""
    folders = [given.workspace] if given.workspace else None
    return Repository(read_workspace(folders, parser.error).folders[0].real)


def _failed(reason: str, terminal: Terminal) -> int:
    terminal.print(escape_hidden(reason), "red")
    return NOT_DONE
