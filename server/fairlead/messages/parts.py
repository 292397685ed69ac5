"""The parts of a message. Each says what it is, so that nothing has to recognize it by its text.

The text of a part is what the model reads. Models encode the parts for their API (`models/`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairlead.plan.render import PlanUpdate

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
NoteKind = Literal[
    "answer",  # of the user, to a question that a summary replaced
    "attached",  # the content of what a prompt refers to
    "continuation",  # the model is to continue its answer
    "context",  # what the user is looking at
    "files",  # files that others changed
    "folders",
    "hook",  # what a hook of the user says
    "mode",
    "new_errors",
    "picture",  # in place of a picture
    "plan",  # the user changed the plan
    "references",  # what a prompt refers to
    "reminder",
    "review",  # what the user decided
    "rules",
    "skill",  # the instructions of a skill or a command that the user has chosen
    "summarize",  # the model is to write a summary
    "summary",
]

CONTEXT: frozenset[NoteKind] = frozenset({"attached", "context", "references"})
"""The notes about files and the editor that come with a prompt."""
KEPT: frozenset[NoteKind] = frozenset({"answer", "references", "review", "skill"})
"""The notes that a summary never replaces."""

USER_MESSAGE = "<user_message>\nThe user said while you worked:\n{text}\n</user_message>"
NO_OUTPUT = "(no output)"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user wrote."""

    said: str
    while_working: bool = False
    """Whether it was sent to a run, instead of beginning one."""
    checkpoint: int | None = None
    """The id of the session's checkpoint before it; None if the session cannot be rewound to it."""

    @property
    def text(self) -> str:
        return USER_MESSAGE.format(text=self.said) if self.while_working else self.said


@dataclass(frozen=True, slots=True)
class Note:
    """What Fairlead tells the model in a message of the user."""

    kind: NoteKind
    text: str
    sections: tuple[tuple[str, str], ...] = ()
    """Of a note about the editor: the label and the text of each section."""
    pictures: tuple[str, ...] = ()
    """Of a note about what a prompt refers to: the names of the pictures."""


@dataclass(frozen=True, slots=True)
class Text:
    """What the model wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thought. Only the provider that made it can read it again."""

    text: str
    """Empty if the provider hides it."""
    provider: str
    sealed: Mapping[str, Any]
    """JSON that goes back to the provider with the text, such as a signature."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A part of an answer that only its provider understands."""

    provider: str
    data: Mapping[str, Any]
    """JSON that goes back to the provider as it came."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model made."""

    id: str
    name: str
    """As the model wrote it. There may be no such tool."""
    input: dict[str, Any]
    problem: str | None = None
    """Why it cannot be run, as text for the model: its input is incomplete or invalid; None if it can."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    media_type: MediaType
    data: str
    """In base64."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call."""

    call_id: str
    output: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    """What the model sees in addition to the text."""
    plan_update: PlanUpdate | None = None
    """Set if the call rewrote the plan."""

    @property
    def text(self) -> str:
        return self.output or NO_OUTPUT


Part = Prompt | Note | Text | Thinking | Foreign | Call | Image | Result


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the conversation."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]
