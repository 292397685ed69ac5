"""What hooks need from their session."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairlead.agent.events import Event
from fairlead.agent.tool import RunningCall
from fairlead.gate.gate import Gate
from fairlead.shell.layer import BoxSettings, Changes, Layer, Limits, View
from fairlead.workspace.paths import Roots


@dataclass(frozen=True, slots=True)
class Proposed:
    """What was proposed of the changes of a hook."""

    report: Sequence[str]
    """Lines that say what is proposed, and what is not and why."""
    paths: Sequence[str]
    """The absolute paths of the files that were proposed."""


class Workspace(Protocol):
    """What hooks need from their session."""

    @property
    def session_id(self) -> str: ...

    @property
    def roots(self) -> Roots: ...

    @property
    def gate(self) -> Gate: ...

    def limits(self) -> Limits:
        """The resources that a hook may use."""
        ...

    def box_settings(self, variables: Mapping[str, str]) -> BoxSettings:
        """What the user's settings let commands use, with more environment variables."""
        ...

    async def layer(self) -> Layer:
        """The layer that hooks run in. Raises ToolError if it cannot be made."""
        ...

    async def view(self, layer: Layer, is_on_disk: Callable[[Path], bool]) -> View:
        """The files that a hook sees in this layer: the proposed ones, apart from those for which this returns True."""
        ...

    async def propose(self, changes: Changes, call: RunningCall) -> Proposed:
        """Proposes what a hook changed."""
        ...

    def publish(self) -> None:
        """Saves and sends what has been proposed so far."""
        ...

    def emit(self, event: Event) -> None:
        """Sends an event of the run that goes on, or of the session if none does."""
        ...

    def new_call_id(self) -> str:
        """An id for the run of a hook that no call of the session has."""
        ...

    def current_item(self) -> str | None:
        """The id of the plan item in progress; None if there is none."""
        ...

    def folders(self) -> Collection[Path]:
        """The folders of the workspace whose hooks may run; none if it is not trusted."""
        ...
