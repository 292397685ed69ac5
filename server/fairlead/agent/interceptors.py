"""Interceptors: what acts at the boundaries of a run beside the loop's own work (`loop.py`).

A run calls its interceptors in order. What one must remember, such as a count, it keeps itself. No two runs share one.
"""

from collections.abc import Sequence

from fairlead.agent.outcome import Ending
from fairlead.agent.tool import RunningCall, Tool
from fairlead.errors import ToolError
from fairlead.messages.parts import Call, Note, Prompt, Result
from fairlead.sentences import Sentence


class Refusal(ToolError):
    """Why a call is not run, as text for the model."""

    def __init__(self, text: str, shown: Sentence | None = None, *, ends_answer: bool = False) -> None:
        """
        Args:
            shown: as for `ToolError`.
            ends_answer: whether the later calls of the answer are not run either.
        """
        super().__init__(text, shown)
        self.ends_answer = ends_answer


class RunEnded(Exception):
    """Ends the run."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.message)
        self.ending = ending


class Interceptor:
    """Does nothing at each boundary; a subclass overrides those at which it acts.

    Each method may raise RunEnded.
    """

    async def before_request(self) -> Sequence[Prompt | Note]:
        """Called before each round. Returns what the model is to read, too, with the message that is sent next."""
        return ()

    async def before_retry(self) -> None:
        """Called before a failed request is sent again."""

    async def before_compaction(self) -> None:
        """Called before the conversation is shortened."""

    async def before_call(self, call: Call, tool: Tool | None, has_read_result: bool) -> Refusal | Call | None:
        """Called before each call, even if its tool or its input will be refused. Not called after a refusal.

        Returns why the call must not run, or the call that runs instead: the same with another input.

        Args:
            tool: None if there is no such tool.
            has_read_result: whether the model had read the result of the call before when it made this one.
        """
        return None

    async def after_call(self, call: Call, running: RunningCall, result: str) -> str:
        """Called after each call that has run to its end. Returns what the model reads after the result.

        Args:
            result: its text; empty if it failed.
        """
        return ""

    async def after_results(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        """Called when each call of an answer has its result, in the same order."""

    async def before_end(self) -> Sequence[Prompt | Note]:
        """Called when the model has ended its turn, unless an earlier one prolongs the run.

        Returns what the model must read before the run may end.
        """
        return ()
