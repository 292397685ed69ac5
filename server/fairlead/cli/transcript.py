"""What happens in a run, told line by line as the events come."""

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from fairlead.cli.display import Display
from fairlead.cli.plan_view import plan_items, steps_taken, whole_plan
from fairlead.cli.text import Flow, clean, cropped, first_line, revealed, rows
from fairlead.lsp import protocol as wire
from fairlead.plan import PlanItem

Json = dict[str, Any]

OUTPUT_HEAD = 10
OUTPUT_TAIL = 5
_EXIT = re.compile(r"\(exit code (-?\d+), ([\d.]+ s)\)\s*\Z")
_TAGS = re.compile(r"</?reminder>")


@dataclass
class _Call:
    """A tool call that runs. Of its output the first rows are shown as they come, the last ones at its end."""

    title: str
    kind: str
    flow: Flow
    place: str = ""
    shown: int = 0
    left_out: int = 0
    tail: deque[Text] = field(default_factory=lambda: deque(maxlen=OUTPUT_TAIL))


class Transcript:
    """Tells events to a display. `said` is the model's text since its last tool call."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._flow: Flow | None = None
        self._speaks = ""
        self._last_block = ""
        self._waited_for = ""
        self._calls: dict[str, _Call] = {}
        self._plan: tuple[PlanItem, ...] = ()
        self._told_plan: tuple[PlanItem, ...] = ()
        self.said = ""
        self._handlers: dict[str, Callable[[Json], None]] = {
            "round_started": self._round_started,
            "text": lambda event: self._speak("text", event["text"]),
            "thinking": lambda event: self._speak("thinking", event["text"]),
            "tool_started": self._tool_started,
            "command": self._command_started,
            "tool_output": self._tool_output,
            "tool_finished": self._tool_finished,
            "reminder": self._reminder,
            "retry": self._retry,
            "room_made": lambda event: self.note(event["text"], mark=self._display.marks.again),
            "run_finished": lambda _: self.end_text(),
        }

    @property
    def plan(self) -> Sequence[PlanItem]:
        return self._plan

    def take_plan(self, plan: wire.PlanWire) -> None:
        """The plan changed; it is told behind the call that changed it."""
        self._plan = plan_items(plan)
        self._display.plan(self._plan)

    def goes_on(self, plan: wire.PlanWire) -> None:
        """The run begins with this plan. Where it is not drawn on a screen, it is told before anything else."""
        self.take_plan(plan)
        if self._display.width is not None:
            self._told_plan = self._plan

    def take(self, event: Json) -> None:
        """One `agent/event`. Kinds that are not known say nothing."""
        handler = self._handlers.get(event["kind"])
        if handler is not None:
            handler(event)

    def note(self, text: str, style: str = "dim", mark: str | None = None) -> None:
        """A line about the run itself."""
        self.end_text()
        self._block("tools")
        line = Text(f"{mark or self._display.marks.note} {clean(text)}", style=style)
        self._display.show(rows(line, self._display.console, self._display.width, indent=2))

    def end_text(self) -> None:
        """The text that is being written is at its end."""
        if self._flow is not None:
            flow, self._flow = self._flow, None
            self._show_text(flow.finish(self._display.width))
            self._display.now("")
            self._speaks = ""

    def _round_started(self, _: Json) -> None:
        self.end_text()
        self._tell_steps()
        self._display.now("waiting for the model")

    def _speak(self, kind: str, text: str) -> None:
        if kind != self._speaks:
            self.end_text()
            self._speaks = kind
            self._flow = Flow(self._display.console, "dim italic" if kind == "thinking" else "")
        if kind == "text":
            self.said += text
        assert self._flow is not None
        width = self._display.width
        found, draft = self._flow.feed(text, width), self._flow.draft(width)
        if draft is not None:
            self._block(kind)
        self._show_text(found)
        self._display.now("thinking" if kind == "thinking" else "writing", draft)

    def _show_text(self, found: Sequence[Text]) -> None:
        if found:
            self._block(self._speaks)
            self._display.show(found)

    def _tool_started(self, event: Json) -> None:
        self.end_text()
        self.said = ""
        title = revealed(event["title"]).strip() or event["name"]
        if event["toolKind"] == "execute":
            title = f"{self._display.marks.command} {title}"
        self._calls[event["toolCallId"]] = _Call(title, event["toolKind"], Flow(self._display.console, "dim", indent=6))
        self._display.now(_one_line(title))

    def _command_started(self, event: Json) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is not None and event["mode"] == "sandboxed":
            call.place = ", in the sandbox with the network" if event["network"] else ", in the sandbox"

    def _tool_output(self, event: Json) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is None:
            return
        found = call.flow.feed(event["text"], self._display.width)
        if not call.shown and (found or call.flow.draft(self._display.width)):
            self._block("tools")
            self._display.show([self._command_line(call)])
            call.shown = 1
        self._keep(call, found)
        self._display.now(_one_line(call.title), call.flow.draft(self._display.width))

    def _keep(self, call: _Call, found: Sequence[Text]) -> None:
        room = max(0, 1 + OUTPUT_HEAD - call.shown)
        self._display.show(found[:room])
        call.shown += len(found[:room])
        for row in found[room:]:
            call.left_out += len(call.tail) == OUTPUT_TAIL
            call.tail.append(row)

    def _tool_finished(self, event: Json) -> None:
        call = self._calls.pop(event["toolCallId"], None)
        if call is None:
            return
        self._display.now("")
        self._keep(call, call.flow.finish(self._display.width))
        if call.left_out:
            self._display.show([Text(f"      ... {call.left_out:,} lines not shown ...", style="dim")])
        self._display.show(list(call.tail))
        self._block("tools")
        self._display.show(self._outcome(call, event))
        self._tell_steps()

    def _command_line(self, call: _Call) -> Text:
        return cropped(Text(f"  {_one_line(call.title)}"), self._display.width)

    def _outcome(self, call: _Call, event: Json) -> list[Text]:
        """The line of a call that ended: a mark, the title (not again below output), and how it went."""
        marks, ended = self._display.marks, _EXIT.search(event["text"]) if call.kind == "execute" else None
        title = "" if call.shown else _one_line(call.title)
        good = not event["isError"] and (ended is None or ended[1] == "0")
        line = Text.assemble((marks.done, "green") if good else (marks.failed, "red"), f" {title}".rstrip())
        gap = "  " if title else " "
        if event["isError"]:
            line.append(f"{gap}{first_line(event['text']).rstrip(':')}", style="red")
            return rows(line, self._display.console, self._display.width, indent=2)
        if ended is not None:
            line.append(f"{gap}exit code {ended[1]}, {ended[2]}{call.place}", style="dim" if good else "red")
        elif call.kind == "edit":
            line.append(f"{gap}{first_line(event['text'])}", style="dim")
        return [cropped(Text.assemble("  ", line), self._display.width)]

    def _tell_steps(self) -> None:
        """What changed of the plan since it was told last; other steps, and no screen, tell it whole."""
        before, self._told_plan = self._told_plan, self._plan
        if before == self._plan:
            return
        same_steps = [item.content for item in before] == [item.content for item in self._plan]
        whole = self._display.width is None and not same_steps
        lines = whole_plan(self._plan) if whole else steps_taken(before, self._plan)
        self._block("tools")
        console, width = self._display.console, self._display.width
        self._display.show([row for line in lines for row in rows(line, console, width, indent=4)])

    def _reminder(self, event: Json) -> None:
        self.note(_TAGS.sub("", event["text"]).partition(" Rewrite ")[0], mark=self._display.marks.again)

    def _retry(self, event: Json) -> None:
        wait = f"{event['delayMs'] / 1000:.1f} s"
        reason = first_line(event["reason"])
        if reason != self._waited_for or event["attempt"] == 1:  # a model may be loaded for minutes
            self.note(f"try {event['attempt']} failed, again in {wait}: {reason}", mark=self._display.marks.again)
        self._waited_for = reason
        self._display.now(f"waiting {wait} to ask again")

    def _block(self, kind: str) -> None:
        """A blank line where another kind of thing begins."""
        if self._last_block != kind:
            self._display.show([Text()])
            self._last_block = kind


def _one_line(title: str) -> str:
    lines = title.strip().split("\n")
    more = f" ... (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return lines[0] + more
