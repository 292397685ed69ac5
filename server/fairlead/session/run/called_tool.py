"""A call of a tool that another program makes in a session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.display import shorten
from fairlead.messages.parts import Note, Part, Prompt
from fairlead.session.run.prompt import check_prompt, shown_prompt
from fairlead.tools.terminal_program import TerminalProgram

MAX_CALLER = 80
CALLED = "<called_by_program>{caller} made the following call in this session, not you.</called_by_program>"


@dataclass(frozen=True, slots=True)
class CalledTool:
    """What a program asks a session to do. Creating one checks it.

    Raises:
        WrongRequest: see `check_prompt`.
    """

    name: str
    """As a model would name it."""
    input: Mapping[str, Any]
    caller: str
    """The program, for the user."""
    prompt: str = ""
    """What its work begins with, for the user; empty: the call continues the work."""
    program: TerminalProgram | None = None
    """What the call starts in a terminal; None: it is a call of a tool that models have."""

    def __post_init__(self) -> None:
        if self.prompt:
            check_prompt(self.prompt)

    @property
    def shown_caller(self) -> str:
        return shorten(self.caller.strip() or "Another program", MAX_CALLER)

    def message(self, checkpoint: int | None) -> list[Part]:
        """What a model that continues the session reads before the call."""
        note = Note("continuation", CALLED.format(caller=self.shown_caller))
        return [Prompt(shown_prompt(self.prompt), checkpoint=checkpoint), note] if self.prompt else [note]


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What the program gets."""

    call_id: str
    text: str
    is_error: bool
    feedback: str
    """What the user decided and changed since the last call, as a model reads it; empty: nothing."""
