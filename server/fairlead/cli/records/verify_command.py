"""The arguments of `fairlead verify`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from fairlead.app.settings import read_settings
from fairlead.cli.arguments import (
    Parser,
    add_allow_secret,
    add_config,
    add_pass_variable,
    add_workspace,
    output_file,
    path_of,
    positive_number,
    read_config_option,
    read_workspace,
)
from fairlead.cli.client import StartServer
from fairlead.cli.config import with_options
from fairlead.cli.options import VerifyOptions
from fairlead.cli.records.arguments import add_trust, read_trust
from fairlead.cli.records.reports.junit import ROOT
from fairlead.cli.records.reports.markdown import MARKER
from fairlead.cli.records.reports.sarif import SCHEMA
from fairlead.cli.records.verify import run_verify
from fairlead.cli.view.terminal import Terminal
from fairlead.session.record.shape import BadRecord

_BEGINNING = 1_000  # bytes
ABOUT = """\
Checks a record (fairlead run --save-record, or Agent: Copy Record as JSON) against
the files of a folder or of a commit. Compares each recorded file byte for byte, and
reruns each command that verified the work and passed. The commands of a record are
untrusted: they run only in the sandbox, without a network, and their changes are
discarded. Needs no AI model and no key of one.

With --commit, the files are those of the commit, in a temporary folder, and the commit
must name the record or be named by its signature. Without FILE, the record is the one
in the note of the commit (fairlead record attach).
"""
EPILOG = """\
examples:
  fairlead verify record.json
  fairlead verify record.json --workspace ~/project --no-run
  fairlead verify signed.json --key release.pub
  fairlead verify --commit HEAD --key release.pub

exit codes: 0 everything holds; 1 something does not hold or could not be checked, or
the record is refused; 2 incorrect usage, or FILE is not a record; 130 stopped with
Ctrl-C.
"""


async def run_verify_command(arguments: Sequence[str], terminal: Terminal, _: StartServer) -> int:
    """Runs the command. Returns the exit code. Raises SystemExit for `--help` and incorrect usage."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser("fairlead verify", description=ABOUT, epilog=EPILOG, formatter_class=raw)
    parser.usage = "fairlead verify [FILE] [OPTIONS]"
    parser.add_argument("record", metavar="FILE", nargs="?", help="the record: as JSON, or signed")
    about = "the commit whose files are compared, such as HEAD; it must be in the repository of --workspace"
    parser.add_argument("--commit", metavar="REV", help=about)
    add_trust(parser)
    add_workspace(parser, "check")
    parser.add_argument("--no-run", action="store_true", help="compare only the files, and run no command")
    about = f"how long a command may run (default: {VerifyOptions.timeout})"
    parser.add_argument("--timeout", metavar="SECONDS", type=positive_number, help=about)
    parser.add_argument("--junit", metavar="FILE", help="write the result as JUnit XML, as test results")
    parser.add_argument("--sarif", metavar="FILE", help="write what does not hold as SARIF, as findings in files")
    parser.add_argument("--markdown", metavar="FILE", help="write the result as Markdown, with a section for each step")
    about = (
        "post the Markdown on the pull request or merge request of this CI job (GITHUB_TOKEN, FAIRLEAD_GITLAB_TOKEN)"
    )
    parser.add_argument("--comment", action="store_true", help=about)
    add_config(parser)
    add_pass_variable(parser)
    add_allow_secret(parser)
    return await run_verify(_options(parser.parse_args(arguments), parser), terminal)


def _options(given: argparse.Namespace, parser: Parser) -> VerifyOptions:
    workspace = read_workspace(given.workspace, parser.error)
    settings, problems = read_settings(with_options(read_config_option(given, parser.error), {}))
    if given.record is None and given.commit is None:
        parser.error("the following arguments are required: FILE or --commit")
    return VerifyOptions(
        path_of(given.record) if given.record is not None else None,
        workspace,
        given.commit,
        read_trust(given, parser.error),
        not given.no_run,
        given.timeout or settings.bash.timeout_seconds,
        given.pass_variable or settings.bash.pass_variables,
        given.allow_secret or settings.secrets.allow,
        problems,
        output_file(given.junit, "JUnit report", _is_junit, parser.error),
        output_file(given.sarif, "SARIF report", _is_sarif, parser.error),
        output_file(given.markdown, "Markdown report", _is_markdown, parser.error),
        given.comment,
    )


def _is_junit(path: Path) -> None:
    _check_beginning(path, ROOT)


def _is_sarif(path: Path) -> None:
    _check_beginning(path, SCHEMA.encode())


def _is_markdown(path: Path) -> None:
    _check_beginning(path, MARKER.encode())


def _check_beginning(path: Path, part: bytes) -> None:
    """Raises BadRecord unless a file is an older report, which has this part near its beginning."""
    with open(path, "rb") as file:
        if part not in file.read(_BEGINNING):
            raise BadRecord("It is another file.")
