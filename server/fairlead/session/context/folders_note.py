"""Tells the model which folders the workspace has, if there are several or they change (docs/plan.md L9)."""

from collections.abc import Sequence

from fairlead.display import escape_to_one_line
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Message, Note
from fairlead.session.context.sent_notes import SentNotes
from fairlead.workspace.paths import Roots

BEGIN, END = "<folders>", "</folders>"
LEAD = "The folders of the workspace. Begin each path with one of these names."
SINGLE = "The workspace is now only {path}. Paths are relative to it."


class FoldersNote:
    """Decides when a conversation needs a note about the folders."""

    def __init__(self) -> None:
        self._sent_notes = SentNotes("folders")

    def take(self, roots: Roots, messages: Sequence[Message]) -> list[Note]:
        """The note to send now, or an empty list.

        Empty while no folder is open, or while the last note in the conversation still applies. Before the first note,
        also empty while paths need no folder names (`Roots.has_names`).
        """
        sent = self._sent_notes.of(messages)
        if not roots.folders or not (sent or roots.has_names):
            return []
        lines = [LEAD, *(f"- {root.name}: {escape_to_one_line(str(root.path))}" for root in roots.folders)]
        if not roots.has_names:
            lines = [SINGLE.format(path=escape_to_one_line(str(roots.first.path)))]
        note = clean_text("\n".join([BEGIN, *lines, END]))
        return [] if sent and sent[-1] == note else [Note("folders", note)]
