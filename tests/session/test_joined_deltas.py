"""Events that one notification can show together."""

from fairlead.agent.events import Text, Thinking, ToolOutput, UsageReported
from fairlead.agent.model import Usage
from fairlead.session.events import joined_deltas


def used(tokens: int, run_id: str = "r") -> UsageReported:
    return UsageReported(Usage(1, tokens), None, tokens, None, run_id=run_id)


def test_successive_events_of_one_kind_are_one() -> None:
    """An agent may send hundreds of pieces of text, or of usages, within the time of one notification."""
    events = [
        *(Text("a", run_id="r"), Text("b", run_id="r"), Text("c", run_id="other"), Thinking("d", run_id="r")),
        *(ToolOutput("c1", "e"), ToolOutput("c1", "f"), ToolOutput("c2", "g")),
        *(used(1), used(2), used(3), used(4, "other"), Text("h", run_id="r"), used(5)),
    ]
    assert list(joined_deltas(events)) == [
        *(Text("ab", run_id="r"), Text("c", run_id="other"), Thinking("d", run_id="r")),
        *(ToolOutput("c1", "ef"), ToolOutput("c2", "g")),
        *(used(3), used(4, "other"), Text("h", run_id="r"), used(5)),
    ]
