"""Runs the checks of the plan items that the model completes (docs/plan.md P17)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from fairlead.agent.tool import RunningCall
from fairlead.errors import ToolError
from fairlead.plan import PlanItem
from fairlead.shell.network import NO_NETWORK
from fairlead.tools.baseline import baseline_of, others_than_tests, reads_any
from fairlead.tools.check_queue import CheckQueue, Stopped
from fairlead.tools.check_run import WITHOUT_RETAINED, CheckEnd, CheckRun, allow_check, run_check
from fairlead.tools.commands import Commands
from fairlead.tools.unreachable import unreachable_hint
from fairlead.tools.watch_mode import watch_mode_hint
from fairlead.workspace.files import Files

HOLDS = "The check of #{id} holds: `{command}` passed, and nothing it depends on has changed since."


@dataclass(frozen=True)
class Checked:
    """The result of a check."""

    passed: bool
    text: str
    """What the model reads: a line, and after a failure the end of the output."""
    problem: str = ""
    """What is wrong with the check, such as `failed`; empty if it passed or was stopped."""


async def no_more(item: PlanItem, results: Sequence[Checked]) -> Checked | None:
    """There is no other result."""
    return None


class Checks:
    """Runs the checks of plan items during one run of the agent."""

    def __init__(
        self,
        files: Files,
        commands: Commands,
        queue: CheckQueue,
        general: Callable[[PlanItem], Sequence[str]],
        still_passes: Callable[[str], Awaitable[bool]],
        without_seconds: float,
        after: Callable[[PlanItem, Sequence[Checked]], Awaitable[Checked | None]] = no_more,
        note: Callable[[PlanItem], str] = lambda _: "",
    ) -> None:
        """
        Args:
            general: returns the commands that check an item in addition to its own check.
            still_passes: returns whether the last run of a command passed, on the files as they are now.
            without_seconds: a sandboxed check that passes in less time also runs without the proposals.
            note: what the model must know about an item when it completes it, besides the results; empty: nothing.
            after: called with the results of an item. Returns one more, if there is one.
        """
        self._after, self._note = after, note
        self._files, self._commands, self._queue = files, commands, queue
        self._general, self._still_passes, self._without_seconds = general, still_passes, without_seconds
        self._tried_without: set[tuple[str, tuple[tuple[str, str | None], ...]]] = set()
        """The commands, each with the paths and texts of the proposed tests that it ran with."""

    async def run(self, item: PlanItem, call: RunningCall) -> list[Checked]:
        """Runs the checks of an item until one fails, and returns their results. The item's own check comes last.

        A check that has passed on the same files is not run again, but has a result too.
        """
        results: list[Checked] = []
        for command in dict.fromkeys([*self._general(item), *filter(None, [item.check])]):
            if await self._still_passes(command):
                results.append(
                    Checked(
                        True,
                        HOLDS.format(id=item.id, command=command),
                    )
                )
                continue
            call.progress = "Cancelled while a check ran. The plan was not changed."
            results.append(await self._run(f"The check of #{item.id}", command, replace(call, item_id=item.id)))
            if not results[-1].passed:
                break
        call.progress = "Cancelled after the checks ran. The plan was not changed."
        last = await self._after(item, results)
        note = self._note(item)
        return [*results, *([last] if last is not None else []), *([Checked(True, note)] if note else [])]

    async def run_command(self, command: str, call: RunningCall) -> Checked:
        """Runs a command as a check, which belongs to the item in progress, even if it has passed on the same files."""
        return await self._run("The check", command, call)

    async def _run(self, name: str, command: str, call: RunningCall) -> Checked:

        async def in_turn(handle: str) -> Checked:
            where = await allow_check(self._commands, command, call)
            check = CheckRun(command, where, self._commands.record_state(where), handle=handle)
            call.output(f"$ {command}\n")
            end = await run_check(self._commands, check, call)
            call.output(f"({end.summary})\n")
            took = f"`{command}` ({end.summary})"
            if not end.passed:
                hint = ""
                if check.where == "sandboxed":
                    hint = unreachable_hint(end.result.output, network=NO_NETWORK, of_check=True)
                    variables = self._commands.missing_variables.hint(end.result.output, end.variables)
                    hint += f" {variables}" if variables else ""
                if end.result.ended == "timeout" and (watching := watch_mode_hint(command, end.result.output)):
                    hint += f" {watching}"
                failed = f"{name} failed: {took}.{end.discarded}{hint} The end of its output:\n{end.tail}"
                return Checked(False, failed.rstrip(), "failed")
            return Checked(True, f"{name} passed: {took}.{end.discarded}{await self._proof(check, end, call)}")

        try:
            return await self._queue.run(in_turn)
        except Stopped:
            return Checked(False, f"{name} was stopped, so it has no result: `{command}`.")
        except ToolError as error:
            problem = f"could not run: `{command}`. {error}"
            return Checked(False, f"{name} {problem}", problem)

    async def _proof(self, check: CheckRun, end: CheckEnd, call: RunningCall) -> str:
        """Runs a check again without the proposals, if it has passed quickly and sees proposals at all.

        If tests and other files are proposed, that run sees the tests (docs/plan.md P23). Does so once for each command
        and text of the tests in a run of the agent. Returns a sentence for the model, with a leading space. It is empty
        if there was no such run, or if the run has no result.
        """
        is_quick = check.where == "sandboxed" and end.result.seconds < self._without_seconds
        changes, roots = self._files.changes, self._files.roots
        baseline = baseline_of(changes, roots)
        tried = check.command, tuple((each.target, each.proposed) for each in baseline)
        if not is_quick or not len(changes) or tried in self._tried_without:
            return ""
        self._tried_without.add(tried)
        if len(baseline) and not reads_any(end.inputs, others_than_tests(changes, roots)):
            return " It reads none of the files that you changed besides tests, so it does not test these changes."
        scope = "without the changes, with the new tests" if len(baseline) else "without the changes"
        call.output(f"$ {check.command}  ({scope})\n")
        try:
            run = replace(check, changes=baseline, is_baseline=True)
            without = await run_check(self._commands, run, call.without_output())
        except ToolError:
            return ""  # not an error, because the check itself has passed
        call.output(f"({without.summary})\n")
        if without.result.exit_code is None:
            return ""
        if without.fails_with_all:
            return f" It fails without your changes. {WITHOUT_RETAINED} So it fails with them too, and proves nothing."
        if len(baseline):
            return _of_tests(without)
        if not without.passed:
            return " It fails without your changes, so it proves them."
        return " It passes without your changes too, so it does not prove them."


def _of_tests(without: CheckEnd) -> str:
    """What the model reads about a run with only the proposed tests."""
    if without.passed:
        return " It passes with only your changes to tests, too, so they do not test the other changes."
    return " It fails with only your changes to tests, so it proves the others."
