"""The hooks of one session: finds those of an event, asks the user about them, and runs them."""

import asyncio
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fairlead.agent.events import Location, ToolFinished, ToolStarted
from fairlead.agent.tool import RunningCall
from fairlead.display import escape_invisible, escape_to_one_line, shorten
from fairlead.errors import ToolError
from fairlead.gate.gate import NotAllowed
from fairlead.gate.remembered import Remembered
from fairlead.gate.request import RunHook
from fairlead.sentences import Sentence
from fairlead.shell.layer import Where
from fairlead.user_hooks.definition import UserHook
from fairlead.user_hooks.events import EVENTS, Event
from fairlead.user_hooks.find import FoundHooks, HookFiles
from fairlead.user_hooks.matcher import matches
from fairlead.user_hooks.run_hook import Ended, project_of, run_hook
from fairlead.user_hooks.scripts import Scripts, scripts_of
from fairlead.user_hooks.verdict import NOTHING, Verdict, combined, verdict_of
from fairlead.user_hooks.workspace import Workspace
from fairlead.workspace.file_problem import FileProblem
from fairlead.workspace.paths import Roots

STAYS_ALLOWED = Sentence("If you allow it, it runs each time, until its definition or its scripts change.")
WHERE: Mapping[Where, Sentence] = {
    "sandboxed": Sentence("What it changes is proposed for review."),
    "workspace": Sentence("There is no sandbox, so it runs with your permissions."),
}
MAX_AT_ONCE = 4

HookState = Literal["allowed", "notAllowed", "own"]
"""`own`: it needs no approval. `notAllowed`: the user has not allowed it yet, or has rejected it."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened in the session."""

    event: Event
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the hooks get in addition to what they get about every event."""


@dataclass(frozen=True, slots=True)
class HooksResult:
    """What the hooks of an event did together."""

    verdict: Verdict = NOTHING
    changed: tuple[str, ...] = ()
    """The absolute paths of the files for which they proposed something."""


AllowedHook = tuple[UserHook, Scripts]
"""A hook that may run, with its scripts."""


class UserHooks:
    """The hooks of a session.

    Args:
        files: reads the definitions.
        known: what the user has allowed.
        home: the user's home.
    """

    def __init__(self, workspace: Workspace, files: HookFiles, known: Remembered, home: Path) -> None:
        self._workspace, self._files, self._known, self._home = workspace, files, known, home
        self._asking, self._proposing = asyncio.Lock(), asyncio.Lock()
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._refused = set[str]()
        """The digests of the hooks that the user has rejected in this session."""
        self._told = set[tuple[UserHook, str]]()
        """The warnings that the user has read."""

    def in_fork(self, workspace: Workspace) -> "UserHooks":
        """The same hooks with the same permissions, for a subagent's fork of the files."""
        fork = copy.copy(self)
        fork._workspace, fork._proposing = workspace, asyncio.Lock()
        fork._told = set[tuple[UserHook, str]]()  # its warnings are in its own conversation
        return fork

    def has(self, event: Event) -> bool:
        """Whether there is a hook of this event."""
        return any(hook.event == event for hook in self._find().hooks)

    @property
    def unreadable(self) -> Sequence[FileProblem]:
        """Why files of hooks are left out."""
        return [problem for problem in self._find().problems if problem.is_left_out]

    async def run(self, happening: Happening) -> HooksResult:
        """Runs the hooks of an event at the same time, as far as the user allows them, and proposes what they change.

        Raises nothing: a hook that fails is reported to the user.
        """
        return await self.run_allowed(happening, await self.allowed(happening))

    async def allowed(self, happening: Happening) -> Sequence[AllowedHook]:
        """The hooks of an event that the user allows. Asks about those that they have not allowed yet."""
        matched = str(happening.fields.get(EVENTS[happening.event].matched, ""))
        hooks = [
            hook
            for hook in self._find().hooks
            if hook.event == happening.event and (not EVENTS[hook.event].matched or matches(hook.matcher, matched))
        ]
        if hooks:  # the user may take hours and a hook minutes, in which the process may be killed
            self._workspace.publish()
        # a command that several files define runs once
        hooks = list({(hook.command, hook.cwd, hook.variables, hook.folder): hook for hook in reversed(hooks)}.values())
        return [(hook, scripts) for hook in reversed(hooks) if (scripts := await self._allow(hook)) is not None]

    async def run_allowed(self, happening: Happening, allowed: Sequence[AllowedHook]) -> HooksResult:
        """Runs the hooks that `allowed` has returned, as `run` does."""
        results = await asyncio.gather(*(self._run(hook, scripts, happening) for hook, scripts in allowed))
        return HooksResult(
            combined([each.verdict for each in results]), tuple(path for each in results for path in each.changed)
        )

    def _find(self) -> FoundHooks:
        return self._files.find([*self._workspace.folders()], self._home)

    async def _allow(self, hook: UserHook) -> Scripts | None:
        """Asks the user unless they have allowed the hook. Returns its scripts; None if it must not run."""
        project = project_of(hook, self._workspace)
        scripts = await asyncio.to_thread(scripts_of, hook, self._workspace.roots, project, self._home)
        if not hook.needs_approval:
            return scripts
        digest = hook.digest(scripts.identity)
        async with self._asking:
            if self._known.is_allowed(digest):
                return scripts
            if digest in self._refused:
                return None
            try:
                where = (await self._workspace.layer()).where
                action = RunHook(hook.event, escape_invisible(hook.command), project / hook.cwd, where, digest)
                await self._workspace.gate.check(action, reasons=[*_about(hook), WHERE[where], STAYS_ALLOWED])
            except NotAllowed:
                self._refused.add(digest)
                self._show(hook, [Sentence("It was not run, because you have not allowed it.")])
                return None
            except ToolError as error:
                self._show(hook, [str(error)])
                return None
            self._known.allow(digest)
            return scripts

    async def _run(self, hook: UserHook, scripts: Scripts, happening: Happening) -> HooksResult:
        """Runs one hook that may run, and tells the user what it did."""
        project = project_of(hook, self._workspace)
        given = {
            "session_id": self._workspace.session_id,
            "transcript_path": "",
            "cwd": str(project),
            "hook_event_name": hook.event,
            **happening.fields,
        }
        async with self._slots:
            try:
                ended = await run_hook(hook, scripts, given, self._workspace)
            except ToolError as error:
                self._show(hook, [Sentence("It could not run. {0}", error)])
                return HooksResult()
        verdict = verdict_of(hook.event, ended.output)
        if ended.changes.files:
            return await self._propose(hook, ended, verdict)
        problems, warnings = [*_blocked(verdict), *ended.lost], [*verdict.warnings, *_discarded(ended)]
        self._show(hook, problems, warnings, verdict.message)
        return HooksResult(verdict)

    async def _propose(self, hook: UserHook, ended: Ended, verdict: Verdict) -> HooksResult:
        """Proposes what a hook changed, as a call of its own under the current step."""
        call = RunningCall(self._workspace.new_call_id(), self._workspace.current_item(), self._workspace.emit)
        locations = tuple(Location(change.path) for change in ended.changes.files if not change.not_proposed)
        self._begin(call, hook, locations)
        async with self._proposing:
            proposed = await self._workspace.propose(ended.changes, call)
        lines = [*proposed.report, *_blocked(verdict), verdict.message, *ended.lost, *verdict.warnings]
        text = "\n".join(filter(None, [*lines, *_discarded(ended)]))
        call.emit(ToolFinished(call.id, False, text, proposed.paths))
        return HooksResult(verdict, tuple(proposed.paths))

    def _show(self, hook: UserHook, problems: Sequence[str], warnings: Sequence[str] = (), message: str = "") -> None:
        """Shows the user what a hook did, if it did something.

        Args:
            problems: what it blocked, or why it did nothing.
            warnings: what is wrong with it. Each is shown once in a session.
            message: what it says to the user.
        """
        new = [warning for warning in warnings if (hook, warning) not in self._told]
        self._told.update((hook, warning) for warning in new)
        texts = [*problems, *new, *filter(None, [message])]
        if not texts:
            return
        call = RunningCall(self._workspace.new_call_id(), None, self._workspace.emit)
        self._begin(call, hook, ())
        shown = texts[0].parts if len(texts) == 1 and isinstance(texts[0], Sentence) else ()
        call.emit(ToolFinished(call.id, bool(problems or new), "\n".join(texts), shown=shown))

    def _begin(self, call: RunningCall, hook: UserHook, locations: tuple[Location, ...]) -> None:
        title = Sentence("Hook {0}: {1}", hook.event, shorten(escape_invisible(hook.command)))
        kind = "edit" if locations else "other"
        call.emit(ToolStarted(call.id, "hook", kind, title, {}, locations, shown=title.parts))


def _blocked(verdict: Verdict) -> list[str]:
    return [Sentence("It blocked this: {0}", verdict.reason)] if verdict.blocks else []


def _discarded(ended: Ended) -> list[str]:
    """What the sandbox has discarded."""
    is_repository = ended.changes.repository_changed
    return [Sentence("Its changes to the repository (.git) were discarded.")] if is_repository else []


def _about(hook: UserHook) -> Iterator[Sentence]:
    """What the user must know about a hook, besides its command."""
    if hook.folder is not None:
        name = hook.file.relative_to(hook.folder).as_posix()
        yield Sentence("The workspace's {0} defines this hook, line {1}.", name, hook.line)
    else:
        yield Sentence("Your file {0} defines this hook for another program, line {1}.", hook.file, hook.line)
    yield _when(hook)
    if hook.variables:
        variables = ", ".join(f"{name}={escape_to_one_line(value)}" for name, value in hook.variables)
        yield Sentence("It gets these environment variables: {0}.", variables)


def _when(hook: UserHook) -> Sentence:
    if hook.matcher and EVENTS[hook.event].matched:
        return Sentence("It runs at {0}, for {1}.", hook.event, hook.matcher)
    return Sentence("It runs at {0}.", hook.event)


@dataclass(frozen=True, slots=True)
class HookStatus:
    """What the user sees of a hook."""

    hook: UserHook
    state: HookState


def statuses(found: FoundHooks, known: Remembered, roots: Roots, home: Path) -> list[HookStatus]:
    """All hooks with their states. Blocks: call it in a thread."""
    result: list[HookStatus] = []
    for hook in found.hooks:
        project = hook.folder or (roots.first.path if roots.folders else home)
        digest = hook.digest(scripts_of(hook, roots, project, home).identity)
        state: HookState = "own" if not hook.needs_approval else "allowed" if known.is_allowed(digest) else "notAllowed"
        result.append(HookStatus(hook, state))
    return result
