"""The parts of a session that its hooks may use."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from fairlead.agent.events import Event
from fairlead.agent.tool import RunningCall
from fairlead.gate.gate import Gate
from fairlead.plan import TodoManager
from fairlead.session.commands import SessionCommands
from fairlead.session.server_context import ServerContext
from fairlead.shell.layer import BoxSettings, Changes, Layer, Limits, View
from fairlead.user_hooks.workspace import Proposed
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots


class HooksWorkspace:
    """Implements `Workspace` (`user_hooks/workspace.py`).

    Args:
        run_id: returns the id of the run that goes on, or of the subagent's; None if none does.
        count_events: returns how many events the session has published so far.
        fork: begins the ids of calls, which are unique in the session, if the files are a fork.
    """

    def __init__(
        self,
        files: Files,
        plan: TodoManager,
        commands: SessionCommands,
        context: ServerContext,
        publish: Callable[[Event | None], None],
        run_id: Callable[[], str | None],
        count_events: Callable[[], int],
        fork: str = "",
    ) -> None:
        self._files, self._plan, self._commands, self._context = files, plan, commands, context
        self._publish, self._run_id, self._count_events = publish, run_id, count_events
        self._last_number, self._prefix = 0, f"{fork}hook"

    def in_fork(self, fork: Files, commands: SessionCommands, run_id: str) -> "HooksWorkspace":
        """The same for a subagent's fork of the files.

        Args:
            commands: those that see the fork.
            run_id: the subagent's.
        """
        return HooksWorkspace(
            fork, self._plan, commands, self._context, self._publish, lambda: run_id, self._count_events, f"{run_id}-"
        )

    @property
    def session_id(self) -> str:
        return self.gate.session_id

    @property
    def roots(self) -> Roots:
        return self._files.roots

    @property
    def gate(self) -> Gate:
        return self._commands.gate

    def folders(self) -> Collection[Path]:
        return self.roots.paths if self._context.trusted else ()

    def limits(self) -> Limits:
        return self._commands.tools().limits

    def box_settings(self, variables: Mapping[str, str]) -> BoxSettings:
        settings = self._commands.box_settings()
        return replace(settings, variables={**settings.variables, **variables})

    async def layer(self) -> Layer:
        await self._commands.ready()
        return await self._commands.layer()

    async def view(self, layer: Layer, is_on_disk: Callable[[Path], bool]) -> View:
        changes = self._files.changes
        for proposal in changes:
            if is_on_disk(Path(proposal.path)) or is_on_disk(Path(proposal.target)):
                changes = changes.without(proposal.path)
        return await self._commands.view(layer.roots, changes)

    async def propose(self, changes: Changes, call: RunningCall) -> Proposed:
        proposed = await self._commands.tools().propose_changes(changes, self.roots, call)
        return Proposed(proposed.report, proposed.paths)

    def publish(self) -> None:
        self._publish(None)

    def emit(self, event: Event) -> None:
        self._publish(replace(event, run_id=self._run_id()))

    def new_call_id(self) -> str:
        self._last_number = max(self._last_number, self._count_events()) + 1
        return f"{self._prefix}{self._last_number}"

    def current_item(self) -> str | None:
        current = self._plan.snapshot().current
        return current.id if current else None
