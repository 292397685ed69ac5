"""Tells the model the project's rules (docs/plan.md L17): the root's with the system prompt, others as they apply."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from fairlead.agent.events import Event, RulesFound, RulesSource
from fairlead.agent.messages import Message, clean_text
from fairlead.workspace.paths import Root
from fairlead.workspace.rules_files import RulesFile, folders_with_rules, read_rules

RULES = '<rules file="{name}">\n{lead}\n\n{text}{cut}\n</rules>'
OF_ROOT = "The project's rules for agents. Follow them, unless the user says otherwise."
OF_FOLDER = "The rules for the files in {folder}. They take precedence over those of the folders around it."
CUT = "\n\n[These are its first {shown:,} of {size:,} characters. Read the file if you need the rest.]"


class ProjectRules:
    """Reads each rules file once in a run, so that a changed one applies from the next run on."""

    def __init__(self, root: Root, emit: Callable[[Event], None]) -> None:
        self._root, self._emit = root, emit
        self._of_root: RulesFile | None = None
        self._found: dict[Path, RulesFile | None] = {}
        self._reported = True

    async def begin_run(self) -> None:
        """Reads the rules of the root, and forgets the others."""
        self._found, self._reported = {}, False
        self._of_root = await asyncio.to_thread(read_rules, self._root.path, self._root.path)

    @property
    def of_root(self) -> str:
        """The rules of the root, as text after the system prompt; empty if there are none."""
        return "" if self._of_root is None else f"\n\n{self._text(self._of_root, OF_ROOT)}"

    async def take_new(self, paths: Collection[Path], messages: Sequence[Message]) -> list[str]:
        """The rules that apply to these files and are not in the conversation yet, the outermost first.

        Reports them, and those of the root once in a run.
        """
        root = self._root.path
        folders = {folder for path in paths for folder in folders_with_rules(path, root)}
        unknown = sorted(folders - self._found.keys())
        if unknown:
            read = await asyncio.to_thread(lambda: [read_rules(folder, root) for folder in unknown])
            self._found.update(zip(unknown, read, strict=True))
        found = [rules for folder in sorted(folders) if (rules := self._found[folder]) is not None]
        texts = {rules: self._text(rules, self._lead(rules)) for rules in found}
        told = _told(messages) if texts else frozenset[str]()
        new = {rules: text for rules, text in texts.items() if text not in told}
        self._report(list(new))
        return list(new.values())

    def _report(self, new: Sequence[RulesFile]) -> None:
        of_root = [self._of_root] if self._of_root is not None and not self._reported else []
        self._reported = True
        sources = tuple(RulesSource(rules.path, rules.is_cut) for rules in (*of_root, *new))
        if sources:
            self._emit(RulesFound(sources))

    def _lead(self, rules: RulesFile) -> str:
        return OF_FOLDER.format(folder=self._root.relative(rules.path.parent))

    def _text(self, rules: RulesFile, lead: str) -> str:
        cut = CUT.format(shown=len(rules.text), size=rules.size) if rules.is_cut else ""
        return clean_text(RULES.format(name=self._root.relative(rules.path), lead=lead, text=rules.text, cut=cut))


def _told(messages: Sequence[Message]) -> frozenset[str]:
    """The rules in a conversation. Compaction may have removed some."""
    blocks = (block for message in messages if message["role"] == "user" for block in message["content"])
    return frozenset(
        block["text"] for block in blocks if block["type"] == "text" and block["text"].startswith("<rules ")
    )
