"""All that a run tells the outside: one union of events. Front ends subscribe; the core knows none of them."""

from dataclasses import dataclass
from typing import Any, Literal

from fairlead.agent.model import Usage
from fairlead.agent.tool import Location, ToolKind
from fairlead.plan.evidence import CommandRun

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "budget", "loop", "refusal", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    model: str


@dataclass(frozen=True, slots=True)
class RoundStarted:
    round: int


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call_id: str
    name: str
    kind: ToolKind
    title: str
    input: dict[str, Any]
    locations: tuple[Location, ...]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Output of a running tool, as it comes."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The end of a call; `command` is set where it ran one."""

    call_id: str
    is_error: bool
    text: str
    command: CommandRun | None = None


@dataclass(frozen=True, slots=True)
class ReminderSent:
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What the model was told of the person's review and of files that changed."""

    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The usage of the run so far; `cost` in US dollars, None where the model's price is not known."""

    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RunFinished:
    stop_reason: StopReason


Event = (
    RunStarted
    | RoundStarted
    | Text
    | Thinking
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | ReminderSent
    | Told
    | Retry
    | UsageReported
    | RunFinished
)
