"""Writes the files that a run leaves: its recording (`--record`) and its record (`--save-record`)."""

import shlex
from typing import Any

from rich.text import Text

from fairlead.cli.client import AgentClient, ServerExited
from fairlead.cli.headless.outcome import RunFacts
from fairlead.cli.options import RunOptions
from fairlead.cli.program import program_name
from fairlead.cli.recording import ConversationRecorder
from fairlead.cli.summary import workspace_arguments
from fairlead.cli.view.display import Display
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.models.recording import write_recording
from fairlead.session.record.shape import record_text
from fairlead.wire import protocol as wire
from fairlead.workspace.replace_file import replace_file


class WrittenFiles:
    """The files of one run. What could not be written, and what was, is shown and noted in the facts."""

    def __init__(self, options: RunOptions, client: AgentClient, display: Display, facts: RunFacts) -> None:
        self._options = options
        self._client = client
        self._display = display
        self._facts = facts
        self._recorder = ConversationRecorder(options.prompt or "") if options.recording else None

    def add_event(self, event: dict[str, Any]) -> None:
        """Adds an event to the recording, if there is one."""
        if self._recorder is not None:
            self._recorder.add_event(event)

    def write_recording(self) -> None:
        """Writes the recording, if there is one and it was not written yet."""
        recorder, self._recorder = self._recorder, None
        if recorder is None or self._options.recording is None:
            return
        path, recording = self._options.recording, recorder.recording()
        if not recording.turns:
            self._show(f"  Nothing was recorded, so {path} was not written.")
            return
        try:
            write_recording(path, recording)
        except OSError as error:
            self._show_failure(f"  The recording was not written: {error.strerror or error}")
            return
        self._facts.recording_file = str(path)
        count = len(recording.turns)
        answers, them = ("1 answer", "it") if count == 1 else (f"{count} answers", "them")
        self._show(f"  Recorded {answers} to {path}; play {them} with --replay.")

    async def save_record(self, session_id: str) -> None:
        """Notes the summary of the session's record, and saves the record if that was requested.

        Raises:
            ServerExited: as for `AgentClient.request`. The caller shows the reason.
        """
        path = self._options.record
        try:
            result: wire.RecordResult = await self._client.request(wire.RECORD, {"sessionId": session_id})
            self._facts.summary = result["summary"]
            if path is not None:
                replace_file(path, record_text(result["record"]))
        except ServerExited:
            if path is not None:
                self._show_failure("The record was not saved.")
            raise
        except (wire.RequestError, OSError) as error:
            if path is not None:
                reason = error.strerror if isinstance(error, OSError) else None
                self._show_failure(f"The record was not saved: {clean(reason or str(error))}")
            return
        if path is not None:
            self._facts.record_file = str(path)
            verify = f"verify {shlex.quote(str(path))}{workspace_arguments(self._options.workspace)}"
            self._show(escape_hidden(f"Saved the record to {path}. To verify it: {program_name()} {verify}"))

    def _show(self, text: str) -> None:
        self._display.show([Text(text, style="dim")])

    def _show_failure(self, text: str) -> None:
        self._facts.has_unwritten_file = True
        self._display.show([Text(text, style="red")])
