"""The review of a session's proposals: what the user's decisions need and change."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fairlead.edits.undo import DecisionLog
from fairlead.gate.gate import Gate
from fairlead.session.decision_history import DecisionHistory
from fairlead.session.review.weakened import Weakened, WeakenedTests
from fairlead.session.run.feedback import Feedback
from fairlead.session.timed_editor import TimedEditor
from fairlead.workspace.files import Files


class Review:
    """Owns the decisions, which take turns.

    Args:
        publish: is called after each turn.
        protected: returns the proposals that need a separate confirmation: the reason for each, by its current path.
        before_accept: runs the hooks before changes to these files are accepted. Returns the version of the proposals
            that they saw; None: there are no hooks. Raises RequestRefused to prevent the accept.
        after_accept: starts the hooks after changes to these files were accepted.
    """

    def __init__(
        self,
        files: Files,
        feedback: Feedback,
        editor: TimedEditor,
        gate: Gate,
        publish: Callable[[], None],
        protected: Callable[[], Mapping[str, str]],
        before_accept: Callable[[Collection[Path]], Awaitable[int | None]],
        after_accept: Callable[[Collection[str]], Awaitable[None]],
    ) -> None:
        self.files = files
        self.feedback = feedback
        self.editor = editor
        self.gate = gate
        self.publish = publish
        self.protected = protected
        self._weakened_tests = WeakenedTests()
        self.before_accept, self.after_accept = before_accept, after_accept
        self.history = DecisionHistory()
        self.lock = asyncio.Lock()
        """Held while a decision, an undo or a rewind changes the proposals."""

    @property
    def decisions(self) -> DecisionLog:
        """The decisions that can be undone and redone."""
        return self.history.decisions

    def weakened(self) -> Weakened:
        """The changes that weaken tests, and why."""
        return self._weakened_tests.of(self.files.roots, self.files.changes, self.decisions)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Holds the lock while the block lasts, and publishes at its end, even if the block raises."""
        async with self.lock:
            try:
                yield
            finally:
                self.publish()
