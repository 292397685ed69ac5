"""Turns session events into notifications. Successive deltas of one stream are joined."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fairlead.agent.events import Event
from fairlead.differences import difference
from fairlead.edits.per_proposal import PerProposal
from fairlead.lsp import convert, convert_edits, convert_events
from fairlead.lsp.convert_tool_servers import tool_servers
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent, ToolServersChanged, joined_deltas
from fairlead.wire import protocol as wire
from fairlead.wire import states
from fairlead.wire.events import EventHead
from fairlead.workspace.paths import Roots


class NotificationSender(Protocol):
    """The part of `rpc.AgentProtocol` that the notifier needs."""

    def send_notification(self, method: str, params: Any) -> None: ...


class Notifier:
    """Sends the notifications of one session, in the order of the events that it gets."""

    def __init__(
        self,
        session_id: str,
        roots: Callable[[], Roots],
        sender: NotificationSender,
        token: Callable[[], int | str | None],
        seq: int = 0,
        encoding: str = "utf-16",
        *,
        incremental: bool = False,
    ) -> None:
        """
        Args:
            roots: returns the folders that are open.
            token: returns the work-done token of the run, None if it has none.
            seq: the number of the last event that was sent.
            encoding: the position encoding.
            incremental: whether the client understands differences between states.
        """
        self._session_id = session_id
        self._token = token
        self._roots = roots
        self._encoding = encoding
        self._sender = sender
        self._seq = seq
        self._files = PerProposal[states.FileEditsWire]()
        self._incremental = incremental
        self._sent: dict[str, Any] = {}
        """The last states, by the method that sends them as a whole. Empty if not `incremental`."""

    def __call__(self, events: Sequence[SessionEvent]) -> None:
        """Sends these events as notifications. `PlanChanged` and `EditsChanged` are sent as states (`_send_state`)."""
        for event in joined_deltas(events):
            match event:
                case PlanChanged() as plan:
                    self._send_state(wire.PLAN, wire.PLAN_CHANGED, convert.plan(self._session_id, plan))
                case EditsChanged() as edits:
                    state = convert_edits.edits(self._session_id, self._roots(), edits, self._encoding, self._files)
                    self._send_state(wire.EDITS, wire.EDITS_CHANGED, state)
                case ToolServersChanged(statuses):
                    self._sender.send_notification(wire.TOOL_SERVERS, tool_servers(self._session_id, statuses))
                case _:
                    self._send(event)

    def _send_state(self, whole: str, changed: str, state: states.PlanWire | states.EditsWire) -> None:
        """Sends a state, or only its difference from the last one if the client understands differences.

        The first state is always sent as a whole.

        Args:
            whole: the method for the whole state.
            changed: the method for a difference.
        """
        if self._incremental:
            before = self._sent.get(whole)
            self._sent[whole] = state
            if before is not None:
                patch = difference(before, state)
                params = {"sessionId": self._session_id, "since": before["version"], "patch": patch}
                return self._sender.send_notification(changed, params)
        return self._sender.send_notification(whole, state)

    def _send(self, event: Event) -> None:
        self._seq += 1
        head: EventHead = {"sessionId": self._session_id, "seq": self._seq, "runId": event.run_id}
        params = convert_events.event(self._roots(), head, event, self._token())
        self._sender.send_notification(wire.EVENT, params)
