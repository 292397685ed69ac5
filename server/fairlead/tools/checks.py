"""Runs the checks of plan items: on the proposed files, in a box whose changes are discarded (docs/plan.md P17)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fairlead.agent.errors import ToolError
from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.plan import PlanItem
from fairlead.plan.evidence import Verification
from fairlead.shell.layer import View, Where
from fairlead.shell.process import Command, CommandResult
from fairlead.shell.verifications import Found, find_verifications
from fairlead.tools.approvals import Approvals
from fairlead.tools.commands import Commands, Job, open_box
from fairlead.workspace.files import Files

MAX_OUTPUT_LINES = 30
WITHOUT_CHANGES_SECONDS = 30.0  # a check that takes longer does not run without the changes automatically


@dataclass(frozen=True)
class Checked:
    """The result of a check."""

    passed: bool
    text: str
    """A line for the model, after a failure with the end of the output."""


class Checks:
    """The checks of a session."""

    def __init__(
        self,
        files: Files,
        commands: Commands,
        approvals: Approvals,
        general: Callable[[PlanItem], Sequence[str]],
        holds: Callable[[str], bool],
    ) -> None:
        """
        Args:
            general: returns the checks that an item has in addition to its own.
            holds: returns whether this command passed on the files as they are now.
        """
        self._files, self._commands, self._approvals = files, commands, approvals
        self._general, self._holds = general, holds
        self._tried_without: set[str] = set()

    async def run(self, item: PlanItem, call: RunningCall) -> list[Checked]:
        """Runs the checks of an item until one fails. One that passed on the same files does not run again."""
        results: list[Checked] = []
        for command in dict.fromkeys([*self._general(item), *filter(None, [item.check])]):
            found = _found(command)
            if self._holds(command):
                results.append(Checked(True, f"The check of #{item.id} holds: `{command}` passed on these files."))
                continue
            results.append(await self._run(item, command, found, call))
            if not results[-1].passed:
                break
        return results

    async def _run(self, item: PlanItem, command: str, found: Found, call: RunningCall) -> Checked:
        name = f"The check of #{item.id}"
        try:
            where = await self._allow(command, call)
            state = self._commands.record_state(where)
            result, discarded = await self._in_box(item, command, found, state, call)
        except ToolError as error:
            return Checked(False, f"{name} could not run: `{command}`. {error}")
        took = f"`{command}` ({_end(result)}, {result.seconds:.1f} s)"
        if result.exit_code != 0:
            tail = "\n".join(result.output.splitlines()[-MAX_OUTPUT_LINES:])
            return Checked(False, f"{name} failed: {took}.{discarded} The end of its output:\n{tail}".rstrip())
        proof = ""
        if where == "sandboxed" and result.seconds < WITHOUT_CHANGES_SECONDS and len(self._files.changes) > 0:
            proof = await self._without_changes(item, command, found, state, call)
        return Checked(True, f"{name} passed: {took}.{discarded}{proof}")

    async def _without_changes(self, item: PlanItem, command: str, found: Found, state: int, call: RunningCall) -> str:
        """Runs a check that passed without the proposals too, once in a run; returns a sentence for the model."""
        if command in self._tried_without:
            return ""
        self._tried_without.add(command)
        try:
            result, _ = await self._in_box(item, command, found, state, call, proposals=False)
        except ToolError:
            return ""  # the check itself has passed
        if result.exit_code is None:
            return ""
        if result.exit_code != 0:
            return " It fails without your changes, so it proves them."
        return " It passes without your changes too, so it does not prove them."

    async def _in_box(
        self, item: PlanItem, command: str, found: Found, state: int, call: RunningCall, *, proposals: bool = True
    ) -> tuple[CommandResult, str]:
        """Runs a command; returns its result, and a sentence if its changes were discarded."""
        commands = self._commands
        layer = await commands.layer()
        view = await commands.view(None if proposals else Changeset()) if layer.where == "sandboxed" else View()
        box = await open_box(layer, found.line(command), view, limits=commands.limits)
        call.output(f"$ {command}\n" if proposals else f"$ {command}  (without the changes)\n")
        running = Command(box.launch, commands.timeout, call.output if proposals else lambda _: None)
        job = Job(commands, replace(call, item_id=item.id), command, layer.where, False, box, running)
        job = replace(job, verifications=found, state=state) if proposals else replace(job, without_changes=state)
        call.progress = "Cancelled while a check ran. The plan was not changed."
        job.begin()
        try:
            result = await running.run()
        except (asyncio.CancelledError, ToolError):
            await job.end("stopped", None, keep=False)
            raise
        closed = await job.end(result.ended, result.exit_code, keep=False)
        call.output(f"({_end(result)}, {result.seconds:.1f} s)\n")
        return result, f" {closed}" if closed else ""

    async def _allow(self, command: str, call: RunningCall) -> Where:
        """Asks the user if a command of this kind needs that; returns where it runs.

        Raises:
            ToolError: it is not allowed.
        """
        commands, layer = self._commands, await self._commands.layer()
        permission = commands.check_permission(command, where=layer.where, network=False, unsandboxed=False)
        if permission.action == "deny":
            raise ToolError("The user's settings do not allow this command.")
        if permission.action == "ask":
            reasons = ["It is the check of a step.", *permission.reasons, *filter(None, [commands.unavailable])]
            await self._approvals.ask(call.id, command, self._files.root.path, reasons, layer.where, network=False)
        return layer.where


def _found(command: str) -> Found:
    """What a check verifies. Its exit code always counts, even if the program is unknown."""
    found = find_verifications(command)
    if found.verified and not found.hidden:
        return found
    return replace(found, verified=(Verification("check", targets=(command,)),), hidden=())


def _end(result: CommandResult) -> str:
    return f"exit code {result.exit_code}" if result.ended == "exited" else "killed at the time limit"
