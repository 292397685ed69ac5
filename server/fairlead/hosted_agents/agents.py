"""The agents of a session that other makers have made: at most one works at a time."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from fairlead.display import end_sentence
from fairlead.errors import ToolError
from fairlead.hosted_agents.agent import RunningAgent, SignInNeeded
from fairlead.hosted_agents.connection import AgentFailed
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.own_tools import AgentTools
from fairlead.hosted_agents.starting import AgentsContext, AgentStarter, Workspace
from fairlead.hosted_agents.updates import Choice, Option
from fairlead.shell.services.message_lines import Output

log = logging.getLogger(__name__)

UNKNOWN = "There is no agent “{name}”. There are: {known}."
SIGN_IN = (
    "{title} needs a sign-in: {problem} Run “Agent: Sign In to Agent...” in VS Code, or `fairlead agents login {name}` "
    "in a terminal."
)
FAILED = "{title} failed: {problem}{said}"


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """Which agent works in a session, and the sessions of agents that are continued after a restart."""

    name: str = ""
    """Empty: Fairlead's own."""
    sessions: Mapping[str, str] = field(default_factory=dict[str, str])
    """The id of each agent's last session in this one."""
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """The values that the user has chosen, for each agent, by the ids of its options."""


OWN_AGENT = AgentChoice()


class AgentError(ToolError):
    """An agent cannot be used. The message is for the user."""

    def __init__(self, text: str, *, needs_sign_in: bool = False) -> None:
        super().__init__(text)
        self.needs_sign_in = needs_sign_in


class HostedAgents:
    """The hosted agents of one session.

    Args:
        definitions: returns the agents by name.
        tools: what the agents can call of Fairlead.
        on_change: called when what `options` and `commands` return has changed.
    """

    def __init__(
        self,
        workspace: Workspace,
        context: AgentsContext,
        definitions: Callable[[], Mapping[str, AgentDefinition]],
        tools: AgentTools,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._workspace, self._context = workspace, context
        self._definitions, self._on_change = definitions, on_change
        self._starter = AgentStarter(workspace, context, tools)
        self._running: RunningAgent | None = None
        self._begun = False
        """Whether the running agent has its session."""
        self.choice = OWN_AGENT
        self.unread: list[str] = []
        """What failed checks have said, and no agent has read."""
        self.reminder = ""
        """What the next prompt says about the plan; empty: nothing."""

    @property
    def chosen(self) -> AgentDefinition | None:
        """The agent that works in the session; None: Fairlead's own.

        Raises:
            AgentError: it is no longer there.
        """
        return self.named(self.choice.name) if self.choice.name else None

    def named(self, name: str) -> AgentDefinition:
        """The agent with a name. Raises AgentError if there is none."""
        definitions = self._definitions()
        if name not in definitions:
            raise AgentError(UNKNOWN.format(name=name, known=", ".join(definitions)))
        return definitions[name]

    def choose(self, name: str) -> None:
        """The next run is the work of this agent; empty: of Fairlead's own.

        Raises:
            AgentError: there is no such agent.
        """
        if name:
            self.named(name)
        self.choice = replace(self.choice, name=name)
        self._on_change()

    @property
    def options(self) -> tuple[Option, ...]:
        """What the user can choose for the agent that runs; empty before it runs."""
        return self._current.session.options if self._current is not None else ()

    @property
    def commands(self) -> tuple[Choice, ...]:
        """What the user can write to the agent that runs after a slash."""
        return self._current.session.commands if self._current is not None else ()

    @property
    def _current(self) -> RunningAgent | None:
        """The agent that is chosen, if it runs."""
        running = self._running
        return running if running is not None and running.definition.name == self.choice.name else None

    async def set_option(self, option_id: str, value: str) -> None:
        """Sets an option of the agent that runs, now and after a restart.

        Raises:
            AgentError: there is no such option or value, or it cannot be set.
        """
        option = next((each for each in self.options if each.id == option_id), None)
        running = self._current
        if running is None or option is None or value not in (each.id for each in option.choices):
            raise AgentError("The agent no longer has this option. Choose again.")
        try:
            await running.set_option(option, value)
        except AgentFailed as error:
            raise self.failed(running, error) from error
        name = self.choice.name
        own = {**self.choice.options.get(name, {}), option_id: value}
        self.choice = replace(self.choice, options={**self.choice.options, name: own})

    async def ready(self, definition: AgentDefinition) -> tuple[RunningAgent, bool]:
        """The agent with its session, and whether it knows what it did there before. Starts it if necessary.

        Raises:
            AgentError: it cannot be used.
            NotAllowed: the user does not want it.
        """
        running = self._running
        if running is not None and (running.definition != definition or not running.is_running):
            await self.end()
            running = None
        is_new = running is None
        output = Output()
        try:
            if running is None:
                running = self._running = await self._starter.start(definition, output, self._ended, self._on_change)
                self._begun = False
            self._context.pool.note_use(running)
            if self._begun:
                return running, True
            earlier = self.choice.sessions.get(definition.name, "")
            continues = await running.begin_session(self._workspace.roots.paths, earlier)
            self._begun = True
            sessions = {**self.choice.sessions, definition.name: running.session.id}
            self.choice = replace(self.choice, sessions=sessions)
            await self._apply_options(running)
            return running, continues
        except (AgentFailed, SignInNeeded) as error:
            failed = self.failed(running, error, definition, output)
            if is_new:
                await self.end()
            raise failed from error

    async def _apply_options(self, running: RunningAgent) -> None:
        """Sets what the user has chosen for an agent, and the mode in which it asks."""
        wanted = dict(self.choice.options.get(running.definition.name, {}))
        mode = next((each for each in running.session.options if each.category == "mode"), None)
        if mode is not None and running.definition.mode:
            wanted.setdefault(mode.id, running.definition.mode)
        for option in running.session.options:
            value = wanted.get(option.id)
            if value not in (None, option.value) and value in (each.id for each in option.choices):
                await running.set_option(option, value)

    def failed(
        self,
        running: RunningAgent | None,
        error: Exception,
        definition: AgentDefinition | None = None,
        output: Output | None = None,
    ) -> AgentError:
        """What the user reads about a failure."""
        about = running.definition if running is not None else definition
        assert about is not None
        problem = end_sentence(str(error))
        if isinstance(error, SignInNeeded):
            return AgentError(SIGN_IN.format(title=about.title, name=about.name, problem=problem), needs_sign_in=True)
        last = (running.output if running is not None else output or Output()).last_line
        said = f" Its last output: {last}" if last else ""
        return AgentError(FAILED.format(title=about.title, problem=problem, said=said))

    def adopt(self, choice: AgentChoice) -> None:
        """Takes over the choice of a saved state."""
        self.choice, self._begun = choice, False

    async def end(self) -> None:
        """Ends the agent that runs, with all that it has started."""
        running, self._running, self._begun = self._running, None, False
        if running is not None:
            await asyncio.shield(running.start_ending())
            self._context.pool.remove(running)
            self._on_change()

    def _ended(self, agent: RunningAgent) -> None:
        """An agent can no longer answer."""
        if self._running is agent:
            log.info("the agent %s has ended", agent.definition.name)
            self._begun = False
