"""`bash`: runs a command, in the sandbox if there is one, unless the call asks to leave it.

Asks the user first if the policy requires it.
"""

import errno
import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import escape_invisible, escape_to_one_line, shorten
from fairlead.errors import ToolError, VerbatimToolError
from fairlead.gate.request import RunCommand
from fairlead.sentences import Sentence
from fairlead.shell.background import BackgroundCommand
from fairlead.shell.command_line.verifications import NO_VERIFICATIONS, find_verifications
from fairlead.shell.layer import HIDDEN_TEXT, PLAIN, NotRun
from fairlead.shell.network import BadService, Network, Service
from fairlead.shell.process import Command
from fairlead.tools.check_run import find_check
from fairlead.tools.commands import Commands, Job, repeat_clean
from fairlead.tools.lost_state import lost_state_hint
from fairlead.tools.unreachable import unreachable_hint
from fairlead.tools.watch_mode import watch_mode_hint
from fairlead.workspace.files import Files

MAX_SECONDS = 3600
SANDBOXED = (
    "Run a shell command in a sandbox, on the files as you propose them. Its changes to files are proposed too. There "
    "is no input, no network unless you request it, and a time limit unless it runs in the background."
)
IN_WORKSPACE = (
    "Run a shell command in the workspace. The user is asked first, unless their settings allow the command. There is "
    "no input, and a time limit unless it runs in the background. It runs on the files on disk and does not see "
    "proposed edits."
)
PROPERTIES: dict[str, Any] = {
    "command": {"type": "string"},
    "timeout_seconds": {"type": "integer", "minimum": 1, "description": f"{MAX_SECONDS} at most"},
    "background": {"type": "boolean", "description": "For servers and watchers: keeps running, see bash_output"},
}
SANDBOX_PROPERTIES: dict[str, Any] = {
    "network": {"type": "boolean", "description": "With the internet; the user is asked"},
    "services": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Servers of this machine or the local network, as host:port; the user is asked",
    },
    "unsandboxed": {"type": "boolean", "description": "On the files on disk, without proposals; the user is asked"},
}
BRIEF = ("command", "timeout_seconds", "network")
"""The properties for a model with a small window."""
NOT_VISIBLE = "Runs on the files on disk; {edits} not visible to it."
TOO_LONG = f"(The time limit is {MAX_SECONDS} s, the maximum.)"
AT_TIME_LIMIT = "(If it is a server or a watcher, start it with `background`. If it needs longer, set timeout_seconds.)"
DOUBTFUL = (
    "(It may have failed only because what it reads was being recorded. So it verifies nothing. Run it again, without "
    "the recording.)"
)
IN_BACKGROUND = "Started in the background as {handle}. Read it with bash_output, end it with bash_kill."

MAX_BYTES = 100_000  # of a command; Linux passes no argument over 128 KiB
MAX_SERVICES = 20  # the user reads all of them, and each name is looked up before the command starts
MAX_NAMED = 5
MAX_LEFT = 3  # processes that are named
MAX_COMMAND_LINE = 60  # characters that are shown of a command line
# the kernel's error when a command changes a file whose owner or group has no id in the sandbox
_TOO_LARGE = os.strerror(errno.EOVERFLOW)
FOREIGN = (
    f'("{_TOO_LARGE}": a sandboxed command cannot change a file of another owner or group, or create one in such a '
    "folder. Edit it with edit_file or write_file, or use `unsandboxed`, if the user allows it.)"
)
REFUSALS = ("Permission denied", "Read-only file system", "Device or resource busy")
# what git prints if it must read or replace a tracked file that is hidden
GIT_REFUSALS = ("Unable to process path", "unable to unlink old", "not uptodate", "would be overwritten by")


class Bash:
    """Implements `Tool`."""

    kind: ToolKind = "execute"
    read_only = False

    def __init__(self, files: Files, commands: Commands, *, is_brief: bool = False) -> None:
        self._files, self._commands = files, commands
        description, more = (IN_WORKSPACE, {}) if commands.unavailable else (SANDBOXED, SANDBOX_PROPERTIES)
        properties = {name: rule for name, rule in {**PROPERTIES, **more}.items() if not is_brief or name in BRIEF}
        schema = {"type": "object", "properties": properties, "required": ["command"]}
        self.spec = ToolSpec("bash", description, schema)

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return escape_invisible(input["command"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        command, background = input["command"], bool(input.get("background"))
        check_command(command)
        if background:
            self._commands.background.check_capacity()
        job = await self._prepare(input, call, background=background)
        notes = [
            *self._edits_not_visible(job.where),
            *([TOO_LONG] if (input.get("timeout_seconds") or 0) > MAX_SECONDS else []),
        ]
        job.begin()
        if background:
            return _lines(*notes, self._in_background(job))
        return await self._run_to_end(job, notes)

    async def _prepare(self, input: dict[str, Any], call: RunningCall, *, background: bool) -> Job:
        """Chooses the layer, asks the user if necessary, and opens the box."""
        commands, command = self._commands, input["command"]
        network, unsandboxed = _network(input), bool(input.get("unsandboxed"))
        call.progress = "Cancelled before the command was run."
        layer = commands.direct() if unsandboxed else await commands.layer()
        count = self._count_invisible_edits(layer.where)
        not_visible = Sentence(
            "It runs on the files on disk, without the proposed edits ({0}). If it should see them, accept them first.",
            count,
        )
        call.progress = "Cancelled while the user was asked; the command was not run."
        action = RunCommand(command, layer.roots.first.path, layer.where, network)
        await commands.gate.check(action, call.id, [not_visible] if count else [])
        call.progress = "Cancelled before the command was run."
        found = find_check(command) if command.strip() in commands.checks() else find_verifications(command)
        # before the view is created: a change in between must not count as verified
        verifies = bool(found.verified) and commands.verifies
        state = commands.record_state(layer.where) if verifies else None
        view = await commands.view(layer.roots) if layer.where == "sandboxed" else PLAIN
        line, limits = found.with_pipefail(command), commands.limits
        leftovers = await layer.leftovers(view) if verifies else ()
        records = verifies and commands.records(command)
        box = await layer.open(line, view, limits=limits, network=network, background=background, records=records)
        given = input.get("timeout_seconds")
        timeout = min(given, MAX_SECONDS) if given else None if background else commands.timeout
        running = Command(box.launch, timeout, call.output)
        handle = commands.background.next_handle() if background else None
        return Job(
            commands,
            call,
            command,
            layer,
            network,
            box,
            running,
            view,
            handle,
            found if commands.verifies else NO_VERIFICATIONS,
            state,
            None,
            leftovers,
            partial(repeat_clean, layer, line, view, limits, timeout, network=network, records=records)
            if leftovers
            else None,
        )

    async def _run_to_end(self, job: Job, notes: list[str]) -> str:
        running, call = job.running, job.call
        discarded = " Any changes to files were discarded." if job.where == "sandboxed" else ""

        def stopped() -> str:
            cancelled = f"Cancelled: killed after {running.seconds:.1f} s.{discarded} Output so far:"
            return _lines(*notes, cancelled, running.output)

        call.progress = stopped
        result = await job.run()
        # a command may ask a server, or anything else that changes
        call.repeat = "allowed" if self._commands.background.running else "until_unchanged"
        call.progress = _lines(*notes, "Cancelled after the command had ended. Its output:", result.output)
        try:
            changed, is_doubtful, _ = await job.end(result.ended, result.exit_code)
        except NotRun as error:
            raise ToolError(_lines(*notes, str(error), result.output)) from error
        is_boxed_failure = job.where == "sandboxed" and result.exit_code != 0
        hints = self._failure_hints(job, result.output) if is_boxed_failure else []
        if result.ended == "timeout":
            limit = f"Killed at the time limit of {running.timeout:g} s. Output so far:"
            watching = watch_mode_hint(job.command, result.output)
            hints.append(f"({watching})" if watching else AT_TIME_LIMIT)
            raise VerbatimToolError(_lines(*notes, limit, result.output, changed, *hints))
        hidden = _hidden_files(job.view.hidden_files, result.exit_code, result.output)
        foreign = FOREIGN if job.where == "sandboxed" and _TOO_LARGE in result.output else ""
        lost = "" if result.exit_code else lost_state_hint(job.command)
        doubt = DOUBTFUL if is_doubtful else ""
        code = f"({result.exit_text}, {result.seconds:.1f} s)"
        left = _left_running(job.running.left_running)
        return _lines(
            *notes, result.output, changed, hidden, foreign, *hints, _inconclusive(job), left, lost, doubt, code
        )

    def _failure_hints(self, job: Job, output: str) -> list[str]:
        """What the sandbox does not have, if the output of a failed command names it."""
        variables = self._commands.missing_variables.hint(output, job.box.launch.env)
        return [unreachable_hint(output, network=job.network), f"({variables})" if variables else ""]

    def _in_background(self, job: Job) -> str:
        assert job.handle is not None

        async def on_end(command: BackgroundCommand) -> str:
            assert command.ended is not None
            try:
                changed = (await job.end(command.ended, command.exit_code)).report
                return _lines(changed, _left_running(job.running.left_running))
            except NotRun as error:
                command.ended, command.exit_code = "failed", None
                return str(error)

        self._commands.background.start(job.handle, job.command, job.running, on_end)
        return IN_BACKGROUND.format(handle=job.handle)

    def _count_invisible_edits(self, where: str) -> int:
        """The number of proposed edits that a command does not see."""
        return 0 if where == "sandboxed" else sum(max(1, len(proposal.hunks)) for proposal in self._files.changes)

    def _edits_not_visible(self, where: str) -> list[str]:
        count = self._count_invisible_edits(where)
        edits = "1 proposed edit is" if count == 1 else f"{count} proposed edits are"
        return [NOT_VISIBLE.format(edits=edits)] if count else []


def _network(input: dict[str, Any]) -> Network:
    """What a call requests to reach."""
    if len(input.get("services") or ()) > MAX_SERVICES:
        raise ToolError(f"Not run: a command can request at most {MAX_SERVICES} services. Name those that it needs.")
    try:
        return Network(bool(input.get("network")), frozenset(map(Service.parse, input.get("services") or ())))
    except BadService as error:
        raise ToolError(f"Not run: {error}") from error


def check_command(command: str) -> None:
    """Raises ToolError if no shell can run the command: it is empty, too long, or has characters that it must not."""
    if not command.strip():
        raise ToolError("The command is empty. Send it again with a command.")
    if "\0" in command:
        raise ToolError(
            "The command contains a NUL character, which no command line can contain. Write it as an escape."
        )
    try:
        size = len(command.encode())
    except UnicodeEncodeError as error:
        raise ToolError(
            "The command contains characters that are not valid Unicode (half a surrogate pair). Remove them."
        ) from error
    if size > MAX_BYTES:
        raise ToolError(f"The command has {size:,} bytes, the limit is {MAX_BYTES:,}. Write a script and run it.")


def _hidden_files(names: Collection[str], exit_code: int | None, output: str) -> str:
    """A line about hidden files if the command may have failed because of them or printed a placeholder, else empty.

    Those of the workspace come first. Others, with absolute paths, are named only if the output contains their name or
    a placeholder's text.
    """
    own = sorted(name for name in names if not PurePath(name).is_absolute())
    printed = HIDDEN_TEXT.strip() in output
    others = {*names}.difference(own)
    names = [*own, *sorted(name for name in others if printed or PurePath(name).name in output)]
    refused = any(words in output for words in REFUSALS) and any(PurePath(name).name in output for name in names)
    if not names or not (exit_code or refused or printed):
        return ""
    named = map(escape_to_one_line, names[:MAX_NAMED])
    shown = ", ".join([*named, *(["..."] if len(names) > MAX_NAMED else [])])
    one = len(names) == 1
    what = "1 file that looks like a secret is" if one else f"{len(names)} files that look like secrets are"
    them = "it" if one else "them"
    git = " Git can neither read nor replace them." if any(words in output for words in GIT_REFUSALS) else ""
    return f"({what} hidden from commands: {shown}.{git} `unsandboxed` shows {them}, if the user allows that.)"


def _inconclusive(job: Job) -> str:
    """A sentence about the verifications whose result the exit code does not show; empty if there are none."""
    names = ", ".join(f"`{name}`" for name in job.verifications.inconclusive)
    return names and (
        f"(The exit code does not show whether {names} passed, so this run does not verify that. Run each on its own.)"
    )


def _lines(*parts: str) -> str:
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())


def _left_running(command_lines: Sequence[str]) -> str:
    """A sentence about the processes that were ended because the command had exited; empty if there are none."""
    names = list(dict.fromkeys(shorten(line, MAX_COMMAND_LINE) for line in command_lines))
    shown = ", ".join([*(f"`{name}`" for name in names[:MAX_LEFT]), *(["..."] if len(names) > MAX_LEFT else [])])
    return shown and (
        f"(Still running when the command exited, and so ended: {shown}. To keep a server running, start it with "
        "`background` and without `&`.)"
    )
