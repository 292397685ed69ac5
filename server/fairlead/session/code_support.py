"""The language support of a session: its language servers, queries to them, and the new errors that they find."""

from collections.abc import Callable

from fairlead.code.provider import Provider, SessionLanguageServers
from fairlead.code.queries import CodeQueries
from fairlead.messages.parts import Note
from fairlead.plan import PlanningState
from fairlead.session.evidence.proposed_problems import ProposedProblems
from fairlead.workspace.files import Files


class CodeSupport:
    """The language support of one session."""

    def __init__(
        self,
        files: Files,
        servers: SessionLanguageServers,
        editor: Callable[[], Provider | None],
        check_seconds: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """
        Args:
            editor: returns the user's editor; None if it does not answer questions about code.
            check_seconds: returns the time limit of a check for new errors; 0 turns these checks off.
            warn: tells the user something that is true for the whole process.
        """
        self._servers = servers
        self.queries = CodeQueries(files, servers, editor, warn)
        self.problems = ProposedProblems(files, servers, check_seconds)

    async def update_report(self, plan: PlanningState) -> None:
        """Starts the language servers of newly proposed files, in the background.

        Then checks the proposals if a step was completed since the last call.
        """
        self.problems.warm()
        await self.problems.check_once_per_step([item.id for item in plan.items if item.status == "completed"])

    def take_report(self) -> list[Note]:
        """The new errors that the model has not read yet, as at most one note. It counts as read afterwards (L18)."""
        return self.problems.take_report()

    async def check(self) -> bool:
        """Checks the proposed texts at the end of a turn; returns whether they have errors that the model must read."""
        await self.problems.check()
        return self.problems.has_report

    async def aclose(self) -> None:
        """Stops the language servers, including those that are being started."""
        await self.problems.aclose()
        await self._servers.aclose()
