"""What Fairlead sends to the client: updates of a session, and questions."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acp import schema
from acp.connection import Connection
from acp.exceptions import RequestError
from pydantic import BaseModel, ValidationError

from fairlead.acp.lines import LineTransport
from fairlead.acp.texts import plain
from fairlead.json_values import fields_of

log = logging.getLogger(__name__)

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.CurrentModeUpdate
    | schema.ConfigOptionUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
Kind = schema.PermissionOptionKind


def to_json(model: BaseModel) -> dict[str, Any]:
    """A value of the protocol with the fields that were given."""
    return model.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)


def text_block(text: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(type="text", text=plain(text))


def text_content(text: str) -> list[schema.ContentToolCallContent]:
    """A text as the content of a call; nothing if it is empty."""
    return [schema.ContentToolCallContent(type="content", content=text_block(text))] if text else []


@dataclass(frozen=True)
class Option:
    """An answer that the user can choose."""

    id: str
    name: str
    kind: Kind


class Client:
    """The editor at the other end of the connection."""

    def __init__(self, connection: Connection, transport: LineTransport) -> None:
        self._connection, self._transport = connection, transport
        self.capabilities = schema.ClientCapabilities()

    @property
    def has_forms(self) -> bool:
        """Whether it shows forms to the user."""
        elicitation = self.capabilities.elicitation
        return elicitation is not None and elicitation.form is not None

    def update(self, session_id: str, update: Update) -> None:
        """Sends an update at once."""
        self._update(session_id, to_json(update))

    def begin_call(self, session_id: str, call: schema.ToolCallUpdate) -> None:
        """Sends a call that the next question is about. Clients show the question with what they know of the call."""
        self._update(session_id, {"sessionUpdate": "tool_call", **to_json(call)})

    def _update(self, session_id: str, update: dict[str, Any]) -> None:
        params = {"sessionId": session_id, "update": update}
        self._transport.write({"jsonrpc": "2.0", "method": "session/update", "params": params})

    async def choose(self, session_id: str, call: schema.ToolCallUpdate, options: Sequence[Option]) -> str | None:
        """Asks the user about a tool call that was sent before. Returns the id of an option; None: no answer.

        Args:
            options: the harmless one first, because some clients choose it for the user.
        """
        given = [schema.PermissionOption(option_id=each.id, name=plain(each.name), kind=each.kind) for each in options]
        request = schema.RequestPermissionRequest(session_id=session_id, tool_call=call, options=given)
        answer = fields_of(await self._request("session/request_permission", request))
        outcome = fields_of(answer.get("outcome"))
        chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
        return chosen if isinstance(chosen, str) and chosen in {each.id for each in options} else None

    async def fill_in(
        self, session_id: str, call_id: str | None, message: str, fields: Mapping[str, schema.StringPropertySchema]
    ) -> Mapping[str, str] | None:
        """Shows a form with text fields. Returns the texts that the user entered, by field; None: no answer.

        Leaves out a text that is none of those from which the user was to choose.
        """
        properties: dict[str, Any] = {name: {**to_json(field), "type": "string"} for name, field in fields.items()}
        params = {
            "sessionId": session_id,
            **({"toolCallId": call_id} if call_id else {}),
            "mode": "form",
            "message": plain(message),
            "requestedSchema": {"type": "object", "properties": properties},
        }
        answer = fields_of(await self._request("elicitation/create", params))
        if answer.get("action") != "accept":
            return None
        given = fields_of(answer.get("content"))
        return {
            name: text
            for name, text in given.items()
            if name in fields and isinstance(text, str) and text in (fields[name].enum or [text])
        }

    async def _request(self, method: str, params: BaseModel | dict[str, Any]) -> Any:
        """The answer to a request; None if it failed or the client has gone."""
        try:
            values = params if isinstance(params, dict) else to_json(params)
            return await self._connection.send_request(method, values)
        except (RequestError, ConnectionError, ValidationError) as error:
            log.warning("the client did not answer %s: %s", method, error)
            return None
