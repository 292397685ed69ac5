"""Gives the model the project's rules (docs/plan.md L17).

The system prompt contains those of the root folders. Feedback adds others when they apply.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from fairlead.agent.events import Event, RulesFound, RulesSource
from fairlead.messages.history import clean_text
from fairlead.messages.parts import Message, Note
from fairlead.session.context.sent_notes import SentNotes
from fairlead.workspace.files import Files
from fairlead.workspace.rules_files import RulesFile, folders_with_rules, read_rules, read_user_rules

RULES = '<rules file="{name}">\n{lead}\n\n{text}{cut}\n</rules>'
ROOT_LEAD = "The project's rules for agents. Follow them, unless the user says otherwise."
USER_LEAD = "The user's own rules for agents, in all projects. The project's rules take precedence over them."
FOLDER_LEAD = "The rules for the files in {folder}. They take precedence over those of its parent folders."
CUT = "\n\n[These are the first {shown:,} of the file's {size:,} characters. Read the file if you need the rest.]"


class ProjectRules:
    """Reads each rules file once in a run. A changed file applies from the next run on."""

    def __init__(self, files: Files, emit: Callable[[Event], None]) -> None:
        self._files, self._emit = files, emit
        self._by_root: dict[Path, RulesFile | None] = {}
        self._user_rules: RulesFile | None = None
        self._searched: set[str] = set()
        """The folders whose rules were looked for since the run began or the root folders changed."""
        self._applying: set[Path] = set()
        """The folders whose rules apply to files in `_searched`."""
        self._found: dict[Path, RulesFile | None] = {}
        self._roots = files.roots
        self._sent_notes = SentNotes("rules")
        self._root_rules_reported = True

    async def begin_run(self) -> None:
        """Reads the rules of the user and of the root folders, and forgets the others."""
        self._searched, self._applying, self._found = set(), set(), {}
        self._root_rules_reported = False
        paths = self._files.roots.paths
        self._user_rules = await asyncio.to_thread(read_user_rules, Path.home())
        self._by_root = await asyncio.to_thread(lambda: {path: read_rules(path, path) for path in paths})

    @property
    def root_rules(self) -> str:
        """The rules of the user and of the root folders, to append to the system prompt; empty if there are none."""
        several = self._files.roots.has_names
        user = f"\n\n{self._text(self._user_rules, USER_LEAD)}" if self._user_rules is not None else ""
        found = [rules for rules in self._by_root.values() if rules is not None]
        return user + "".join(
            f"\n\n{self._text(rules, self._lead(rules) if several else ROOT_LEAD)}" for rules in found
        )

    async def take_new(self, folders: Collection[str], messages: Sequence[Message]) -> list[Note]:
        """The rules that are not in the conversation yet and apply to files in these folders, the outermost first.

        The folders of earlier calls in the run count too.

        Emits an event that names the rules. The first call in a run also names the rules of the root folders. There is
        no event if there is nothing to name.
        """
        await self._read_for(folders)
        found = [rules for folder in self._applying if (rules := self._found[folder]) is not None]
        found.sort(key=lambda rules: rules.path.parent)
        texts = {rules: self._text(rules, self._lead(rules)) for rules in found}
        sent = self._sent_notes.of(messages) if texts else ()
        new = {rules: text for rules, text in texts.items() if text not in sent}
        self._report(list(new))
        return [Note("rules", text) for text in new.values()]

    async def _read_for(self, folders: Collection[str]) -> None:
        """Reads the rules that apply in these folders. Skips folders that were searched earlier in the run."""
        roots = self._files.roots
        if roots != self._roots:
            self._roots, self._searched, self._applying = roots, set(), set()
        new = set(folders) - self._searched
        applying = dict(self._with_rules(new))
        unknown = sorted(applying.keys() - self._found.keys())
        if unknown:
            read = await asyncio.to_thread(lambda: [read_rules(folder, applying[folder]) for folder in unknown])
            self._found.update(zip(unknown, read, strict=True))
        self._searched |= new
        self._applying |= applying.keys()

    def _with_rules(self, folders: Collection[str]) -> Iterator[tuple[Path, Path]]:
        """The folders whose rules apply in these folders, each with the root folder that contains it.

        Omits the root folders whose rules are in the system prompt.
        """
        for folder in folders:
            path = Path(folder, "file")
            root = self._files.roots.folder_of(path)
            if root is not None:
                added = [root.path] if root.path not in self._by_root else []
                for applies in (*added, *folders_with_rules(path, root.path)):
                    yield applies, root.path

    def _report(self, new: Sequence[RulesFile]) -> None:
        given = (self._user_rules, *self._by_root.values())
        root_rules = [rules for rules in given if rules is not None and not self._root_rules_reported]
        self._root_rules_reported = True
        sources = tuple(RulesSource(rules.path, rules.is_cut) for rules in (*root_rules, *new))
        if sources:
            self._emit(RulesFound(sources))

    def _lead(self, rules: RulesFile) -> str:
        return FOLDER_LEAD.format(folder=self._files.roots.relative(rules.path.parent))

    def _text(self, rules: RulesFile, lead: str) -> str:
        cut = CUT.format(shown=len(rules.text), size=rules.size) if rules.is_cut else ""
        name = self._files.roots.relative(rules.path)
        return clean_text(RULES.format(name=name, lead=lead, text=rules.text, cut=cut))
