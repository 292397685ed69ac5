"""Shows the events of a run as lines."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from fairlead.cli.view.display import Display
from fairlead.cli.view.plan_view import Step, changed_steps, plan_lines, plan_steps
from fairlead.cli.view.text import StreamWrapper, clean, crop, escape_hidden, first_line, wrap
from fairlead.display import count_of, escape_to_one_line
from fairlead.sentences import Sentence
from fairlead.uris import file_path
from fairlead.wire import states
from fairlead.workspace.paths import Roots

Json = dict[str, Any]

OUTPUT_HEAD = 10
OUTPUT_TAIL = 5
MIN_TITLE = 20  # columns of a command's title that are shown even if its outcome then does not fit
RETRY_REPORT_SECONDS = 30
"""After this time, a retry is reported even if nothing about it is new. Loading a local model can take minutes."""


@dataclass
class _Call:
    """A running tool call. The first rows of its output are shown at once, the last ones when it ends."""

    title: str
    kind: str
    output: StreamWrapper
    location: str = ""
    """For example ", in the sandbox"."""
    handle: str | None = None
    """Of a background command, to stop it; None for other calls."""
    ended: Json | None = None
    """The `command_ended` of its command; None before."""
    shown_rows: int = 0
    """How many rows have been shown, including the title."""
    omitted_rows: int = 0
    """How many rows are neither shown nor in `tail`."""
    tail: deque[Text] = field(default_factory=lambda: deque(maxlen=OUTPUT_TAIL))


class Transcript:
    """Shows events on a display. `last_text` is the model's text since its last tool call."""

    def __init__(self, display: Display, workspace: Roots) -> None:
        self._display, self._workspace = display, workspace
        self._text: StreamWrapper | None = None
        self._text_kind: str = ""
        self._last_block = ""
        self._retry_reason = ""
        self._retry_delay = 0.0
        self._waited = 0.0
        self._calls: dict[str, _Call] = {}
        self._background: dict[str, _Call] = {}
        self._ended: list[_Call] = []
        self._plan: tuple[Step, ...] = ()
        self._shown_plan: tuple[Step, ...] = ()
        self._shown_errors: Mapping[str, int] = {}
        self.last_text = ""
        self._handlers: dict[str, Callable[[Json], None]] = {
            "context": lambda event: self.note(f"Context: {escape_hidden(event['title'])}"),
            "rules": self._rules,
            "round_started": self._round_started,
            "text": lambda event: self._stream("text", event["text"]),
            "thinking": lambda event: self._stream("thinking", event["text"]),
            "tool_started": self._tool_started,
            "command": self._command_started,
            "command_ended": self._command_ended,
            "tool_output": self._tool_output,
            "tool_finished": self._tool_finished,
            "reminder": lambda event: self.note(event["about"], mark=self._display.marks.repeat),
            "retry": self._retry,
            "compacted": lambda event: self.note(event["text"], mark=self._display.marks.repeat),
            "run_finished": lambda _: self.end_text(),
        }

    @property
    def plan(self) -> Sequence[Step]:
        return self._plan

    @property
    def background_commands(self) -> Sequence[str]:
        """The handles of the background commands that are running, by which the server can stop them."""
        return [call.handle for call in self._background.values() if call.handle is not None]

    def on_plan(self, plan: states.PlanWire) -> None:
        """Handles a changed plan. Its changes are shown when a tool call ends or a round starts."""
        self._plan = plan_steps(plan)
        self._display.set_plan(self._plan)

    def on_edits(self, edits: states.EditsWire) -> None:
        """Shows how many new errors the proposals have, if a file has more than at the previous call."""
        counts = {file["newUri"] or file["uri"]: len(file["problems"]) for file in edits["files"] if file["problems"]}
        if any(count > self._shown_errors.get(uri, 0) for uri, count in counts.items()):
            total = sum(counts.values())
            names = ", ".join(map(self._name, counts))
            self.note(f"{count_of(total, 'new error')} in {names}", style="red")
        self._shown_errors = counts

    def begin_with_plan(self, plan: states.PlanWire) -> None:
        """Starts a continued run with this plan. Without a status area, the first round begins by showing it."""
        self.on_plan(plan)
        if self._display.width is not None:
            self._shown_plan = self._plan

    def on_event(self, event: Json) -> None:
        """Shows an `agent/event`. Unknown kinds are ignored."""
        handler = self._handlers.get(event["kind"])
        if handler is not None:
            handler(event)

    def note(self, text: str, style: str = "dim", mark: str | None = None) -> None:
        """Shows a line about the run itself, after `mark`. If `mark` is None, `Marks.note` is used."""
        self.end_text()
        self._begin_block("tools")
        line = Text(f"{mark or self._display.marks.note} {clean(text)}", style=style)
        self._display.show(wrap(line, self._display.console, self._display.width, indent=2))

    def end_text(self) -> None:
        """Finishes the current text or thinking of the model. Does nothing if there is none."""
        if self._text is not None:
            stream, self._text = self._text, None
            self._show_text(stream.finish(self._display.width))
            self._display.set_status("")
            self._text_kind = ""

    def show_ended_commands(self) -> None:
        """Shows how the background commands ended that have ended since the last call."""
        calls, self._ended = self._ended, []
        for call in calls:
            assert call.ended is not None
            self._begin_block("tools")
            self._display.show([self._end_of_command(call, call.ended)])

    def _rules(self, event: Json) -> None:
        names = [self._name(file["uri"]) + (" (only its beginning)" if file["cut"] else "") for file in event["files"]]
        self.note(f"Rules: {', '.join(names)}")

    def _name(self, uri: str) -> str:
        path = file_path(uri)
        if path is None or not self._workspace.contains(path):
            return escape_to_one_line(uri)
        return escape_to_one_line(self._workspace.relative(path))

    def _round_started(self, _: Json) -> None:
        self.end_text()
        self.show_ended_commands()
        self._show_plan_changes()
        self._display.set_status("waiting for the model")

    def _stream(self, kind: str, text: str) -> None:
        if kind != self._text_kind:
            self.end_text()
            self._text_kind = kind
            self._text = StreamWrapper(self._display.console, "dim italic" if kind == "thinking" else "")
        if kind == "text":
            self.last_text += text
        assert self._text is not None
        width = self._display.width
        finished, draft = self._text.feed(text, width), self._text.draft(width)
        if draft is not None:
            self._begin_block(kind)
        self._show_text(finished)
        self._display.set_status("thinking" if kind == "thinking" else "writing", draft)

    def _show_text(self, finished: Sequence[Text]) -> None:
        if finished:
            self._begin_block(self._text_kind)
            self._display.show(finished)

    def _tool_started(self, event: Json) -> None:
        self.end_text()
        self.last_text = ""
        title = escape_hidden(event["title"]).strip() or event["name"]
        if event["toolKind"] == "execute":
            title = f"{self._display.marks.command} {title}"
        self._calls[event["toolCallId"]] = _Call(
            title, event["toolKind"], StreamWrapper(self._display.console, "dim", indent=6)
        )
        self._display.set_status(_title_line(title))

    def _command_started(self, event: Json) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is None or call.kind != "execute":  # a check
            return
        call.handle = event["handle"]
        if event["mode"] == "sandboxed":
            reached = [*(["the network"] if event["network"] else []), *event["services"]]
            call.location = f", in the sandbox with {' and '.join(reached)}" if reached else ", in the sandbox"

    def _command_ended(self, event: Json) -> None:
        """Notes how a command ended. If it ran in the background, that is shown later, between two calls."""
        call_id = event["toolCallId"]
        call = self._calls.get(call_id)
        if call is None and call_id in self._background:
            call = self._background.pop(call_id)
            self._ended.append(call)
        if call is not None and call.kind == "execute":
            call.ended = event

    def _tool_output(self, event: Json) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is None:
            return
        finished = call.output.feed(event["text"], self._display.width)
        if not call.shown_rows and (finished or call.output.draft(self._display.width)):
            self._begin_block("tools")
            self._display.show([self._command_line(call)])
            call.shown_rows = 1
        self._show_output(call, finished)
        self._display.set_status(_title_line(call.title), call.output.draft(self._display.width))

    def _show_output(self, call: _Call, finished: Sequence[Text]) -> None:
        remaining = max(0, 1 + OUTPUT_HEAD - call.shown_rows)
        self._display.show(finished[:remaining])
        call.shown_rows += len(finished[:remaining])
        for row in finished[remaining:]:
            call.omitted_rows += len(call.tail) == OUTPUT_TAIL
            call.tail.append(row)

    def _tool_finished(self, event: Json) -> None:
        call = self._calls.pop(event["toolCallId"], None)
        if call is None:
            return
        self._display.set_status("")
        self._show_output(call, call.output.finish(self._display.width))
        if call.omitted_rows:
            self._display.show([Text(f"      ... {call.omitted_rows:,} lines not shown ...", style="dim")])
        self._display.show(list(call.tail))
        self._begin_block("tools")
        self._display.show(self._outcome(call, event))
        if call.handle is not None and call.ended is None:
            call.shown_rows = 0  # its end is shown later, with the title
            self._background[event["toolCallId"]] = call
        self.show_ended_commands()
        self._show_plan_changes()

    def _command_line(self, call: _Call) -> Text:
        return crop(Text(f"  {_title_line(call.title)}"), self._display.width)

    def _outcome(self, call: _Call, event: Json) -> list[Text]:
        """The lines of a finished call: a mark, the title unless it is above the output, and the outcome."""
        if call.ended is not None and (not event["isError"] or call.ended["ended"] == "timeout"):
            return [self._end_of_command(call, call.ended)]
        title = "" if call.shown_rows else _title_line(call.title)
        gap = "  " if title else " "
        if call.handle is not None and not event["isError"]:
            running = f"runs in the background{call.location}"
            return [self._command_row(call, (self._display.marks.note, "dim"), running, "dim")]
        update = event["planUpdate"]
        refused = [step for step in update["open"] if step["problem"]] if update else []
        line = Text.assemble(self._mark(not event["isError"] and not refused), f" {title}".rstrip())
        if event["isError"]:
            shown = event["shown"]
            text = Sentence(shown["template"], *shown["arguments"]) if shown else first_line(event["text"]).rstrip(":")
            line.append(gap + text, style="red")
            return wrap(line, self._display.console, self._display.width, indent=2)
        if refused:
            reasons = [f"#{step['id']} is not completed: its check {first_line(step['problem'])}" for step in refused]
            line.append(gap + "\n".join(reasons), style="red")
            return wrap(line, self._display.console, self._display.width, indent=2)
        if call.kind == "edit":
            line.append(f"{gap}{first_line(event['text'])}", style="dim")
        return [crop(Text.assemble("  ", line), self._display.width)]

    def _end_of_command(self, call: _Call, ended: Json) -> Text:
        """The row that says how a command ended, by its event `command_ended`."""
        how = {"timeout": "killed at its time limit", "stopped": "stopped", "failed": "not run"}
        words = how.get(ended["ended"], f"exit code {ended['exitCode']}")
        succeeded, was_stopped = ended["exitCode"] == 0, ended["ended"] == "stopped"
        mark = (self._display.marks.note, "dim") if was_stopped else self._mark(succeeded)
        style = "dim" if succeeded or was_stopped else "red"
        return self._command_row(call, mark, f"{words}, {ended['seconds']:.1f} s{call.location}", style)

    def _command_row(self, call: _Call, mark: tuple[str, str], outcome: str, style: str) -> Text:
        """A row about a command: a mark, the title unless it is above the output, and the outcome.

        A long title is cropped so that the outcome fits.
        """
        width, title = self._display.width, Text()
        if not call.shown_rows:
            title = Text(f" {_title_line(call.title)}")
            crop(title, None if width is None else max(width - len(outcome) - 5, MIN_TITLE)).append(" ")
        return crop(Text.assemble("  ", mark, title, (f" {outcome}", style)), width)

    def _mark(self, succeeded: bool) -> tuple[str, str]:
        """The mark of an outcome and its style."""
        return (self._display.marks.done, "green") if succeeded else (self._display.marks.failed, "red")

    def _show_plan_changes(self) -> None:
        """Shows the changed steps. Without a status area, shows the whole plan if its list of steps has changed."""
        before, self._shown_plan = self._shown_plan, self._plan
        if before == self._plan:
            return
        same_steps = [step.item.content for step in before] == [step.item.content for step in self._plan]
        is_whole = self._display.width is None and not same_steps
        lines = plan_lines(self._plan) if is_whole else changed_steps(before, self._plan)
        self._begin_block("tools")
        console, width = self._display.console, self._display.width
        self._display.show([row for line in lines for row in wrap(line, console, width, indent=4)])

    def _retry(self, event: Json) -> None:
        """Reports a retry if it is the first, has a new reason or a longer delay, or after `RETRY_REPORT_SECONDS`."""
        delay, reason = event["delayMs"] / 1000, first_line(event["error"]["message"])
        is_new = event["attempt"] == 1 or reason != self._retry_reason
        if is_new or delay > self._retry_delay or self._waited >= RETRY_REPORT_SECONDS:
            text = f"attempt {event['attempt']} failed, trying again in {delay:.1f} s"
            self.note(f"{text}: {reason}" if is_new else text, mark=self._display.marks.repeat)
            self._waited = 0.0
        self._retry_reason, self._retry_delay = reason, delay
        self._waited += delay
        self._display.set_status(f"trying again in {delay:.1f} s")

    def _begin_block(self, kind: str) -> None:
        """Shows a blank line between blocks of different kinds."""
        if self._last_block != kind:
            self._display.show([Text()])
            self._last_block = kind


def _title_line(title: str) -> str:
    lines = title.strip().split("\n")
    more = f" ... (+{count_of(len(lines) - 1, 'line')})" if len(lines) > 1 else ""
    return lines[0] + more
