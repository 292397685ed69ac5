"""Session events to notifications: states whole, deltas coalesced to about thirty a second, in an order to rely on."""

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.agent.events import Event, RunStarted, Text, Thinking, ToolOutput
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.workspace.paths import Root

INTERVAL = 0.033


class Publisher:
    """One session's notifications. Buffered deltas are sent before anything else is, so nothing overtakes them."""

    def __init__(
        self,
        session_id: str,
        root: Root,
        notify: Callable[[str, Any], None],
        token: Callable[[], int | str | None],
        told: int = 0,
    ) -> None:
        """`token` tells the work-done token that the client gave to the run; `told` events went out before."""
        self._session_id = session_id
        self._token = token
        self._root = root
        self._notify = notify
        self._seq = told
        self._delta: Text | Thinking | ToolOutput | None = None
        self._parts: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, event: SessionEvent) -> None:
        if isinstance(event, Text | Thinking | ToolOutput):
            return self._buffer(event)
        self.flush()
        match event:
            case PlanChanged():
                self._notify(wire.PLAN, convert.plan(self._session_id, event))
            case EditsChanged():
                self._notify(wire.EDITS, convert.edits(self._session_id, self._root, event))
            case _:
                self._send(event)
        return None

    def flush(self) -> None:
        """Sends what is buffered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        delta, text = self._delta, "".join(self._parts)
        self._delta, self._parts = None, []
        match delta:
            case Text():
                self._send(Text(text))
            case Thinking():
                self._send(Thinking(text))
            case ToolOutput(call_id):
                self._send(ToolOutput(call_id, text))
            case None:
                pass

    def _buffer(self, delta: Text | Thinking | ToolOutput) -> None:
        if self._delta is not None and not _continues(self._delta, delta):
            self.flush()
        self._delta = delta
        self._parts.append(delta.text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self.flush)

    def _send(self, event: Event) -> None:
        self._seq += 1
        head = {"sessionId": self._session_id, "seq": self._seq}
        fields = head | convert.event(self._root, event)
        if isinstance(event, RunStarted):
            fields["workDoneToken"] = self._token()
        self._notify(wire.EVENT, fields)


def _continues(one: Text | Thinking | ToolOutput, other: Text | Thinking | ToolOutput) -> bool:
    if isinstance(one, ToolOutput) and isinstance(other, ToolOutput):
        return one.call_id == other.call_id
    return type(one) is type(other)
