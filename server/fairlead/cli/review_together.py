"""`fairlead review --together`: checks the proposals of all saved sessions of a folder together."""

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from fairlead.cli.client import AgentClient
from fairlead.cli.view.terminal import Marks
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.wire import protocol as wire
from fairlead.wire import states

_STYLES: Final = {"passes": "green", "flaky": "yellow", "not_run": "yellow"}


async def check_together(client: AgentClient) -> states.TogetherResultWire:
    """Runs the checks of all saved sessions of the folder. Raises as `AgentClient.request`."""
    return await client.request(wire.CHECK_TOGETHER, {})


def together_lines(result: states.TogetherResultWire, marks: Marks, review: str) -> Iterator[Text]:
    """The result, as lines for the user. `review` is the command that reviews a session, without its id."""
    titles = {session["sessionId"]: session["title"] for session in result["sessions"]}
    for conflict in result["conflicts"]:
        sides = (f"{side['name']} (“{titles[side['sessionId']]}”)" for side in conflict["sides"])
        yield _line(f"{marks.failed} Conflict: {' and '.join(sides)}", "red")
    for check in result["checks"]:
        passes = check["outcome"] == "passes"
        mark = marks.done if passes else marks.failed
        yield _line(f"{mark} {check['message']}", _STYLES.get(check["outcome"], "red"))
    yield _line(result["message"], "green" if result["outcome"] == "passes" else "red")
    named = {change["sessionId"] for check in result["checks"] for change in check["changes"]}
    named |= {side["sessionId"] for conflict in result["conflicts"] for side in conflict["sides"]}
    for session_id in (session for session in titles if session in named):
        yield _line(f"To review “{titles[session_id]}”: {review} --session {session_id}", "")


def _line(text: str, style: str) -> Text:
    return Text(escape_hidden(clean(text)), style)
