"""What the user chooses for a session, as the client sees it: the mode, the options and the commands."""

from collections.abc import Callable
from typing import Any

from acp import schema

from fairlead.acp import commands
from fairlead.acp.client import Update, to_json
from fairlead.acp.config_options import AGENT, AGENT_PREFIX, HOSTED_PREFIX, MODE, ConfigOptions
from fairlead.app.agent_options import set_agent_option
from fairlead.app.app import App
from fairlead.hosted_agents.agents import HostedAgents
from fairlead.session.session import Session


class Choices:
    """Those of one session, which the next run applies.

    Args:
        send: sends an update.
    """

    def __init__(self, app: App, session: Session, send: Callable[[Update], None]) -> None:
        self._app, self._session, self._send = app, session, send
        self.config = ConfigOptions()
        self._known: list[dict[str, Any]] = []
        """The options as the client got them last."""

    async def read(self) -> None:
        """Reads what can be chosen, and what a saved session had chosen."""
        session, config = self._session, self.config
        config.agents = (await session.skills.update()).agents
        config.hosted_agents = tuple(self._app.context.hosted_agents().values())
        if session.runs.agent in (each.name for each in config.agents):
            config.mode = f"{AGENT_PREFIX}{session.runs.agent}"
        elif not session.runs.agent:
            config.mode = session.runs.mode
        if session.hosted.choice.name in (each.name for each in config.hosted_agents):
            config.hosted = session.hosted.choice.name
        if not session.settings.replay:  # a recording has no model to choose
            config.chosen = session.model
            config.groups = await self._app.list_models(session.id, refresh=False, ask=())

    async def list_models(self) -> None:
        """Asks the server of the chosen model which models it has."""
        if self._session.settings.replay:
            return
        endpoint = self.config.chosen.endpoint
        self.config.groups = await self._app.list_models(self._session.id, refresh=False, ask=[endpoint])
        self.config.chosen = self._session.model
        self.send_options()

    def answer_fields(self) -> dict[str, Any]:
        """What the answer to a request for this session contains."""
        return {"modes": to_json(self.config.mode_state()), "configOptions": self.options()}

    def options(self) -> list[dict[str, Any]]:
        """The options for the client, which knows them from then on."""
        self.config.hosted_options = self._hosted.options if self._hosted is not None else ()
        self._known = [to_json(option) for option in self.config.options()]
        return self._known

    def send_options(self) -> None:
        """Sends the options if they have changed since the client got them last."""
        before = self._known
        if self.options() != before:
            options = self.config.options()
            self._send(schema.ConfigOptionUpdate(session_update="config_option_update", config_options=options))

    def send_commands(self) -> None:
        """Sends the commands, which a run may have changed: it reads the skills again."""
        hosted = self._hosted.commands if self._hosted is not None else ()
        found = commands.available(self._session.skills.found, hosted)
        self._send(schema.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=found))

    def set_mode(self, mode: str) -> None:
        """Chooses the mode of the next run, and tells the client. Raises WrongRequest if there is no such mode."""
        before = self.config.mode
        self.config.choose_mode(mode)
        self._send_mode(before)
        self.send_options()

    async def set_option(self, option: str, value: str) -> None:
        """Chooses the value of an option. The answer to the client has the options.

        Raises:
            WrongRequest: there is no such option or value.
            RequestRefused: the agent of another maker does not take it.
        """
        before = self.config.mode
        if option == MODE:
            self.config.choose_mode(value)
        elif option == AGENT:
            self.config.choose_agent(value)
        elif option.startswith(HOSTED_PREFIX):
            await set_agent_option(self._session, option.removeprefix(HOSTED_PREFIX), value)
        else:
            selection = self.config.selection(option, value)
            self._app.check_selection(selection)
            self._session.select_model(selection)
            self.config.chosen = self._session.model
        self._send_mode(before)

    def _send_mode(self, before: str) -> None:
        """Sends the mode if it has changed, for clients that know no options."""
        if (mode := self.config.mode) != before:
            self._send(schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))

    @property
    def _hosted(self) -> HostedAgents | None:
        """The agent of another maker that the user has chosen, if it has worked in the session."""
        hosted = self._session.hosted
        return hosted if hosted.choice.name == self.config.hosted else None
