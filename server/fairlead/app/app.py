"""What all front ends share: the settings, the credentials, the workspace and the sessions of a process."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from fairlead.agent.model import Request, Retrying
from fairlead.agent.outcome import Outcome
from fairlead.app.endpoint import Credentials, choose_endpoint, default_endpoint, endpoint_specs
from fairlead.app.model_catalog import EndpointModels, ModelCatalog
from fairlead.app.settings import ignored_values, read_settings
from fairlead.app.state_folder import state_folder
from fairlead.app.warm_up import start_warm_up
from fairlead.code.provider import Provider
from fairlead.display import end_sentence, escape_to_one_line
from fairlead.errors import ToolError
from fairlead.gate.remembered import Remembered
from fairlead.gate.request import AskingEditor
from fairlead.hosted_agents.starting import AgentsContext
from fairlead.messages.parts import Message, Prompt
from fairlead.models.common.models_list import MAX_NAME
from fairlead.models.common.presets import ModelFacts, presets
from fairlead.models.common.prices import price_of
from fairlead.models.factory import ModelChoice, open_model
from fairlead.sentences import Phrase
from fairlead.session.errors import RequestRefused, WrongRequest
from fairlead.session.events import EditsChanged, PlanChanged, SessionEvent
from fairlead.session.idle.idle_checks import IdleChecks
from fairlead.session.model_selection import BY_SETTINGS, ModelSelection
from fairlead.session.report.listing import Row
from fairlead.session.report.summary import short_record
from fairlead.session.review import decisions
from fairlead.session.review.checks import check_accepted
from fairlead.session.review.target import HunkOutcome, Target
from fairlead.session.run.prompt import RunTask
from fairlead.session.server_context import ServerContext
from fairlead.session.session import Session
from fairlead.session.sessions import Sessions
from fairlead.session.settings import Settings
from fairlead.session.store.journal import Journals, SavingChanged
from fairlead.session.together.states import TogetherState
from fairlead.session.together.together import Together
from fairlead.shell.environment import KEY_VARIABLES
from fairlead.shell.layers import CommandLayers
from fairlead.tool_servers.inputs import Enter, entered_values
from fairlead.tool_servers.known import KnownServers
from fairlead.tool_servers.local import data_folder
from fairlead.tool_servers.sign_ins import Authorize, sign_in
from fairlead.tool_servers.variables import Values
from fairlead.workspace.editor import Buffers, DiagnosticsSource
from fairlead.workspace.paths import Roots
from fairlead.workspace.watch import Watcher

TEST_SYSTEM = "You are a coding agent. The user is checking whether you can be reached."
TEST_PROMPT = "Answer with OK."


class FrontEnd(Protocol):
    """What sends the states and events to the user."""

    def show_warning(self, text: str) -> None:
        """Reports a problem that is not the result of a request."""
        ...

    def report_saving(self, changed: SavingChanged) -> None:
        """Reports that a session can no longer be saved, or is saved again."""
        ...

    def subscribe(self, session_id: str, seq: int) -> Callable[[Sequence[SessionEvent]], None]:
        """Returns the sink for a session's events. `seq` is the number of events that were sent earlier."""
        ...

    def publish_list(self, rows: tuple[Row, ...]) -> None:
        """Shows the list of all sessions."""
        ...

    def publish_together(self, state: TogetherState) -> None:
        """Shows what is known about the proposals of all sessions together."""
        ...


@dataclass(frozen=True)
class Start:
    """What the client says once, at the start."""

    folders: Sequence[tuple[Path, str]]
    """The folders of the workspace with their names."""
    is_trusted: bool
    restores_sessions: bool
    """See `ServerContext`."""
    storage: Path | None
    """The folder of the saved sessions and the layers. None: sessions are not saved."""


class App:
    """The sessions of a process and everything that they share."""

    def __init__(
        self,
        start: Start,
        front_end: FrontEnd,
        buffers: Buffers,
        editor: AskingEditor,
        diagnostics: DiagnosticsSource | None,
        editor_code: Provider | None,
    ) -> None:
        """
        Args:
            diagnostics, editor_code: see `ServerContext`.
        """
        self.credentials = Credentials()
        self.catalog = ModelCatalog()
        self._front_end = front_end
        self._watcher = Watcher(self._changed_on_disk, self._others_changed)
        self._reported: set[str] = set()
        self._checking: set[asyncio.Task[None]] = set()
        storage = start.storage
        self.context = ServerContext(
            buffers,
            editor,
            self._choose_model,
            Settings(),
            CommandLayers(storage or state_folder(), front_end.show_warning),
            self._choose_small_model,
            self._choose_named_model,
            warn_once=self._warn_once,
            watch=self._watcher.watch,
            known_servers=KnownServers((storage or state_folder()) / "tool-servers.json"),
            agents=AgentsContext(allowed=Remembered((storage or state_folder()) / "agents.json")),
            allowed_hooks=Remembered((storage or state_folder()) / "hooks.json"),
            journals=Journals(storage and storage / "sessions", front_end.show_warning, front_end.report_saving),
            roots=Roots().with_folders(start.folders),
            trusted=start.is_trusted,
            restores_sessions=start.restores_sessions,
            diagnostics=diagnostics,
            editor_code=editor_code,
        )
        self.sessions = Sessions(self.context, self._subscribe, front_end.publish_list)
        self.together = Together(self.context, self.sessions, front_end.publish_together)
        self.idle_checks = IdleChecks(self.context, self.sessions)

    def _subscribe(self, session_id: str, seq: int) -> Callable[[Sequence[SessionEvent]], None]:
        sink = self._front_end.subscribe(session_id, seq)

        def on_events(events: Sequence[SessionEvent]) -> None:
            sink(events)
            if any(isinstance(event, PlanChanged | EditsChanged) for event in events):
                self.together.refresh()
            self.idle_checks.on_events(events)

        return on_events

    def use_settings(self, given: Any) -> str:
        """Applies settings as `read_settings` reads them. Returns a warning if there are new problems, else ""."""
        self.context.settings, problems = read_settings(given, self.context.settings)
        own = (spec.key_variables for spec in self.context.settings.endpoints.values())
        os.environ[KEY_VARIABLES] = ",".join(name for names in own for name in names)  # keeps them from commands
        new = [problem for problem in problems if problem not in self._reported]
        self._reported.update(problems)
        self.idle_checks.note_activity()
        return ignored_values(new) if new else ""

    def prepare(self) -> None:
        """Prepares the first run, and opens the workspace."""
        self._warm_up()
        self._open_workspace()

    def use_credentials(self, credentials: Credentials) -> None:
        """Replaces the keys and the address."""
        self.credentials = credentials
        if not self._choose_model().endpoint.is_without_key:
            self._warm_up()

    def _warm_up(self) -> None:
        """Imports what the first run needs. Without a key, this is not the SDK: a hosted agent needs none."""
        if not self.context.settings.replay:
            endpoint = self._choose_model().endpoint
            start_warm_up(None if endpoint.is_without_key else endpoint.api)

    def trust(self, is_trusted: bool) -> None:
        """The user trusts the workspace, or no longer does."""
        self.context.trusted = is_trusted
        self._open_workspace()

    def change_folders(self, removed: Collection[Path], added: Sequence[tuple[Path, str]]) -> None:
        """Removes and adds folders. The workspace's trust applies to added ones too."""
        before = [(root.path, root.name) for root in self.context.roots.folders if root.path not in removed]
        self.context.roots = self.context.roots.with_folders([*before, *added])
        self.sessions.change_folders()
        self._open_workspace()

    def _open_workspace(self) -> None:
        """Restores the sessions and starts to probe the sandbox, unless `ServerContext.workspace` refuses."""
        with contextlib.suppress(RequestRefused):
            self.sessions.restore()
            self.context.layers.start_probe(self.context.workspace())

    async def warm(self, session_id: str | None) -> None:
        """Prepares the next run of a session; None: of a new one.

        Raises:
            WrongRequest, RequestRefused: as `Sessions.get` and `ServerContext.workspace`.
        """
        roots = self.context.workspace()
        if session_id is None:
            connecting = self.context.spare_model.connect(self._choose_model())
        else:
            connecting = (await self.sessions.get(session_id)).warm()
        await asyncio.gather(self.context.layers.capability(roots), connecting)

    async def list_models(
        self, session_id: str | None, *, refresh: bool, ask: Collection[str] | None
    ) -> list[EndpointModels]:
        """The models that can be chosen, by endpoint; that of the session, or of a new one, is the first.

        Raises:
            WrongRequest, RequestRefused: as `Sessions.get`.
        """
        settings = self.context.settings
        selection = (await self.sessions.get(session_id)).selection if session_id else BY_SETTINGS
        default = default_endpoint(settings, self.credentials)
        return await self.catalog.groups(
            endpoint_specs(settings),
            lambda name: self._choose_model(ModelSelection(name)).endpoint,
            selection.endpoint or default,
            {default, *settings.endpoints},
            refresh=refresh,
            ask=ask,
        )

    def check_selection(self, selection: ModelSelection) -> None:
        """Raises WrongRequest if the endpoint does not exist, or a name is too long."""
        if max(len(selection.model), len(selection.effort or "")) > MAX_NAME:
            raise WrongRequest(f"The name of a model or an effort must have at most {MAX_NAME} characters.")
        if selection.endpoint and selection.endpoint not in endpoint_specs(self.context.settings):
            raise WrongRequest(self._choose_model(selection).endpoint.problem)

    async def try_model(self, selection: ModelSelection) -> str:
        """Sends a small request to a model, so that the user knows whether it answers. Returns its name.

        Raises:
            ModelError: the request failed, even if a run would send it again.
        """
        model = open_model(self._choose_model(selection))
        request = Request(TEST_SYSTEM, (), [Message("user", (Prompt(TEST_PROMPT),))])
        try:
            async with contextlib.aclosing(model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Retrying):  # the user is waiting, so the first failure is the answer
                        raise event.error
        finally:
            await model.aclose()
        return model.name

    async def sign_in(self, server: str, redirect: str, authorize: Authorize, enter: Enter) -> None:
        """Signs the user in to a tool server: asks again for its inputs, and opens the page of a remote one.

        Args:
            redirect: where the browser is sent back to; may be empty if there is no page.
            authorize: opens a page. Returns the address that the browser was sent back to; None: the user gave up.
            enter: asks for a value.

        Raises:
            WrongRequest: there is no such server, or the browser cannot be sent back there.
            RequestRefused: it did not work. The message says why.
        """
        context = self.context
        given = context.tool_definitions(context.roots) if context.trusted else context.settings.mcp_servers
        definition = given.get(server)
        if definition is None or not (definition.is_remote or definition.inputs):
            name = escape_to_one_line(server)
            raise WrongRequest(f"There is no tool server called {name} that one can sign in to. Check its name.")
        has_page = definition.is_remote and not (definition.has_own_key and definition.inputs)
        if has_page and not redirect.startswith(("http://", "https://")):
            raise WrongRequest("redirectUri must begin with http:// or https://.")
        roots = context.roots
        folder = roots.first.path if roots.folders else Path.home()
        data = data_folder(definition, context.packages)
        secrets = context.server_secrets
        try:
            entered = await entered_values(definition, secrets, enter, again=True)
            if has_page:
                values = Values(folder, Path.home(), data, os.environ.get, entered)
                await sign_in(secrets, definition, values, redirect, authorize)
        except ToolError as error:
            raise RequestRefused(f"You are not signed in to {server}: {end_sentence(str(error))}") from error
        if definition.inputs:
            await asyncio.gather(*(session.tool_servers.reset(server) for session in self.sessions))
        self._report_tool_servers()

    def use_secrets(self, values: Mapping[str, str]) -> None:
        """Takes over the sign-ins to tool servers that the front end has saved."""
        self.context.server_secrets.replace(values)
        self._report_tool_servers()

    def _report_tool_servers(self) -> None:
        for session in self.sessions:
            session.server_statuses.schedule()

    def check_cost_limit(self, selection: ModelSelection) -> None:
        """Checks that a run's cost can be limited, if the settings limit it.

        Raises:
            RequestRefused: the price of the model is unknown.
        """
        if name := self._model_without_price(selection):
            limit = f"${self.context.settings.budget.cost_usd:.2f}"
            raise RequestRefused(
                f"The run was not started: its cost is limited to {limit}, but the price of the model “{name}” is "
                "unknown. Set the price in the setting endpoints, or limit budget.tokens or budget.minutes instead."
            )

    def warn_about_cost_limit(self, selection: ModelSelection) -> None:
        """Reports once for each model that the limit for a run's cost has no effect, if its price is unknown."""
        if name := self._model_without_price(selection):
            text = f"The setting budget.costUsd has no effect, because the price of the model “{name}” is unknown."
            self._warn_once(f"{text} Set budget.tokens or budget.minutes instead.")

    def _model_without_price(self, selection: ModelSelection) -> str:
        """The name of the model, if the settings limit the cost of a run and its price is unknown; otherwise empty."""
        settings = self.context.settings
        if settings.budget.cost_usd <= 0 or settings.replay:
            return ""
        choice = self._choose_model(selection)
        return "" if _has_price(choice) else choice.endpoint.model

    def _keeps_cost_limit(self, choice: ModelChoice, selection: ModelSelection) -> bool:
        """Whether the cost of a run with the selected model can still be limited if the run asks this one too.

        If not, the user reads why it is not asked.
        """
        is_limited = self.context.settings.budget.cost_usd > 0 and not self._model_without_price(selection)
        if not is_limited or _has_price(choice):
            return True
        text = f"The model “{choice.endpoint.model}” is not used, because its price is unknown and the cost is limited."
        self._warn_once(f"{text} Set the price in the setting endpoints, or limit budget.tokens instead.")
        return False

    async def run(
        self, session: Session, task: RunTask, on_begin: Callable[[], None] = lambda: None
    ) -> tuple[Outcome, tuple[Phrase, ...]]:
        """Runs a task. Returns its outcome and a short summary of the whole session's work.

        Args:
            on_begin: as for `Session.run`.

        Raises:
            RequestRefused: as `Session.run`.
        """

        def begin() -> None:
            self.warn_about_cost_limit(session.selection)
            on_begin()

        outcome = await session.run(task, begin)
        record = short_record(session.snapshot(), session.evidence.support_by_item)
        session.show_end(outcome, record)
        return outcome, record

    async def accept(
        self, session: Session, target: Target, seen_version: int | None, *, overwrite_user_lines: bool = False
    ) -> list[HunkOutcome]:
        """Accepts changes, then starts the checks that the settings require. Warns about those that fail.

        Args:
            seen_version, overwrite_user_lines: as for `decisions.accept`, whose exceptions it raises.
        """
        outcomes = await decisions.accept(session.review, target, seen_version, overwrite_user_lines)
        if any(outcome.outcome == "applied" for outcome in outcomes):
            task = asyncio.ensure_future(self._check_accepted(session))
            self._checking.add(task)
            task.add_done_callback(self._checking.discard)
        return outcomes

    async def _check_accepted(self, session: Session) -> None:
        for failure in await check_accepted(session.user_checks):
            self._front_end.show_warning(failure)

    def prepare_exit(self) -> None:
        """Runs that end from now on count as interrupted."""
        for session in self.sessions:
            session.runs.prepare_exit()

    async def close(self) -> None:
        """Ends the runs and their commands."""
        await self._watcher.close()
        await self.idle_checks.aclose()
        await self.together.aclose()
        await self.sessions.close()

    def _choose_model(self, selection: ModelSelection = BY_SETTINGS) -> ModelChoice:
        settings = self.context.settings
        replay = Path(os.path.expanduser(settings.replay)) if settings.replay else None
        endpoint = choose_endpoint(settings, self.credentials, selection=selection)
        spec = endpoint_specs(settings).get(endpoint.name)
        facts = spec.models.get(endpoint.model, ModelFacts()) if spec else ModelFacts()
        if settings.context_tokens and not facts.context_tokens and selection == BY_SETTINGS:
            facts = replace(facts, context_tokens=settings.context_tokens)
        return ModelChoice(endpoint, replay, facts, self.catalog.facts(endpoint))

    def _choose_named_model(self, selection: ModelSelection, name: str) -> ModelChoice | None:
        if self.context.settings.replay:
            return None
        endpoint = self._choose_model(selection).endpoint.name
        choice = self._choose_model(ModelSelection(endpoint, name))
        has_facts = ModelFacts() != choice.facts or ModelFacts() != choice.listed
        is_priced = choice.endpoint.is_hosted and price_of(name) is not None
        is_known = has_facts or is_priced
        return choice if is_known and self._keeps_cost_limit(choice, selection) else None

    def _choose_small_model(self, selection: ModelSelection) -> ModelChoice | None:
        settings = self.context.settings
        small = settings.small_model
        if settings.replay or not (small.endpoint or small.model):
            return None
        endpoint = small.endpoint or self._choose_model(selection).endpoint.name
        choice = self._choose_model(ModelSelection(endpoint, small.model))
        return replace(choice, endpoint=replace(choice.endpoint, effort=None))  # its work needs little thought

    def _warn_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._front_end.show_warning(text)

    def _changed_on_disk(self, paths: Collection[Path]) -> None:
        self.idle_checks.note_activity()
        self.sessions.observe(paths)

    def _others_changed(self) -> None:
        self.idle_checks.note_activity()
        self.sessions.compare_files()


def _has_price(choice: ModelChoice) -> bool:
    """Whether it is known, or will be, what a request to a model costs."""
    spec = presets().get(choice.endpoint.name)
    reports_cost = spec is not None and spec.reports_cost
    return bool(reports_cost or choice.facts.price or choice.listed.price or price_of(choice.endpoint.model))
