"""The question before a tool works with a file that looks like a secret, and what is said of those left out."""

from fairlead.agent.tool import RunningCall
from fairlead.tools.approvals import Approvals
from fairlead.workspace.files import Files

TO_THE_MODEL = "What it says would go to the model."


async def ask_for_secret(files: Files, approvals: Approvals, call: RunningCall, doing: str, given: str) -> None:
    """Returns when a tool may go on with the path that the model gave it; at once, if it is no secret of the person's.

    Args:
        doing: what the tool wants with the file, as "read".

    Raises:
        ToolError: the person said no, or the path cannot be used.
    """
    path = files.secret_path(given)
    if path is None:
        return
    call.progress = "Cancelled while the user was asked; nothing was done."
    reasons = (f"The agent wants to {doing} this file, which looks like a secret.", TO_THE_MODEL)
    await approvals.ask_file(call.id, path, reasons)


def left_out(count: int) -> str:
    """A line on the files that a list or a search leaves out; empty for none."""
    if not count:
        return ""
    files = "1 file that looks like a secret was" if count == 1 else f"{count:,} files that look like secrets were"
    return f"\n({files} left out; read_file asks the user.)"
