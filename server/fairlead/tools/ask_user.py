"""`ask_user`: asks the user one question, for the rare case that the work depends on their choice."""

from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.errors import ToolError
from fairlead.sentences import Sentence
from fairlead.workspace.editor import Editor

SPEC = ToolSpec(
    "ask_user",
    "Ask the user one question, only if the work depends on their choice and neither files nor task decide it.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "options": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from"},
        },
        "required": ["question"],
    },
)


class AskUser:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "ask"
    read_only = True

    def __init__(self, editor: Editor, session_id: str) -> None:
        self._editor, self._session_id = editor, session_id

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("Ask: {0}", input["question"]), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        question = input["question"].strip()
        if not question:
            raise ToolError("The question is empty. Send it again with text.")
        call.progress = "Cancelled while the user was asked: no answer."
        given: list[str] = input.get("options") or []
        options = [option for option in given if option.strip()]
        answer = await self._editor.ask(self._session_id, call.id, question, options)
        if answer is None:
            raise ToolError("No answer. Choose what the user most likely wants, and say so at the end.")
        return f"The user answered: {answer}"
