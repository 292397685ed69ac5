"""The display on a terminal: lines that stay scroll away above, the plan stays at the bottom and is drawn in place."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from fairlead.cli.plan_view import count_line, window
from fairlead.cli.terminal import Marks, Terminal
from fairlead.cli.text import cropped
from fairlead.plan import PlanItem

TICK = 0.1
RULE_WIDTH = 40  # not the whole width: a narrower window would break a wider line into two
# the share of the screen that the plan may take; the rest is for what happens
PLAN_SHARE = 0.6


class LiveDisplay:
    """The region at the bottom: the row being written, the plan, and what is going on.

    All that is told within one turn of the event loop is drawn in one write; besides, ten times a second for the
    spinner. Must be made within a running event loop.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.console: Console = terminal.console
        self.marks: Marks = terminal.marks
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._items: Sequence[PlanItem] = ()
        self._doing = "starting"
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

    def now(self, doing: str, draft: Text | None = None) -> None:
        self._doing, self._draft = doing, draft
        self._schedule()

    def plan(self, items: Sequence[PlanItem]) -> None:
        self._items = items
        self._schedule()

    @contextmanager
    def aside(self) -> Iterator[None]:
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
        """The region as it is now; rich asks for it at each drawing."""
        for line in self._region(options.size.height):
            yield cropped(line, options.max_width)

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

    def _region(self, height: int) -> list[Text]:
        lines: list[Text] = [self._draft] if self._draft is not None else []
        room = int(height * PLAN_SHARE) - 3
        plan = window(self._items, max(room, 1))
        spinner = self._spinner()
        if plan:
            rule, blank = [Text(self.marks.rule * RULE_WIDTH, style="dim")], [Text()]
            steps = [Text.assemble(f"{spinner} " if line.style == "cyan" else "  ", line) for line in plan]
            lines += [*rule, *steps, *blank] if room > 1 else steps
            status = Text.assemble("  ", count_line(self._items))
        else:
            status = Text.assemble(f"{spinner} ", (self._doing, "cyan"))
        seconds = int(time.monotonic() - self._began)
        details = [f"{seconds // 60}:{seconds % 60:02}", "Ctrl-C stops"]
        if plan and self._doing:
            details.insert(1, self._doing)
        status.append(f"  {f' {self.marks.note} '.join(details)}", style="dim")
        return [*lines, status]

    def _spinner(self) -> str:
        frames = self.marks.spinner
        return frames[int(time.monotonic() / TICK) % len(frames)]
