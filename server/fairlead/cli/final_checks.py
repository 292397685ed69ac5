"""Runs the session's checks after the agent has ended, and shows their results (docs/plan.md P18)."""

import asyncio
from typing import Any

from rich.text import Text

from fairlead.cli.client import AgentClient
from fairlead.cli.view.display import Display
from fairlead.cli.view.text import clean, wrap
from fairlead.wire import protocol as wire
from fairlead.wire import states

NOT_SEEN = (
    "The checks ran on the files on disk, without the proposed changes, because there is no sandbox. So they prove "
    "nothing, and --accept checks accepts nothing."
)


class FinalChecks:
    """The checks of one session. After `stop`, none runs."""

    def __init__(self, client: AgentClient, display: Display) -> None:
        self._client = client
        self._display = display
        self._request: asyncio.Future[wire.CheckResults] | None = None
        self._outside: set[str] = set()
        self._is_stopped = False
        self.results: dict[str, states.CheckResultWire] = {}
        """The last result of each check, by its command."""
        self.has_failed = False
        """Whether in the last run of the checks one did not pass, or they could not run."""

    def add_event(self, event: dict[str, Any]) -> None:
        """Notes which checks run outside of the sandbox, where they do not see the proposed changes."""
        if event["kind"] == "command" and event["check"] and event["mode"] == "workspace":
            self._outside.add(event["toolCallId"])

    @property
    def saw_proposals(self) -> bool:
        """Whether each check that ran saw the proposed changes."""
        return self._outside.isdisjoint(result["toolCallId"] for result in self.results.values())

    async def run(self, session_id: str, **params: Any) -> bool:
        """Runs all checks of a session and shows their results. Returns whether all of them passed.

        Args:
            params: further params of `agent/checks/run`: with which changes they run.

        Raises:
            ServerExited: as for `AgentClient.request`.
        """
        if self._is_stopped:
            return False
        request = self._client.request(wire.RUN_CHECKS, {"sessionId": session_id, **params})
        self._request = asyncio.ensure_future(request)
        self.has_failed = True
        self._display.set_status("running the checks")
        try:
            checked = await self._request
        except wire.RequestError as error:
            self._show([Text(f"The checks did not run: {clean(str(error))}", style="red")])
            return False
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            # `stop` cancelled the request; the checks themselves end with the server
            self._show([Text("The checks were stopped.", style="yellow")])
            return False
        finally:
            self._request = None
        self.results |= {result["command"]: result for result in checked["results"]}
        self.has_failed = not all(map(_passed, checked["results"]))
        marks = self._display.marks
        for result in checked["results"]:
            mark, style = (marks.done, "green") if _passed(result) else (marks.failed, "red")
            line = Text.assemble((mark, style), f" {clean(result['message']).replace('`', '')}")
            self._show(wrap(line, self._display.console, self._display.width))
        return not self.has_failed

    def stop(self) -> None:
        """Stops waiting for the checks that run, if any."""
        self._is_stopped = True
        if self._request is not None:
            self._request.cancel()

    def _show(self, lines: list[Text]) -> None:
        self._display.close()
        self._display.show(lines)


def _passed(result: states.CheckResultWire) -> bool:
    """Whether a check passed on the files as they are now."""
    return result["passed"] is True and not result["outdated"]
