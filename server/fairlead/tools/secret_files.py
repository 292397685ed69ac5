"""Asks the user before a tool uses a file that looks like a secret, and reports how many such files were omitted."""

from fairlead.agent.tool import RunningCall
from fairlead.gate.gate import Gate
from fairlead.gate.request import UseSecretFile
from fairlead.sentences import Sentence
from fairlead.workspace.files import Files

TO_THE_MODEL = Sentence("Its content would be sent to the model.")


async def ask_for_secret(files: Files, gate: Gate, call: RunningCall, action: str, given: str) -> None:
    """Asks the user before a tool uses a file that looks like a secret. Returns at once for any other path.

    Also returns at once if the user has allowed any use of the file for the session.

    Args:
        action: what the tool does with the file, such as "read".

    Raises:
        ToolError: the user rejected it, did not answer or could not be asked, or the path cannot be used.
    """
    path = files.secret_path(given)
    if path is None:
        return
    call.progress = "Cancelled while the user was asked; nothing was done."
    reasons = (Sentence("The agent wants to {0} this file, which looks like a secret.", action), TO_THE_MODEL)
    await gate.check(UseSecretFile(path), call.id, reasons)


def omitted_secrets(count: int) -> str:
    """A line about the secrets that a list or a search omits, with a leading newline; empty if there are none."""
    if not count:
        return ""
    files = "1 file that looks like a secret was" if count == 1 else f"{count:,} files that look like secrets were"
    return f"\n({files} omitted; read_file asks the user.)"
