"""Turns session events into notifications, in order. Deltas are combined to about thirty a second."""

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.agent.events import Event, RunStarted, Text, Thinking, ToolOutput
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.workspace.paths import Roots

INTERVAL = 0.033


class Publisher:
    """Sends the notifications of one session. Buffered deltas are sent before anything else, so the order is kept."""

    def __init__(
        self,
        session_id: str,
        roots: Callable[[], Roots],
        notify: Callable[[str, Any], None],
        token: Callable[[], int | str | None],
        seq: int = 0,
        encoding: str = "utf-16",
    ) -> None:
        """
        Args:
            roots: returns the folders that are open.
            token: returns the work-done token of the run.
            seq: the number of the last event that was sent.
            encoding: the position encoding.
        """
        self._session_id = session_id
        self._token = token
        self._roots = roots
        self._encoding = encoding
        self._notify = notify
        self._seq = seq
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
                self._notify(wire.EDITS, convert.edits(self._session_id, self._roots(), event, self._encoding))
            case _:
                self._send(event)
        return None

    def flush(self) -> None:
        """Send the buffered delta."""
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
        if self._delta is not None and not _is_same_stream(self._delta, delta):
            self.flush()
        self._delta = delta
        self._parts.append(delta.text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self.flush)

    def _send(self, event: Event) -> None:
        self._seq += 1
        head = {"sessionId": self._session_id, "seq": self._seq}
        fields = head | convert.event(self._roots(), event)
        if isinstance(event, RunStarted):
            fields["workDoneToken"] = self._token()
        self._notify(wire.EVENT, fields)


def _is_same_stream(first: Text | Thinking | ToolOutput, second: Text | Thinking | ToolOutput) -> bool:
    if isinstance(first, ToolOutput) and isinstance(second, ToolOutput):
        return first.call_id == second.call_id
    return type(first) is type(second)
