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
class CommandStarted:
    """A command really runs: what, in which folder, where. `handle` names one that goes on in the background."""

    call_id: str
    item_id: str | None
    command: str
    cwd: str
    where: Literal["sandboxed", "workspace"]
    network: bool
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """`stopped`: the agent, the person or the session's end ended it; `failed`: it could not be started."""

    handle: str | None
    run: CommandRun
    ended: Literal["exited", "timeout", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """Output of a command, as it comes; it may hold colours (SGR sequences) and lone carriage returns."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The end of a call."""

    call_id: str
    is_error: bool
    text: str


@dataclass(frozen=True, slots=True)
class ReminderSent:
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What the model was told of the person's review and of files that changed."""

    text: str


@dataclass(frozen=True, slots=True)
class Steered:
    """The person said something to the run; the model hears it at the next boundary, as `Told`."""

    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The usage of the run so far; `cost` in US dollars, None where the model's price is not known.

    `context` is how many tokens of the model's window the conversation takes now, `limit` the window's size, None where
    that is not known.
    """

    usage: Usage
    cost: float | None
    context: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class RoomMade:
    """The conversation was about to outgrow the model's window; `text` says what gave way."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    stop_reason: StopReason


Event = (
    RunStarted
    | RoundStarted
    | Text
    | Thinking
    | ToolStarted
    | CommandStarted
    | ToolOutput
    | CommandEnded
    | ToolFinished
    | ReminderSent
    | Told
    | Steered
    | Retry
    | UsageReported
    | RoomMade
    | RunFinished
)
