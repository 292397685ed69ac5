"""How a session's commands run: where, with which permission, what they see, and how their changes are proposed."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from fairlead.agent.tool import RunningCall
from fairlead.edits.changeset import Changeset
from fairlead.edits.origins import Author
from fairlead.gate.gate import Gate
from fairlead.session.guarded_files import guarded_view
from fairlead.session.server_context import ServerContext
from fairlead.shell.background import BackgroundCommands
from fairlead.shell.command_line.policy import Policy
from fairlead.shell.command_line.rules import Rule
from fairlead.shell.direct import DirectLayer
from fairlead.shell.layer import BoxSettings, Changes, Layer, Limits, ShownFolder, View, Where
from fairlead.shell.network import Service
from fairlead.tools.command_changes import ProposedChanges, propose_changes, proposed_entries
from fairlead.tools.commands import Commands, FindInputs
from fairlead.tools.folders import empty_folders, names_of
from fairlead.tools.missing_variables import MissingVariables
from fairlead.workspace.emptied_folders import emptied_folders
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots, real_path


class SessionCommands:
    """The commands of one session.

    They share a layer with the session's language servers. It is created when it is first needed, and replaced when the
    workspace's folders change.
    """

    def __init__(
        self,
        files: Files,
        record_state: Callable[[Where], int],
        find_inputs: FindInputs,
        check_commands: Callable[[], Collection[str]],
        context: ServerContext,
        note_proposed: Callable[[], None],
        gate: Gate,
        shown_folders: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        """
        Args:
            record_state: as in `Commands`; the same for `find_inputs`.
            check_commands: returns `Commands.checks`.
            note_proposed: called when a command or a process may have changed the proposals.
            shown_folders: returns the folders outside of the workspace that commands may read.
        """
        self._files, self._context, self._note_proposed, self.gate = files, context, note_proposed, gate
        self._shown_folders = shown_folders
        self.background = BackgroundCommands()
        self._missing_variables = MissingVariables()
        self._unrecorded = set[str]()
        self._record_state, self._find_inputs, self._check_commands = record_state, find_inputs, check_commands
        self._layers: dict[Roots, asyncio.Task[Layer]] = {}
        self._unavailable = ""
        self._verifies = True

    def of_fork(self, fork: Files) -> "SessionCommands":
        """Commands that see the proposals of a fork, in a layer of their own. They verify nothing about the session."""
        own = SessionCommands(
            *(fork, self._record_state, self._find_inputs, self._check_commands),
            *(self._context, _ignore, self.gate, self._shown_folders),
        )
        own._unavailable, own._verifies = self._unavailable, False
        return own

    async def ready(self) -> None:
        """Waits until it is known whether commands can run in a sandbox."""
        self._unavailable = (await self._context.layers.capability(self._files.roots)).reason

    def start_guarded_search(self) -> None:
        """Starts the search for the workspace's files that commands must not read or write.

        It runs while the model answers, so that the first command does not have to wait for it.
        """
        for root in self._files.roots.folders:
            self._context.guarded_files(root).start()

    def tools(self) -> Commands:
        """What tools and checks need to run commands, with the limits in the current settings. Call `ready` first."""
        bash = self._context.settings.bash
        return Commands(
            layer=self.layer,
            direct=lambda: DirectLayer(self._files.roots),
            view=self.view,
            propose_changes=self._propose,
            record_state=self._record_state,
            find_inputs=self._find_inputs,
            gate=self.gate,
            timeout=bash.timeout_seconds,
            limits=Limits.from_settings(bash.processes, bash.memory_mb),
            background=self.background,
            unavailable=self._unavailable,
            checks=self._check_commands,
            verifies=self._verifies,
            missing_variables=self._missing_variables,
            unrecorded=self._unrecorded,
        )

    def stop(self) -> None:
        """Tells the background commands to end, without waiting for them."""
        self.background.stop()

    async def aclose(self) -> None:
        """Ends the background commands, then removes the layers."""
        await self.background.aclose()
        for layer in await asyncio.gather(*self._layers.values(), return_exceptions=True):
            if not isinstance(layer, BaseException):  # a command has reported why such a layer could not be made
                await layer.aclose()

    async def layer(self) -> Layer:
        """The session's layer for the folders that are open now. Raises ToolError if it cannot be made.

        Layers for earlier folders stay until the session is closed, because background commands may run there.
        """
        roots = self._files.roots
        opening = self._layers.get(roots)
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._layers[roots] = asyncio.create_task(self._context.layers.open(roots, self.box_settings))
        return await asyncio.shield(opening)

    def box_settings(self) -> BoxSettings:
        """What the user's settings let every command in the sandbox use."""
        bash = self._context.settings.bash
        folders = [ShownFolder(real_path(path)) for path in self._shown_folders()]
        return BoxSettings(bash.pass_variables, [*map(Service.parse, bash.services)], folders=folders)

    async def view(self, roots: Roots, changes: Changeset | None = None) -> View:
        """What a command sees. Create it right before the command runs: files may change while the user is asked.

        Args:
            roots: the folders of the command's layer.
            changes: the proposals that the command sees; None: all.

        Raises:
            WorkspaceError: the search for guarded files failed.
        """
        guarded = await guarded_view(roots, self._context.guarded_files)
        return replace(
            guarded,
            proposed={**proposed_entries(self._files, changes, roots), **guarded.proposed},
            empty_folders=empty_folders(self._files, changes, roots),
            removed_folders=names_of(emptied_folders(self._files, changes), roots),
        )

    async def _propose(self, changes: Changes, roots: Roots, call: RunningCall) -> ProposedChanges:
        proposed = await self._propose_by(changes, roots, call.author)
        call.changed_paths = proposed.paths
        return proposed

    async def propose(self, changes: Changes, author: Author) -> ProposedChanges:
        """Proposes what a process in the session's layer has changed."""
        return await self._propose_by(changes, (await self.layer()).roots, author)

    async def _propose_by(self, changes: Changes, roots: Roots, author: Author) -> ProposedChanges:
        proposed = await propose_changes(self._files, changes, roots, author)
        self._note_proposed()
        return proposed

    def policy(self) -> Policy:
        """What the current settings say about commands."""
        settings, services = self._context.settings, self.box_settings().services
        rules = _rules(settings.bash.allow), _rules(settings.bash.deny)
        return Policy(settings.approvals, *rules, services, self._unavailable)


def _ignore() -> None:
    """A fork's proposals are published when they are merged."""


@lru_cache(maxsize=4)
def _rules(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(map(Rule.parse, texts))
