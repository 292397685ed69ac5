"""The server: its state, and how its parts are connected."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types

from fairlead.app.settings import read_settings
from fairlead.lsp import convert
from fairlead.lsp import protocol as wire
from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.content import ProposedContent
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.lsp.lenses import Lenses
from fairlead.lsp.progress import Progress
from fairlead.lsp.publish import Notifier
from fairlead.models.anthropic.clouds import Cloud
from fairlead.models.anthropic.endpoint import Endpoint
from fairlead.models.anthropic.messages_api import is_sdk_loaded, load_sdk
from fairlead.models.common.prices import price_list, price_of
from fairlead.models.factory import ModelChoice
from fairlead.session.events import EditsChanged, SessionEvent
from fairlead.session.report.listing import Row
from fairlead.session.server_context import ServerContext
from fairlead.session.sessions import Sessions
from fairlead.session.settings import Settings
from fairlead.workspace.watch import Watcher


@dataclass(frozen=True)
class Credentials:
    """The values of `agent/credentials`. Never logged or stored, and not shown by repr."""

    api_key: str | None = None
    auth_token: str | None = None
    base_url: str | None = None

    def __repr__(self) -> str:
        return "Credentials(...)"


class AgentServer:
    """The state that the handlers in `features/` work with."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection, self.protocol = connection, connection.protocol
        self.documents = Documents()
        self.editor = LspEditor(self.protocol, self.documents)
        self.credentials = Credentials()
        self.watcher = Watcher(self._changed_on_disk, self._others_changed)
        self.context = ServerContext(
            self.documents, self.editor, self.choose_model, Settings(), watch=self.watcher.watch
        )
        self.sessions = Sessions(self.context, self._event_sink, self._publish_list)
        self.protocol.flush_notifications = self.sessions.flush
        self.run_progress = Progress(self.protocol)
        self.content = ProposedContent(self.protocol, self.sessions)
        self.lenses = Lenses(self.protocol, self.sessions)
        self.background: set[asyncio.Task[Any]] = set()
        self._reported: set[str] = set()

    def _changed_on_disk(self, paths: Collection[Path]) -> None:
        self.sessions.observe(paths)

    def _others_changed(self) -> None:
        self.sessions.compare_files()

    def use_settings(self, given: Any) -> None:
        """Applies settings from the wire. Each problem is reported once."""
        self.context.settings, problems = read_settings(given, self.context.settings)
        new = [problem for problem in problems if problem not in self._reported]
        self._reported.update(new)
        if new:
            listed = "; ".join(problem.removesuffix(".") for problem in new)
            self.connection.show_message(
                types.MessageType.Warning, f"Some values in Fairlead's settings are ignored: {listed}."
            )

    def show_warning(self, text: str) -> None:
        """Reports a problem that is not the result of a request."""
        self.connection.show_message(types.MessageType.Warning, f"Fairlead: {text}")

    def warn_about_cost_limit(self) -> None:
        """Reports once for each model that the limit for a run's cost has no effect, if its price is unknown."""
        settings = self.context.settings
        name = settings.model
        if settings.budget.cost_usd <= 0 or settings.replay or price_of(name) is not None:
            return
        text = f"The setting budget.costUsd has no effect, because the price of the model “{name}” is unknown."
        if text not in self._reported:
            self._reported.add(text)
            self.show_warning(f"{text} Set budget.tokens or budget.minutes instead.")

    def show_info(self, text: str) -> None:
        """Reports that a problem is solved."""
        self.connection.show_message(types.MessageType.Info, f"Fairlead: {text}")

    def _publish_list(self, rows: tuple[Row, ...]) -> None:
        if self.editor.capabilities.sessions:
            self.protocol.send_notification(wire.SESSIONS, convert.sessions(rows))

    def choose_model(self) -> ModelChoice:
        """The endpoint of the model that the settings name, and the recording that replaces it, if there is one.

        Keys come from agent/credentials, else from the environment. The base URL comes from agent/credentials, else
        from the settings, else from the environment. A cloud gets neither a key nor ANTHROPIC_BASE_URL, because these
        belong to the Anthropic API.
        """
        settings, given = self.context.settings, self.credentials
        env: Mapping[str, str] = os.environ
        api_key, auth_token, cloud = given.api_key, given.auth_token, None
        if settings.provider != "anthropic":
            cloud = Cloud(settings.provider, settings.cloud.region.strip(), settings.cloud.project.strip())
            api_key, auth_token, env = None, None, dict[str, str]()
        elif not (api_key or auth_token):
            api_key, auth_token = env.get("ANTHROPIC_API_KEY"), env.get("ANTHROPIC_AUTH_TOKEN")
        endpoint = Endpoint(
            model=settings.model,
            max_tokens=settings.max_tokens,
            effort=settings.effort or None,
            base_url=given.base_url or settings.base_url or env.get("ANTHROPIC_BASE_URL") or None,
            api_key=api_key or None,
            auth_token=auth_token or None,
            cloud=cloud,
            max_silence=settings.max_silence_seconds,
        )
        return ModelChoice(endpoint, Path(os.path.expanduser(settings.replay)) if settings.replay else None)

    def warm_up(self) -> None:
        """Imports the modules that the first run needs, in a thread. Does nothing if a recording is played."""
        if self.context.settings.replay:
            return
        threading.Thread(target=_import_all, name="warm-up", daemon=True).start()

    def add_background(self, task: asyncio.Task[Any]) -> None:
        """Holds a reference to a background task until it is done."""
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    def _event_sink(self, session_id: str, seq: int) -> Callable[[Sequence[SessionEvent]], None]:
        progress = self.run_progress
        token, encoding = partial(progress.token, session_id), self.documents.encoding
        incremental = self.editor.capabilities.incremental
        notifier = Notifier(
            session_id, lambda: self.context.roots, self.protocol, token, seq, encoding, incremental=incremental
        )

        def on_events(events: Sequence[SessionEvent]) -> None:
            notifier(events)
            for event in events:
                progress.on_event(session_id, event)
                if isinstance(event, EditsChanged):
                    self.content.refresh(session_id, event.changes)
                    self.lenses.refresh()

        return on_events


def _import_all() -> None:
    if is_sdk_loaded():
        return  # this process was forked from one that had imported everything, as in the tests
    # `dataclass(slots=True)` creates each class twice; once the first copies are freed, the SDK can use their memory
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    price_list()
    load_sdk()
    # modules stay in memory, and examining them in each collection would stall the event loop
    gc.freeze()
