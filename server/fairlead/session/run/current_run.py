"""The main run of a session. There is at most one at a time.

If the request that waits for a run is cancelled, the run is stopped, but still ends with an outcome.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.agent.outcome import Outcome
from fairlead.uncancelled import finish_uncancelled


class CurrentRun:
    """Starts, stops and awaits the main runs of one session."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Outcome] | None = None
        self._caller: asyncio.Task[Any] | None = None
        self._stopping = False
        self.begun = 0
        """How many main runs have begun in this process."""

    @property
    def is_active(self) -> bool:
        """Whether there is a run. A stopped one counts until it has ended."""
        return self._task is not None

    @property
    def is_stopping(self) -> bool:
        """Whether the run was stopped, even if its caller has not handled the cancellation yet."""
        return self._stopping or (self._caller is not None and self._caller.cancelling() > 0)

    async def execute(self, work: Callable[[bool], Awaitable[Outcome]]) -> Outcome:
        """Executes a run and returns its outcome. Cancelling the caller cancels the run; the outcome is still returned.

        Args:
            work: does the run. It is called after the previous run has ended, with True if the new run was stopped
                during that wait, otherwise with False. It must return an outcome in both cases.
        """
        run = asyncio.ensure_future(_run_after(self._task, work))
        self._task, self._caller, self._stopping = run, asyncio.current_task(), False
        self.begun += 1
        try:
            while not run.done():
                try:
                    await asyncio.wait({run})
                except asyncio.CancelledError:  # may be cancelled repeatedly
                    if self._task is run:
                        self.cancel()
            return run.result()
        finally:
            if self._task is run:
                self._task = self._caller = None

    def cancel(self) -> None:
        """Stops the run, if there is one."""
        if self._task is not None and not self._stopping:
            self._stopping = True
            # only after its first step: a task that is cancelled before it starts returns no outcome
            asyncio.get_running_loop().call_soon(self._task.cancel)

    async def wait_for_end(self) -> None:
        """Waits until the run has ended, if there is one."""
        await _end_of(self._task)


async def _run_after(previous: asyncio.Task[Outcome] | None, work: Callable[[bool], Awaitable[Outcome]]) -> Outcome:
    stopped = False
    try:
        await finish_uncancelled(_end_of(previous))
    except asyncio.CancelledError:
        stopped = True
    return await work(stopped)


async def _end_of(task: asyncio.Task[Outcome] | None) -> None:
    if task is not None:
        await asyncio.wait({task})
