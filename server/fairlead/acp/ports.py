"""The ports of an editor that Fairlead knows only over the Agent Client Protocol: its files are those on the disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp import schema

from fairlead.acp.client import Option
from fairlead.acp.questions import describe_request, options_for
from fairlead.acp.texts import note
from fairlead.gate.request import ApprovalAnswer, ApprovalRequest, ValueRequest
from fairlead.workspace.editor import Applied, Buffer, Claims, EditCapabilities, FileEdit

if TYPE_CHECKING:
    from fairlead.acp.served_session import ServedSession

NO_EDITS = "The editor cannot apply edits over this protocol."
NO_SECRETS = (
    "The tool server {server} needs a secret ({question}), which this editor cannot ask for. Enter it in a terminal: "
    "fairlead mcp login {server}"
)
CANNOT_ENTER = "The tool server {server} needs a value ({question}), which this editor cannot ask for."
NO_ANSWER, ANSWER, OTHER = "no_answer", "answer", "other"


class NoBuffers:
    """Implements `Buffers`: the protocol does not say what is open, so the disk is the truth."""

    change_token = 0

    def open_buffer(self, path: Path) -> Buffer | None:
        return None

    def open_paths(self) -> Sequence[Path]:
        return ()

    def note_removal(self, path: Path) -> None: ...


class AcpEditor:
    """Implements `AskingEditor` for one session."""

    edit_capabilities = EditCapabilities()

    def __init__(self, served: "ServedSession") -> None:
        self._served = served

    async def apply(self, label: str, edits: Sequence[FileEdit]) -> Applied:
        return Applied(False, NO_EDITS)

    async def claims(self, paths: Sequence[Path]) -> Claims:
        return Claims()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        title, kind, details = describe_request(request)
        answer = await self._served.ask(request.call_id, title, kind, details, options_for(request.action))
        match answer:
            case "allow_once" | "allow_session":
                return ApprovalAnswer(answer)
            case _:
                return ApprovalAnswer("reject")

    async def ask(self, session_id: str, call_id: str, question: str, options: Sequence[str]) -> str | None:
        """Asks in a form, else with the options as the answers to a permission; without options, not at all."""
        served = self._served
        if served.client.has_forms:
            title = "Your choice" if options else "Your answer"
            fields = {ANSWER: schema.StringPropertySchema(title=title, enum=list(options) or None)}
            if options:
                fields[OTHER] = schema.StringPropertySchema(title="Or in other words")
            given = await served.fill_in(call_id, question, fields) or {}
            return given.get(OTHER, "").strip() or given.get(ANSWER, "").strip() or None
        if not options:
            return None
        shown = [Option(NO_ANSWER, "No answer", "reject_once")]
        shown += [Option(f"option{number}", text, "allow_once") for number, text in enumerate(options)]
        chosen = await served.ask(call_id, question, "other", "", shown)
        return next((text for number, text in enumerate(options) if chosen == f"option{number}"), None)

    async def enter(self, request: ValueRequest) -> str | None:
        """Asks for a value in a form. A form must not ask for a secret."""
        served = self._served
        if request.is_secret or not served.client.has_forms:
            text = NO_SECRETS if request.is_secret else CANNOT_ENTER
            served.say(note(text.format(server=request.server, question=request.question)))
            return None
        field = schema.StringPropertySchema(
            title=request.server, default=request.default or None, enum=list(request.options) or None
        )
        given = await served.fill_in(None, request.question, {ANSWER: field})
        return given.get(ANSWER, request.default) if given is not None else None
