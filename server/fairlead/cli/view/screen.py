"""The display on a terminal: lines scroll, and a status area with the plan is redrawn at the bottom."""

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from fairlead.cli.view.plan_view import Step, count_line, visible_steps
from fairlead.cli.view.terminal import Marks, Terminal
from fairlead.cli.view.text import crop

TICK = 0.1  # seconds between two frames of the spinner
RULE_WIDTH = 40  # less than the whole width, so that it does not wrap if the window becomes narrower
PLAN_SHARE = 0.6  # of the height of the screen


class LiveDisplay:
    """Draws at the bottom: the unfinished row of the text that is arriving, the plan, and the activity.

    All changes within one iteration of the event loop are drawn in one write. The spinner is drawn ten times a second.
    Needs a running event loop.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.console: Console = terminal.console
        self.marks: Marks = terminal.marks
        self._loop = asyncio.get_running_loop()
        self._started = time.monotonic()
        self._items: Sequence[Step] = ()
        self._activity = "starting"
        self._draft: Text | None = None
        self._lines: list[Text] = []
        self._scheduled = False
        self._closed = False
        self._live = self._new_live()
        self._live.start(refresh=True)
        self._timer = self._loop.call_later(TICK, self._tick)

    @property
    def width(self) -> int | None:
        return self.console.width

    def show(self, lines: Sequence[Text]) -> None:
        self._lines += lines
        self._schedule()

    def set_status(self, activity: str, draft: Text | None = None) -> None:
        self._activity, self._draft = activity, draft
        self._schedule()

    def set_plan(self, items: Sequence[Step]) -> None:
        self._items = items
        self._schedule()

    @contextmanager
    def without_status(self) -> Generator[None]:
        was_drawn = self._live.is_started
        self._pause()
        try:
            yield
        finally:
            if was_drawn and not self._closed:
                self._live = self._new_live()
                self._live.start(refresh=True)

    def close(self) -> None:
        self._closed = True
        self._timer.cancel()
        self._pause()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The status area. rich calls this each time it draws."""
        for line in self._status_area(options.size.height):
            yield crop(line, options.max_width)

    def _new_live(self) -> Live:
        return Live(
            self,
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )

    def _pause(self) -> None:
        self._draft = None
        self._draw()
        self._live.stop()

    def _schedule(self) -> None:
        if not self._live.is_started:
            self._draw()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._draw)

    def _draw(self) -> None:
        self._scheduled = False
        lines, self._lines = self._lines, []
        if lines:
            self.console.print(Text("\n").join(lines))
        elif self._live.is_started:
            self._live.refresh()

    def _tick(self) -> None:
        self._schedule()
        self._timer = self._loop.call_later(TICK, self._tick)

    def _status_area(self, height: int) -> list[Text]:
        lines: list[Text] = [self._draft] if self._draft is not None else []
        plan_height = int(height * PLAN_SHARE) - 3
        plan = visible_steps(self._items, max(plan_height, 1))
        spinner = self._spinner()
        if plan:
            rule, blank = [Text(self.marks.rule * RULE_WIDTH, style="dim")], [Text()]
            steps = [Text.assemble(f"{spinner} " if line.style == "cyan" else "  ", line) for line in plan]
            lines += [*rule, *steps, *blank] if plan_height > 1 else steps
            status = Text.assemble("  ", count_line(self._items))
        else:
            status = Text.assemble(f"{spinner} ", (self._activity, "cyan"))
        seconds = int(time.monotonic() - self._started)
        details = [f"{seconds // 60}:{seconds % 60:02}", "Ctrl-C stops"]
        if plan and self._activity:
            details.insert(1, self._activity)
        status.append(f"  {f' {self.marks.note} '.join(details)}", style="dim")
        return [*lines, status]

    def _spinner(self) -> str:
        frames = self.marks.spinner
        return frames[int(time.monotonic() / TICK) % len(frames)]
