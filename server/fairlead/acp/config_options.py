"""What the user can choose for a session: the mode, the agent, the model, and how much it thinks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from acp import schema

from fairlead.acp.texts import plain
from fairlead.agent.tool import Mode
from fairlead.app.model_catalog import EndpointModels
from fairlead.hosted_agents.definition import AgentDefinition
from fairlead.hosted_agents.updates import Option as HostedOption
from fairlead.session.errors import WrongRequest
from fairlead.session.model_selection import ModelSelection
from fairlead.skills.agent_file import AgentFile

MODE, AGENT, MODEL, EFFORT = "mode", "agent", "model", "effort"
OWN_AGENT = "fairlead"
"""The value of `AGENT` for Fairlead's own agent."""
HOSTED_PREFIX = "agent:"
"""Precedes the id of an option of a hosted agent."""
AGENT_PREFIX = "agent:"
Category = Literal["mode", "model", "thought_level"]
CATEGORIES: Sequence[Category] = ("model", "thought_level")
"""Those of a hosted agent's options that clients show in the same place as Fairlead's."""
MODES: dict[Mode, tuple[str, str]] = {
    "agent": ("Agent", "Works on the task. You review its changes before they are written."),
    "ask": ("Ask", "Only reads and answers."),
    "plan": ("Plan", "Only reads and writes a plan, which you approve before the work starts."),
}
DEFAULT_EFFORT = "default"
MAX_MODELS = 200


@dataclass
class ConfigOptions:
    """The choices of one session, and what can be chosen."""

    mode: str = "agent"
    """One of `MODES`, or `AGENT_PREFIX` with the name of an agent in a file."""
    agents: Sequence[AgentFile] = ()
    groups: Sequence[EndpointModels] = ()
    chosen: ModelSelection = field(default_factory=ModelSelection)
    """The model that the next run asks, with what the settings decide."""
    hosted_agents: Sequence[AgentDefinition] = ()
    """The agents of other makers that can work in the session."""
    hosted: str = ""
    """The name of the one that does the tasks; empty: Fairlead's own agent."""
    hosted_options: Sequence[HostedOption] = ()
    """What can be chosen for it, once it has begun to work."""

    @property
    def run_mode(self) -> Mode:
        return self.mode if self.mode in MODES else "agent"

    @property
    def run_agent(self) -> str:
        """The name of the agent in a file that does the next task; empty: none."""
        return self.mode.removeprefix(AGENT_PREFIX) if self.mode.startswith(AGENT_PREFIX) else ""

    @property
    def run_hosted(self) -> str:
        """The name of the agent of another maker that does the next task; empty: Fairlead's own, which has modes."""
        return self.hosted if self.mode == "agent" else ""

    def choose_mode(self, mode: str) -> None:
        """Chooses a mode. Only Fairlead's own agent has others than `agent`. Raises WrongRequest if there is none."""
        self.check_mode(mode)
        self.mode = mode
        self.hosted = self.run_hosted

    def choose_agent(self, value: str) -> None:
        """Chooses an agent. A hosted one works only in the mode `agent`. Raises WrongRequest if there is none."""
        if value not in (OWN_AGENT, *(each.name for each in self.hosted_agents)):
            raise WrongRequest(f"The option {AGENT} has no value {value}.")
        self.hosted = "" if value == OWN_AGENT else value
        if self.hosted:
            self.mode = "agent"

    def check_mode(self, mode: str) -> None:
        """Raises WrongRequest if there is no such mode."""
        if mode not in {each.id for each in self._modes()}:
            raise WrongRequest(f"There is no mode {mode}. There are: {', '.join(each.id for each in self._modes())}.")

    def mode_state(self) -> schema.SessionModeState:
        """For clients that know only modes."""
        return schema.SessionModeState(current_mode_id=self.mode, available_modes=self._modes())

    def options(self) -> list[Any]:
        """The whole state for the client."""
        modes = [_option(each.id, each.name, each.description) for each in self._modes()]
        found = [_select(MODE, "Mode", self.mode, modes, "mode")]
        agents = [_option(OWN_AGENT, "Fairlead"), *(_option(each.name, each.title) for each in self.hosted_agents)]
        found.append(_select(AGENT, "Agent", self.hosted or OWN_AGENT, agents))
        return [*found, *(self._of_hosted() if self.hosted else self._of_model())]

    def _of_hosted(self) -> list[Any]:
        """The options of a hosted agent. Its mode has no category: the session's mode is another one."""
        return [
            _select(
                f"{HOSTED_PREFIX}{each.id}",
                each.name,
                each.value,
                [_option(choice.id, choice.name, choice.about or None) for choice in each.choices],
                next((known for known in CATEGORIES if known == each.category), None),
            )
            for each in self.hosted_options
        ]

    def _of_model(self) -> list[Any]:
        found, models = list[Any](), self._models()
        if self.chosen.model:
            values = [_option(value, name) for value, (name, _) in models.items()]
            found.append(_select(MODEL, "Model", _value(self.chosen.endpoint, self.chosen.model), values, "model"))
        if efforts := self._efforts():
            values = [_option(DEFAULT_EFFORT, "The model's default"), *(_option(each, each) for each in efforts)]
            current = self.chosen.effort if self.chosen.effort in efforts else DEFAULT_EFFORT
            found.append(_select(EFFORT, "Effort", current or DEFAULT_EFFORT, values, "thought_level"))
        return found

    def selection(self, option: str, value: str) -> ModelSelection:
        """The selection after the user has chosen a model or an effort.

        Raises:
            WrongRequest: there is no such option or value.
        """
        if option == MODEL and value in (models := self._models()):
            return models[value][1]
        if option == EFFORT and value in (DEFAULT_EFFORT, *self._efforts()):
            effort = "" if value == DEFAULT_EFFORT else value
            return ModelSelection(self.chosen.endpoint, self.chosen.model, effort)
        known = {MODE, AGENT, MODEL, EFFORT}
        raise WrongRequest(
            f"The option {option} has no value {value}." if option in known else f"There is no option {option}."
        )

    def _modes(self) -> list[schema.SessionMode]:
        found = [schema.SessionMode(id=mode, name=name, description=text) for mode, (name, text) in MODES.items()]
        agents = [agent for agent in self.agents if agent.is_for_user]
        return found + [
            schema.SessionMode(
                id=plain(AGENT_PREFIX + each.name), name=plain(each.name), description=plain(each.description)
            )
            for each in agents
        ]

    def _models(self) -> dict[str, tuple[str, ModelSelection]]:
        """The models that can be asked: their names for the user and their selections, by their values.

        The one in use is always among them.
        """
        chosen = self.chosen
        found = {_value(chosen.endpoint, chosen.model): (chosen.model, chosen)}
        several = len([group for group in self.groups if group.models and not group.needs_key]) > 1
        for group in self.groups:
            for model in () if group.needs_key else group.models:
                if model.tools is False or len(found) >= MAX_MODELS:
                    continue
                name = f"{model.title} ({group.title})" if several else model.title
                value = _value(group.name, model.name)
                found[value] = (
                    name,
                    chosen
                    if value == _value(chosen.endpoint, chosen.model)
                    else ModelSelection(group.name, model.name),
                )
        return found

    def _efforts(self) -> Sequence[str]:
        """The levels that the chosen model has; none if they are unknown."""
        for group in self.groups:
            for model in group.models:
                if (group.name, model.name) == (self.chosen.endpoint, self.chosen.model):
                    return model.facts.efforts
        return ()


def _value(endpoint: str, model: str) -> str:
    return plain(f"{endpoint}/{model}")


def _option(value: str, name: str, description: str | None = None) -> schema.SessionConfigSelectOption:
    return schema.SessionConfigSelectOption(value=plain(value), name=plain(name), description=description)


def _select(id_: str, name: str, current: str, options: Sequence[Any], category: Category | None = None) -> Any:
    return schema.SessionConfigOptionSelect(
        type="select",
        id=plain(id_),
        name=plain(name),
        category=category,
        current_value=plain(current),
        options=[*options],
    )
