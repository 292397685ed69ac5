"""Turns session events into notifications. Deltas and states are combined to about thirty notifications a second."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from fairlead.agent.events import Event, RoundStarted, RunStarted, Text, Thinking, ToolOutput, UsageReported
from fairlead.edits.per_proposal import PerProposal
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.differences import difference
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.workspace.paths import Roots

INTERVAL = 0.033


class Connection(Protocol):
    """What the publisher needs of the connection (`rpc.AgentProtocol`)."""

    before_answer: set[Callable[[], None]]

    def send_notification(self, method: str, params: Any) -> None: ...


class Publisher:
    """Sends the notifications of one session, in the order of docs/protocol.md.

    A delta or a state is held for a moment, because the next one may join or replace it.
    """

    def __init__(
        self,
        session_id: str,
        roots: Callable[[], Roots],
        connection: Connection,
        token: Callable[[], int | str | None],
        seq: int = 0,
        encoding: str = "utf-16",
        *,
        incremental: bool = False,
    ) -> None:
        """
        Args:
            roots: returns the folders that are open.
            token: returns the work-done token of the run.
            seq: the number of the last event that was sent.
            encoding: the position encoding.
            incremental: whether the client understands differences between states.
        """
        self._session_id = session_id
        self._token = token
        self._roots = roots
        self._encoding = encoding
        self._connection = connection
        self._seq = seq
        self._delta: Text | Thinking | ToolOutput | None = None
        self._parts: list[str] = []
        self._plan: PlanChanged | None = None
        self._edits: EditsChanged | None = None
        self._files = PerProposal[wire.FileWire]()
        self._incremental = incremental
        self._sent: dict[str, Any] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, event: SessionEvent) -> None:
        match event:
            case Text() | Thinking() | ToolOutput():
                self._buffer(event)
            case PlanChanged():
                self._plan = event
                self._hold()
            case EditsChanged():
                self._edits = event
                self._hold()
            case RoundStarted() | UsageReported():  # nothing in the states depends on them
                self._send_delta()
                self._send(event)
            case _:
                self.flush()
                self._send(event)

    def flush(self) -> None:
        """Send what is held."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._connection.before_answer.discard(self.flush)
        self._send_delta()
        plan, edits, self._plan, self._edits = self._plan, self._edits, None, None
        if plan is not None:
            self._send_state(wire.PLAN, wire.PLAN_CHANGED, convert.plan(self._session_id, plan))
        if edits is not None:
            state = convert.edits(self._session_id, self._roots(), edits, self._encoding, self._files)
            self._send_state(wire.EDITS, wire.EDITS_CHANGED, state)

    def _hold(self) -> None:
        """Have `flush` called in a moment, and before the next answer at the latest."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self.flush)
            self._connection.before_answer.add(self.flush)

    def _buffer(self, delta: Text | Thinking | ToolOutput) -> None:
        if self._delta is not None and not _is_same_stream(self._delta, delta):
            self._send_delta()
        self._delta = delta
        self._parts.append(delta.text)
        self._hold()

    def _send_delta(self) -> None:
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

    def _send_state(self, whole: str, changed: str, state: wire.PlanWire | wire.EditsWire) -> None:
        """Send a state, or its difference from the last one to a client that understands that."""
        if self._incremental:
            before = self._sent.get(whole)
            self._sent[whole] = state
            if before is not None:
                patch = difference(before, state)
                params = {"sessionId": self._session_id, "since": before["version"], "patch": patch}
                return self._connection.send_notification(changed, params)
        return self._connection.send_notification(whole, state)

    def _send(self, event: Event) -> None:
        self._seq += 1
        head = {"sessionId": self._session_id, "seq": self._seq}
        fields = head | convert.event(self._roots(), event)
        if isinstance(event, RunStarted):
            fields["workDoneToken"] = self._token()
        self._connection.send_notification(wire.EVENT, fields)


def _is_same_stream(first: Text | Thinking | ToolOutput, second: Text | Thinking | ToolOutput) -> bool:
    if isinstance(first, ToolOutput) and isinstance(second, ToolOutput):
        return first.call_id == second.call_id
    return type(first) is type(second)
