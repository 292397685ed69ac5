"""The hooks of what happens in a session outside of the model's calls: prompts, steps and accepts."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlead.agent.events import CheckFinished, FeedbackSent
from fairlead.agent.outcome import Ending
from fairlead.display import end_sentence
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Note
from fairlead.plan import PlanItem
from fairlead.sentences import Sentence
from fairlead.session.commands import SessionCommands
from fairlead.session.errors import RequestRefused
from fairlead.session.hooks.interceptor import ending_of
from fairlead.session.hooks.texts import said
from fairlead.session.hooks.workspace import HooksWorkspace
from fairlead.tools.checks import Checked
from fairlead.user_hooks.events import Event as HookEvent
from fairlead.user_hooks.hooks import Happening, UserHooks
from fairlead.user_hooks.verdict import Verdict
from fairlead.workspace.files import Files

CLOSE_SECONDS = 3
"""How long hooks that nothing waits for may continue at the end of the session."""


@dataclass(frozen=True, slots=True)
class BeforePrompt:
    """What hooks say before the model reads a prompt."""

    notes: Sequence[Note] = ()
    """What the model reads with it."""
    ending: Ending | None = None
    """Why the run must end and the model must not read the prompt; None: it may."""


class SessionHooks:
    """Runs the hooks of these events.

    Args:
        hooks: those of the session.
        workspace: theirs.
        version: returns the version of the proposals (`Files.version`).
        warn_once: tells the user something, unless they have read it before.
    """

    def __init__(
        self,
        hooks: UserHooks,
        workspace: HooksWorkspace,
        version: Callable[[], int],
        warn_once: Callable[[str], None],
    ) -> None:
        self.hooks, self._workspace, self._version = hooks, workspace, version
        self._emit, self._warn_once = workspace.emit, warn_once
        self._has_started = False
        self._amended: tuple[int | None, Collection[str]] = None, ()
        """The version of the proposals that hooks have changed before an accept, and the files that they have seen.

        The next accept of these files goes through.
        """
        self._background = set[asyncio.Task[Any]]()

    def in_fork(self, fork: Files, commands: SessionCommands, run_id: str) -> UserHooks:
        """The hooks of a subagent, which see its fork of the files. The arguments are those of the workspace's."""
        return self.hooks.in_fork(self._workspace.in_fork(fork, commands, run_id))

    async def before_prompt(self, prompt: str | None, *, is_resumed: bool) -> BeforePrompt:
        """Runs the hooks of the session's start, before its first run in this process, and those of a prompt.

        Args:
            prompt: None: the run continues an earlier one.
            is_resumed: whether the conversation has messages already.
        """
        for problem in self.hooks.unreadable:
            self._warn_once(f"The hooks in a file are left out. {end_sentence(str(problem))}")
        verdicts: list[tuple[HookEvent, Verdict]] = []
        if not self._has_started:
            self._has_started = True
            source = "resume" if is_resumed else "startup"
            verdicts.append(("SessionStart", await self._run("SessionStart", source=source)))
        if prompt is not None:
            verdicts.append(("UserPromptSubmit", await self._run("UserPromptSubmit", prompt=prompt)))
        for _, verdict in verdicts:
            if verdict.blocks:
                return BeforePrompt(ending=Ending("hook", Sentence("A hook blocked your prompt: {0}", verdict.reason)))
            if verdict.ends_run:
                return BeforePrompt(ending=ending_of(verdict))
        texts = [clean_text(said(event, verdict.context)) for event, verdict in verdicts if verdict.context]
        for text in texts:
            self._emit(FeedbackSent("hook", text))
        return BeforePrompt([Note("hook", text) for text in texts])

    async def step_checked(self, item: PlanItem, results: Sequence[Checked]) -> Checked | None:
        """Runs the hooks of an item whose checks have ended, and of its completion if they passed.

        Returns a result that keeps the item open if a hook does not accept it.
        """
        passed = all(each.passed for each in results)
        about = {"task_id": item.id, "task_subject": item.content}
        if results:
            text = "\n\n".join(each.text for each in results)
            await self._run("StepChecked", outcome="passed" if passed else "failed", result=text, **about)
        verdict = await self._run("TaskCompleted", **about) if passed else None
        if verdict is None or not verdict.blocks:
            return None
        text = f"A hook of the user does not accept #{item.id} as completed.\n{said('TaskCompleted', verdict.reason)}"
        return Checked(False, text, f"is not accepted by a hook: {verdict.reason}")

    def check_finished(self, event: CheckFinished) -> None:
        """Starts the hooks of a check that the user asked for."""
        if event.passed is not None and self.hooks.has("StepChecked"):
            outcome = "passed" if event.passed else "failed"
            about = {"task_id": event.item_id or "", "task_subject": "", "result": event.message}
            happening = Happening("StepChecked", {"outcome": outcome, **about})
            self._in_background(self._start(happening))

    async def before_accept(self, paths: Collection[Path]) -> int | None:
        """Runs the hooks before the user's accept of changes to these files.

        Returns the version of the proposals that they saw; None if there are no hooks, or if they saw it before.

        Raises:
            RequestRefused: a hook refused it, or changed the proposals, so that the user must look at them again.
        """
        files, (amended, seen), version = sorted(map(str, paths)), self._amended, self._version()
        if (amended == version and set(files) <= set(seen)) or not self.hooks.has("BeforeAccept"):
            return None
        result = await self.hooks.run(Happening("BeforeAccept", {"files": files}))
        if result.verdict.blocks:
            raise RequestRefused(f"A hook refused this: {result.verdict.reason}")
        if result.changed:
            self._amended = self._version(), (*files, *result.changed)
            names = ", ".join(dict.fromkeys(Path(path).name for path in result.changed))
            raise RequestRefused(f"A hook changed what is proposed ({names}). Review it, then accept again.")
        return version

    async def after_accept(self, paths: Collection[str]) -> None:
        """Starts the hooks after changes to these files were accepted, when the user has answered about new ones."""
        if paths:
            await self._start(Happening("AfterAccept", {"files": sorted(paths)}))

    async def aclose(self) -> None:
        """Ends the hooks that still run. Those of an accept get a moment, because a terminal ends right after it."""
        if self._background:
            await asyncio.wait(self._background, timeout=CLOSE_SECONDS)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def _run(self, event: HookEvent, **fields: Any) -> Verdict:
        return (await self.hooks.run(Happening(event, fields))).verdict

    async def _start(self, happening: Happening) -> None:
        """Starts hooks when it is known which may run."""
        allowed = await self.hooks.allowed(happening)
        if allowed:
            self._in_background(self.hooks.run_allowed(happening, allowed))

    def _in_background(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
