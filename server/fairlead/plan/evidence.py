"""What was done in each step: the evidence for its completion. Pure values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from fairlead.plan.inputs import Inputs

BEFORE: Literal["before"] = "before"
"""The step id of work before there was a plan."""
UNPLANNED: Literal["unplanned"] = "unplanned"
"""The step id of work while the plan had no step in progress."""

CHECK = "check"
"""The `Verification.program` of a check without a known program, or whose exit code does not show all results.

The only target is then the whole command.
"""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a command verifies, such as the tests below a folder. Two commands with equal values verify the same."""

    program: str
    """Includes the subcommand, if there is one: `cargo test`."""
    folder: str = ""
    """Where it runs, relative to the workspace; empty for the workspace, and for a program whose targets are paths."""
    targets: tuple[str, ...] = ()
    """The arguments that say what is verified. Paths are relative to the workspace. Empty: everything."""
    options: tuple[str, ...] = ()
    """The options that change what is verified."""
    narrowing: tuple[str, ...] = ()
    """The options that restrict what is verified, such as `-k name`."""
    by_path: bool = False
    """Whether the targets are paths, and a folder covers everything below it."""

    def covers(self, other: "Verification") -> bool:
        """Whether it verifies everything that the other one does."""
        if (self.program, self.folder, set(self.options)) != (other.program, other.folder, set(other.options)):
            return False
        if not set(self.narrowing) <= set(other.narrowing):
            return False
        if not self.targets:
            return True
        return bool(other.targets) and all(
            any(self._contains(own, target) for own in self.targets) for target in other.targets
        )

    def _contains(self, own: str, target: str) -> bool:
        return own == target or (self.by_path and (own == "." or target.startswith((f"{own}/", f"{own}::"))))


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that ran."""

    call_id: str
    command: str
    exit_code: int | None
    """128 plus the signal's number if a signal ended it. None if it was stopped, timed out or could not be started."""
    seconds: float
    """How long it ran."""
    stopped: bool = False
    """Whether the agent, the user or the end of the session stopped it, which is not a failure."""
    verified: tuple[Verification, ...] = ()
    """What it verifies. Exit code 0 means that all of it passed.

    Empty if it verifies nothing, or if it ran without all or some of the proposals.
    """
    state: int | None = None
    """The number of the file state that it ran on (`FileStates`); None if `verified` is empty."""
    without_changes: int | None = None
    """If it ran on the files without the proposals: the number of the file state with them; otherwise None.

    If tests and other files were proposed, it saw the proposed tests (docs/plan.md P23).
    """
    leftovers: tuple[str, ...] = ()
    """The absolute paths of ignored files that earlier commands left, if it passed, but not again without them."""
    inputs: Inputs | None = None
    """What it read, if all of that was recorded. None: any file may have been read."""
    with_tests: bool = False
    """Whether it ran on the files with the proposed tests alone."""

    @property
    def failed(self) -> bool:
        """Whether it failed, timed out or could not be started. A run without the proposals never counts as failed."""
        return self.exit_code != 0 and not self.stopped and self.without_changes is None


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of a tool of a tool server (docs/mcp.md), or a request to the web (docs/web.md)."""

    call_id: str
    server: str
    """The host of a request to the web, with the port if it is unusual."""
    tool: str
    outcome: Literal["answered", "failed", "unknown"]
    """`failed`: the server answered with an error or ended. `unknown`: it was cancelled, or not answered in time."""
    seconds: float
    """0 if the outcome is unknown."""
    has_effects_outside: bool
    """Whether it can have effects outside of the workspace, which nobody reviews."""
    arguments: str = ""
    """As JSON on one line, and cut; empty for a tool server's call without effects outside."""


SubagentState = Literal["running", "done", "stopped", "failed", "interrupted"]
"""`failed`: an error or a limit ended it. `interrupted`: its process ended."""


@dataclass(frozen=True, slots=True)
class SubagentWork:
    """The work of a subagent."""

    call_id: str
    """The call that started it."""
    title: str
    agent: str
    """The agent in a file that did it; empty: an explorer."""
    state: SubagentState
    tokens: int = 0
    cost: float | None = 0.0
    """In US dollars, None if unknown."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The recorded work on one step."""

    files: tuple[str, ...] = ()
    """The absolute paths of the files that its tool calls changed, including the proposed changes of its commands."""
    commands: tuple[CommandRun, ...] = ()
    """In the order in which they ended."""
    calls: tuple[ServerCall, ...] = ()
    """In the order in which they ended."""
    subagents: tuple[SubagentWork, ...] = ()
    """In the order in which they began."""
    looks: int = 0
    """The number of reads and searches."""
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0
    """In US dollars, None if unknown."""
    changed_at: int = 0
    """How many file states there were at the step's last change to a file.

    So the states with this number and higher ones contain all changes of the step.
    """

    @property
    def empty(self) -> bool:
        """Whether nothing was done."""
        return not (self.files or self.commands or self.calls or self.subagents or self.looks)


@dataclass(frozen=True)
class Record:
    """The evidence of all steps, and of work outside of steps."""

    by_step: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])
    """By step id, which never changes (P6); also `BEFORE` and `UNPLANNED`."""

    def of(self, step: str) -> Evidence:
        """The evidence of a step; empty if it has none."""
        return self.by_step.get(step, Evidence())

    def runs(self) -> Iterator[CommandRun]:
        """The commands of all steps, one step after the other."""
        return (run for evidence in self.by_step.values() for run in evidence.commands)

    def with_file(self, step: str, path: str, states: int = 0) -> "Record":
        """The record with a changed file in a step. `states` says how many file states there are so far."""
        old = self.of(step)
        return self._with(step, replace(old, files=tuple(dict.fromkeys((*old.files, path))), changed_at=states))

    def with_command(self, step: str, run: CommandRun) -> "Record":
        """The record with a command that ran in a step."""
        old = self.of(step)
        return self._with(step, replace(old, commands=(*old.commands, run)))

    def with_call(self, step: str, call: ServerCall) -> "Record":
        """The record with a call of a tool server in a step."""
        old = self.of(step)
        return self._with(step, replace(old, calls=(*old.calls, call)))

    def with_subagent(self, step: str, work: SubagentWork) -> "Record":
        """The record with the current state of a subagent in a step."""
        old, known = self.of(step), [each.call_id for each in self.of(step).subagents]
        if work.call_id not in known:
            return self._with(step, replace(old, subagents=(*old.subagents, work)))
        found = (work if each.call_id == work.call_id else each for each in old.subagents)
        return self._with(step, replace(old, subagents=tuple(found)))

    def interrupted(self) -> "Record":
        """The record in a new process: the subagents that worked were interrupted."""
        record = self
        for step, evidence in self.by_step.items():
            for each in evidence.subagents:
                if each.state == "running":
                    record = record.with_subagent(step, replace(each, state="interrupted"))
        return record

    def with_look(self, step: str) -> "Record":
        """The record with one more read or search in a step."""
        old = self.of(step)
        return self._with(step, replace(old, looks=old.looks + 1))

    def with_seconds(self, step: str, seconds: float) -> "Record":
        """The record with this much more time for a step."""
        old = self.of(step)
        return self._with(step, replace(old, seconds=old.seconds + seconds))

    def with_cost(self, step: str, tokens: int, cost: float | None) -> "Record":
        """The record with more tokens and dollars for a step. An unknown cost makes the sum unknown."""
        old = self.of(step)
        total = None if cost is None or old.cost is None else old.cost + cost
        return self._with(step, replace(old, tokens=old.tokens + tokens, cost=total))

    def _with(self, step: str, evidence: Evidence) -> "Record":
        return Record({**self.by_step, step: evidence})
