"""`fairlead verify`: compares a record with the files of a workspace, and runs the record's checks (docs/record.md)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.text import Text

from fairlead.app.settings import ignored_values
from fairlead.app.state_folder import state_folder
from fairlead.cli.options import VerifyOptions
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.display import escape_to_one_line
from fairlead.session.record.verify import Finding, compare_files, run_check
from fairlead.shell.sandbox.probe import probe

HOLDS, DOES_NOT_HOLD = 0, 1


async def run_verify(options: VerifyOptions, terminal: Terminal) -> int:
    """Verifies a record. Returns the exit code.

    0: everything that was checked holds. 1: something does not hold or could not be checked, or there was nothing to
    check. Checks that did not pass in the session, and all checks with `--no-run`, do not count.
    """
    return await _Verification(options, terminal).execute()


class _Verification:
    """Verifies one record and reports line by line."""

    def __init__(self, options: VerifyOptions, terminal: Terminal) -> None:
        self._options, self._terminal, self._marks = options, terminal, terminal.marks
        self._roots = options.workspace
        self._held = self._failed = 0

    async def execute(self) -> int:
        record = self._options.record
        title = escape_to_one_line(record.title)
        if self._options.problems:
            self._terminal.print(escape_to_one_line(ignored_values(self._options.problems)), "yellow")
        self._terminal.print(f"Record of “{title}”, created by Fairlead {escape_to_one_line(record.fairlead)}", "bold")
        if record.files:
            self._terminal.print("\nFiles")
        for finding in compare_files(record, self._roots):
            self._report(finding)
        await self._run_checks()
        if self._failed:
            count = f"{self._failed} of {self._failed + self._held}"
            self._terminal.print(f"\n{self._marks.failed} The record does not hold: {count} failed.", "bold red")
            return DOES_NOT_HOLD
        if not self._held:
            self._terminal.print(
                f"\n{self._marks.failed} The record has no file and no check that could be verified.", "bold red"
            )
            return DOES_NOT_HOLD
        self._terminal.print(f"\n{self._marks.done} The record holds.", "bold green")
        return HOLDS

    async def _run_checks(self) -> None:
        verifications = self._options.record.verifications
        if verifications:
            self._terminal.print("\nChecks")
        for verification in verifications:
            if not verification.passed:
                self._note(f"{escape_to_one_line(verification.command)}  not run: it did not pass in the session")
        commands = [verification.command for verification in verifications if verification.passed]
        if commands and not self._options.run:
            self._note("not run (--no-run)")
        elif commands:
            await self._run(commands)

    async def _run(self, commands: Sequence[str]) -> None:
        # the sessions of `fairlead run` are saved in this folder, so commands must not read it
        state = state_folder()
        sandbox = await probe(self._roots, state / "layers")
        if sandbox.layers_folder is None:
            self._failed += 1
            reason = f"the commands of a record run only in a sandbox. {sandbox.reason}"
            self._terminal.print(
                f"  {self._marks.failed} not run: {reason} Use --no-run to compare only the files.", "red"
            )
            return
        for command in commands:
            with self._running(command):
                options = self._options
                finding = await run_check(
                    *(command, self._roots, sandbox, [state], options.timeout),
                    *(options.pass_variables, options.opened_secrets),
                )
            self._report(finding)

    def _running(self, command: str) -> AbstractContextManager[object]:
        """Shows which command is running, if the terminal can draw it."""
        if not self._terminal.can_draw:
            return nullcontext()
        return self._terminal.console.status(Text(f"running {escape_to_one_line(command)}"))

    def _report(self, finding: Finding) -> None:
        self._held, self._failed = self._held + finding.holds, self._failed + (not finding.holds)
        mark, style = (self._marks.done, "green") if finding.holds else (self._marks.failed, "red")
        self._terminal.print(f"  {mark} {escape_to_one_line(finding.subject)}  {escape_hidden(finding.text)}", style)
        for row in clean(finding.output).splitlines():
            self._terminal.print(f"      {row}", "dim")

    def _note(self, text: str) -> None:
        self._terminal.print(f"  {self._marks.note} {text}", "yellow")
