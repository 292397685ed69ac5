"""Gives the model the session's feedback before each request, and checks the proposals before its turn ends."""

from collections.abc import Awaitable, Callable, Sequence

from fairlead.agent.events import Event, FeedbackSent
from fairlead.agent.interceptors import Interceptor
from fairlead.messages.parts import Note, Prompt


class FeedbackInterceptor(Interceptor):
    """The feedback of a run (docs/plan.md L6), and the new errors of its proposals (L18)."""

    def __init__(
        self,
        take: Callable[[], Awaitable[Sequence[Prompt | Note]]],
        has_user_message: Callable[[], bool],
        has_new_errors: Callable[[], Awaitable[bool]],
        emit: Callable[[Event], None],
    ) -> None:
        """
        Args:
            take: returns what is for the model and new since the last call.
            has_user_message: returns whether a message of the user is among it.
            has_new_errors: returns whether the proposals have errors that the model must read before its turn ends.
        """
        self._take, self._emit = take, emit
        self._has_user_message, self._has_new_errors = has_user_message, has_new_errors

    async def before_request(self) -> Sequence[Prompt | Note]:
        feedback = await self._take()
        for part in feedback:
            self._emit(FeedbackSent("message" if isinstance(part, Prompt) else part.kind, part.text))
        return feedback

    async def before_end(self) -> Sequence[Prompt | Note]:
        """Nothing if the proposals with the errors were replaced meanwhile."""
        must_continue = self._has_user_message() or await self._has_new_errors()
        return await self.before_request() if must_continue else ()

    async def late_messages(self) -> Sequence[Prompt | Note]:
        """The feedback, if a message of the user is among it."""
        return await self.before_request() if self._has_user_message() else ()


class LateMessages(Interceptor):
    """Messages that the user sent while the other interceptors were asked whether the run ends, such as hooks.

    It must be the last one: nothing waits between its answer and the end of the run.
    """

    def __init__(self, feedback: FeedbackInterceptor) -> None:
        self._feedback = feedback

    async def before_end(self) -> Sequence[Prompt | Note]:
        return await self._feedback.late_messages()
