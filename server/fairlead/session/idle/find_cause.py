"""Finds the change that broke a verification, with few runs (docs/plan.md P26)."""

from fairlead.agent.tool import RunningCall
from fairlead.edits.breaking_change import find_breaking_change
from fairlead.errors import ToolError
from fairlead.gate.request import RunCommand
from fairlead.session.evidence.change_log import Cause, view_after
from fairlead.session.evidence.session_evidence import Broken
from fairlead.session.session import Session
from fairlead.tools.check_queue import Stopped
from fairlead.tools.check_run import CheckRun, run_check
from fairlead.workspace.errors import WorkspaceError


async def find_cause(session: Session, command: str, broken: Broken) -> Cause | None:
    """What broke a command; None if a request of the session came first. The runs are evidence for no step.

    The maker is unknown if not all changes are known, if the command fails without any of them, or if it cannot run.
    """
    unknown, changes = Cause("unknown", broken.changed), broken.changes
    if not changes:
        return unknown
    texts = {change.path: _user_text(session, change.path) for change in changes}

    async def work(handle: str) -> int | None:
        await session.commands.ready()
        commands = session.commands.tools()
        layer = await commands.layer()
        action = RunCommand(command, layer.roots.first.path, layer.where)
        if layer.where != "sandboxed" or not commands.gate.runs_without_asking(action):
            return None

        async def passes(count: int) -> bool:
            seen = view_after(session.files.changes, changes, count, texts)
            check = CheckRun(command, "sandboxed", broken.state, handle, seen, is_of_user=True, retained=False)
            return (await run_check(commands, check, RunningCall(handle, None, _ignore))).passed

        return await find_breaking_change(len(changes), passes)

    try:
        index = await session.user_checks.queue.run(work, is_background=True)
    except Stopped:
        return None
    except ToolError:
        return unknown
    if index is None:
        return unknown
    change = changes[index]
    return Cause(change.maker, (change.path,), change.step, change.lines)


def _user_text(session: Session, path: str) -> str | None:
    try:
        return session.files.user_files.text(session.roots.resolve(path))
    except WorkspaceError:
        return None


def _ignore(_: object) -> None:
    """Drops the events of the runs."""
