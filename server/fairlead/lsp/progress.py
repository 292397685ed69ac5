"""Shows runs as work-done progress (LSP 3.18, `window/workDoneProgress`), with the current item and a cancel button."""

import asyncio
import itertools
from typing import Any

from lsprotocol import types

from fairlead.agent.events import RunFinished, RunStarted
from fairlead.lsp.rpc import AgentProtocol
from fairlead.plan import PlanningState
from fairlead.session.events import PlanChanged, SessionEvent
from fairlead.wire import protocol as wire


class Progress:
    """The progress tokens of the runs. A token that the server made is used only after the client has accepted it."""

    def __init__(self, protocol: AgentProtocol) -> None:
        self._protocol = protocol
        self._numbers = itertools.count(1)
        self._tokens: dict[str, int | str] = {}
        self._titles: dict[str, str] = {}
        """The titles of the runs that have started and not ended, by session id."""
        self._runs: dict[str, str | None] = {}
        """The ids of these runs, by session id. A run beside them has no progress of its own."""
        self._plans: dict[str, PlanningState] = {}
        self._creating: set[asyncio.Task[None]] = set()

    def token(self, session_id: str) -> int | str | None:
        """The token under which a session's run reports; None if there is none."""
        return self._tokens.get(session_id)

    def session_of(self, token: int | str) -> str | None:
        """The id of the session whose run reports under a token; None if there is none."""
        return next((session_id for session_id, known in self._tokens.items() if known == token), None)

    def begin_run(self, session_id: str, token: int | str | None, can_create: bool) -> None:
        """Chooses the token for a session's next run: the client's, else a new one that the client must accept first.

        Without a token, the run is not reported.

        Args:
            token: the client's token, None if it sent none.
            can_create: whether the client supports tokens that the server creates.
        """
        self._tokens.pop(session_id, None)
        if token is not None:
            self._tokens[session_id] = token
        elif can_create:
            task = asyncio.ensure_future(self._create(session_id))
            self._creating.add(task)
            task.add_done_callback(self._creating.discard)

    def on_event(self, session_id: str, event: SessionEvent) -> None:
        """Reports the start, the current item and the end of a run."""
        match event:
            case RunStarted(model, _, recording) if session_id not in self._runs:
                self._runs[session_id] = event.run_id
                self._titles[session_id] = f"Fairlead: {model}" if recording else "Fairlead"
                self._begin(session_id)
            case PlanChanged(_, state):
                self._plans[session_id] = state
                if session_id in self._titles:
                    self._send(session_id, {"kind": "report", "message": self._message(session_id)})
            case RunFinished(stop_reason, run_id=run_id) if self._runs.get(session_id) == run_id:
                del self._runs[session_id]
                self._titles.pop(session_id, None)
                self._send(session_id, {"kind": "end", "message": stop_reason})
                self._tokens.pop(session_id, None)
            case _:
                pass

    async def _create(self, session_id: str) -> None:
        token = f"fairlead-{session_id}-{next(self._numbers)}"
        try:
            await self._protocol.request(types.WINDOW_WORK_DONE_PROGRESS_CREATE, {"token": token})
        except wire.RequestError:
            return
        if session_id in self._tokens:
            return
        self._tokens[session_id] = token
        if session_id in self._titles:  # else the run has not started, or has ended
            self._begin(session_id)

    def _begin(self, session_id: str) -> None:
        begin = {"kind": "begin", "title": self._titles[session_id], "cancellable": True}
        self._send(session_id, begin | {"message": self._message(session_id)})

    def _message(self, session_id: str) -> str:
        state = self._plans.get(session_id)
        if state is None or not state.items:
            return "Working"
        current = state.current
        activity = (current.active_form or current.content) if current else "Working"
        return f"{activity} ({state.completed}/{len(state.items)})"

    def _send(self, session_id: str, value: dict[str, Any]) -> None:
        token = self._tokens.get(session_id)
        if token is not None:
            self._protocol.send_notification(types.PROGRESS, {"token": token, "value": value})
