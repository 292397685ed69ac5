"""The server: its state, and how its parts are connected."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lsprotocol import types

from fairlead.app.app import App, Start
from fairlead.lsp import convert
from fairlead.lsp.connection import ClientConnection
from fairlead.lsp.content import ProposedContent
from fairlead.lsp.convert_together import together_state
from fairlead.lsp.documents import Documents
from fairlead.lsp.editor import LspEditor
from fairlead.lsp.editor_code import EditorProvider
from fairlead.lsp.editor_diagnostics import EditorDiagnostics
from fairlead.lsp.file_problems import FileProblems
from fairlead.lsp.initialization import Initialization, read_storage
from fairlead.lsp.lenses import Lenses
from fairlead.lsp.progress import Progress
from fairlead.lsp.publish import Notifier
from fairlead.session.events import EditsChanged, SessionEvent
from fairlead.session.report.listing import Row
from fairlead.session.store.journal import SavingChanged
from fairlead.session.together.states import TogetherState
from fairlead.shell.terminal import Terminal
from fairlead.wire import protocol as wire


class AgentServer:
    """The state that the handlers in `features/` work with. Implements `FrontEnd`."""

    def __init__(self, connection: ClientConnection, initialization: Initialization) -> None:
        self.connection, self.protocol = connection, connection.protocol
        encoding = connection.workspace.position_encoding
        self.documents = Documents()
        self.documents.encoding = str(getattr(encoding, "value", encoding))
        self.editor = LspEditor(self.protocol, self.documents)
        self.editor.capabilities = capabilities = initialization.capabilities
        self.run_progress = Progress(self.protocol)
        self.terminals: dict[str, Terminal] = {}
        """The terminals in which programs run, by the id of the session."""
        self.background: set[asyncio.Task[Any]] = set()
        self.app = App(
            self._start(initialization),
            self,
            self.documents,
            self.editor,
            EditorDiagnostics(self.protocol, self.documents) if capabilities.editor else None,
            EditorProvider(self.protocol, self.documents) if capabilities.editor else None,
        )
        self.context, self.sessions = self.app.context, self.app.sessions
        self.file_problems = FileProblems(self.protocol, self.documents, self.context)
        if capabilities.sign_ins:
            self.context.server_secrets.on_change = self._send_secret
        self.protocol.flush_notifications = self.sessions.flush
        self.content = ProposedContent(self.protocol, self.sessions)
        self.lenses = Lenses(self.protocol, self.sessions)
        self.lenses.can_refresh = capabilities.lens_refresh
        self.lenses.has_diffs = capabilities.diffs
        self.use_settings(initialization.options.get("settings"))

    def _start(self, initialization: Initialization) -> Start:
        """Reads what the client sent in `initialize`, and reports the folders that cannot be used."""
        options = initialization.options
        storage, storage_warning = read_storage(options.get("storageDir", ""))
        for warning in filter(None, (*initialization.warnings, storage_warning)):
            self.show_warning(warning)
        return Start(
            initialization.folders,
            is_trusted=options.get("trusted", True),
            restores_sessions=options.get("restore", True),
            storage=storage,
        )

    def use_settings(self, given: Any) -> None:
        """Applies settings from the wire. Each problem is reported once."""
        warning = self.app.use_settings(given)
        if warning:
            self.connection.show_message(types.MessageType.Warning, warning)

    def show_warning(self, text: str) -> None:
        self.connection.show_message(types.MessageType.Warning, f"Fairlead: {text}")

    def report_saving(self, changed: SavingChanged) -> None:
        level = types.MessageType.Info if changed.saved else types.MessageType.Warning
        self.connection.show_message(level, f"Fairlead: {changed.message}")
        self.protocol.send_notification(wire.SAVING, convert.saving(changed))

    def publish_list(self, rows: tuple[Row, ...]) -> None:
        if self.editor.capabilities.sessions:
            self.protocol.send_notification(wire.SESSIONS, convert.sessions(rows))

    def publish_together(self, state: TogetherState) -> None:
        if self.editor.capabilities.sessions:
            self.protocol.send_notification(wire.TOGETHER, together_state(state))

    def _send_secret(self, key: str, value: str | None) -> None:
        params: wire.SecretChangedParams = {"key": key, "value": value}
        self.protocol.send_notification(wire.SECRET_CHANGED, params)

    def add_background(self, task: asyncio.Task[Any]) -> None:
        """Holds a reference to a background task until it is done."""
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    def subscribe(self, session_id: str, seq: int) -> Callable[[Sequence[SessionEvent]], None]:
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
