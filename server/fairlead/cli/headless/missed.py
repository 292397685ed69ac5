"""The last lines of a run that could not ask: what was refused, and which options would have allowed it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from fairlead.cli.approvals import rule_options
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.display import escape_to_one_line
from fairlead.uris import file_path
from fairlead.wire.run_lines import RefusedLine, UnansweredLine

REFUSED = "Refused, because this run cannot ask you:"
UNANSWERED = "Not answered, because this run cannot ask you:"


def missed_lines(missed: Sequence[RefusedLine | UnansweredLine]) -> list[Text]:
    """A heading and a line for each different request, and the same for the questions; [] if there are none."""
    refused = dict.fromkeys(_request(line["request"]) for line in missed if line["type"] == "refused")
    questions = dict.fromkeys(
        escape_to_one_line(clean(line["question"])) for line in missed if line["type"] != "refused"
    )
    lines: list[Text] = []
    for heading, texts in ((REFUSED, refused), (UNANSWERED, questions)):
        if texts:
            lines += [Text(heading, style="yellow"), *(Text(f"  {text}", style="yellow") for text in texts)]
    return lines


def _request(params: Mapping[str, Any]) -> str:
    """What was requested on one line, with the options that would have allowed it."""
    path = file_path(params["uri"]) if params["uri"] else None
    what = escape_to_one_line(str(params["command"] or path or params["uri"]))
    return escape_hidden("  ".join(filter(None, [what, rule_options(params)])))
