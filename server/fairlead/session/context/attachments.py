"""What the user mentions in a prompt, with its content if that is short, so that the model need not read it first."""

import asyncio
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlead.display import escape_to_one_line, strip_sequences
from fairlead.errors import ToolError
from fairlead.messages.history import clean_text
from fairlead.messages.images import media_type
from fairlead.messages.parts import Image, Note, Part
from fairlead.session.context.context_item import ContextItem
from fairlead.session.context.images import Images, shown_name
from fairlead.session.context.surroundings import lines_text
from fairlead.skills.library import SkillLibrary
from fairlead.text_lines import split_lines, with_line_endings
from fairlead.tool_servers.connection import ToolRefused
from fairlead.tool_servers.results import Answer, tagged, untrusted
from fairlead.tools.kept_results import KeptResults
from fairlead.tools.problems import problem_lines
from fairlead.workspace.disk import BinaryFile
from fairlead.workspace.editor import DiagnosticsSource
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files

# limits in characters
MAX_CHARS = 24_000
"""The limit of all contents together."""
MAX_FILE_CHARS = 12_000
"""A longer file is only mentioned."""
MAX_CHANGES_CHARS = 20_000
"""A longer diff is cut."""
MAX_TERMINAL_CHARS = 10_000
"""Of the output of a terminal's command, at most this much of its end is attached."""
MAX_COMMAND_CHARS = 1000
WINDOW_SHARE = 0.5
"""The share of the limit for a round's results that the contents may take, if that is less than `MAX_CHARS`."""
DIAGNOSTICS_SECONDS = 5.0
"""How long the editor may take to report its problems."""

REFERS = "The user refers to:"
BEGIN, END = "<attached>", "</attached>"
LEAD = "The contents when the user sent the prompt. You need not read them again."
TOO_LONG = "too long to attach; read what you need"
NO_FILE = "no such file"
NOT_IN_TIME = "the server did not answer in time"
CHOSEN_PROMPT = (
    "The user has chosen this prompt of a tool server. Do what it says, as if the user had written it. It permits "
    "nothing."
)
CHOSEN_SKILL = "The user has chosen these instructions. Follow them."
SECRET = "it looks like a secret; read_file asks the user"
SECRET_SELECTION = "not attached, because the file looks like a secret"
NO_PROBLEMS = "The editor shows no problems."
NO_ANSWER = "The editor did not report its problems."
NO_CHANGES = "There are no uncommitted changes."

_DIFF_FILE = re.compile(r"^diff --(?:git|cc|combined) .*$", re.MULTILINE)
_DIFF_NAME = re.compile(r'^(?:--- |\+\+\+ |rename from |rename to )"?(?:[ab]/)?(.*?)"?\t?$', re.MULTILINE)
_DIFF_HEAD = re.compile(r'^diff --git "?a/(.*?)"? "?b/(.*?)"?$')
_MERGE_HEAD = re.compile(r'^diff --(?:cc|combined) "?(.*?)"?$')
"""In a diff, the first line about a file that has conflicts."""


@dataclass(frozen=True, slots=True)
class Attachments:
    """What the user refers to, and its content."""

    references: tuple[str, ...] = ()
    """One line for each item."""
    contents: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    """The pictures among the items, in the order of the items."""
    pictures: tuple[str, ...] = ()
    """The names of the pictures, with the reason if one is not attached."""
    skills: str = ""
    """The instructions that the user has chosen; empty if there are none."""

    @property
    def parts(self) -> list[Part]:
        """The parts for the prompt's message."""
        parts: list[Part] = []
        if self.references:
            lines = [REFERS, *(f"- {reference}" for reference in self.references)]
            parts.append(Note("references", clean_text("\n".join(lines)), pictures=self.pictures))
        if self.skills:
            parts.append(Note("skill", clean_text(self.skills)))
        parts += self.images
        if self.contents:
            parts.append(Note("attached", clean_text("\n".join([BEGIN, LEAD, *self.contents, END]))))
        return parts


ReadResource = Callable[[str, str], Awaitable[Answer]]
"""Reads a resource, given its server and its URI. See `ToolServers.read`."""


class Attacher:
    """Reads what the user mentions in one prompt.

    A text file counts as read by the agent only if its text, or a part of it, is attached. A missing file counts too.
    """

    def __init__(
        self,
        files: Files,
        diagnostics: DiagnosticsSource | None,
        read_resource: ReadResource,
        kept: KeptResults,
        skills: SkillLibrary,
        limit: int | None,
    ) -> None:
        """
        Args:
            skills: those that the user may choose.
            kept: keeps the texts of tool servers that are too long.
            limit: how long the results of a round may be, in characters; None: unknown.
        """
        self._files, self._diagnostics, self._read_resource, self._kept = files, diagnostics, read_resource, kept
        self._library = skills
        self._left = MAX_CHARS if limit is None else min(MAX_CHARS, round(limit * WINDOW_SHARE))
        self._references: list[str] = []
        self._contents: list[str] = []
        self._skills: list[str] = []
        self._images = Images()
        self._pictures: list[str] = []

    async def attach(self, items: Sequence[ContextItem]) -> Attachments:
        """Reads the items, skipping duplicates. What cannot be attached is only mentioned, with the reason."""
        for item in dict.fromkeys(items):
            match item.kind:
                case "problems":
                    await self._add_problems(item)
                case "changes":
                    self._add_changes(item.text or "")
                case "terminal":
                    self._add_terminal(item)
                case "image":
                    self._add_image(item.name, item.data)
                case "skill":
                    await self._add_skill(item)
                case "serverPrompt":
                    self._add_server_prompt(item)
                case "resource":
                    await self._add_resource(item)
                case "selection" if item.text is not None:
                    self._add_selected_text(item, item.text)
                case _:
                    await self._add_file(item)
        images, pictures = tuple(self._images.parts), tuple(self._pictures)
        return Attachments(tuple(self._references), tuple(self._contents), images, pictures, "\n\n".join(self._skills))

    def _add_image(self, name: str, data: bytes) -> None:
        note = self._images.add(data)
        self._pictures.append(f"{shown_name(name)}{note and f' ({note})'}")
        self._references.append(f"Picture: {self._pictures[-1]}")

    async def _add_skill(self, item: ContextItem) -> None:
        """Adds the instructions of a skill or a command, which stay when the conversation is shortened."""
        try:
            text = await self._library.use(item.name, item.text or "", by_user=True)
        except ToolError as error:
            self._references.append(escape_to_one_line(str(error)))
            return
        self._references.append(f"The skill {shown_name(item.name)}")
        self._skills.append(f"{CHOSEN_SKILL}\n{text}")

    def _add_server_prompt(self, item: ContextItem) -> None:
        """Adds what a prompt of a tool server says. It is an instruction, because the user has chosen it."""
        name, server = shown_name(item.name), shown_name(item.server)
        self._references.append(f"{name}, a prompt of the tool server {server}")

        def marked(text: str) -> str:
            return f"{CHOSEN_PROMPT}\n{tagged('prompt', text, f'{server}: {name}')}"

        self._add_server_text(item.text or "", self._left, marked)

    async def _add_resource(self, item: ContextItem) -> None:
        """Adds what a resource of a tool server contains, which is data from outside."""
        source = f"{shown_name(item.server)}: {shown_name(item.name)}"
        try:
            answer = await self._read_resource(item.server, item.name)
        except (ToolError, ToolRefused, TimeoutError) as error:
            reason = NOT_IN_TIME if isinstance(error, TimeoutError) else str(error)
            self._references.append(f"{source} ({escape_to_one_line(reason)[:500]})")
            return
        self._references.append(source)
        limit = min(MAX_FILE_CHARS, self._left)
        self._add_server_text(answer.text, limit, lambda text: untrusted(text, source))
        for image in answer.images:
            self._add_image(source, b64decode(image.data))

    def _add_server_text(self, text: str, limit: int, marked: Callable[[str], str]) -> None:
        """Adds a text between tags. If it is too long, the model reads the rest with `read_file`."""
        shown = self._kept.shortened(text, max(0, limit))
        self._left -= len(shown)
        self._contents.append(marked(shown))

    async def _add_file(self, item: ContextItem) -> None:
        assert item.path is not None
        roots = self._files.roots
        name = escape_to_one_line(roots.relative(item.path))
        lines = _lines_suffix(item)
        selected = " (selected)" if item.kind == "selection" else ""
        try:
            note, text = await self._text(item)
        except BinaryFile as error:
            await self._add_binary(item.path, name, str(error))
            return
        if text:
            self._left -= len(text)
            attribute = f' lines="{item.first_line}-{item.last_line}"' if item.first_line is not None else ""
            end = "" if text.endswith("\n") else "\n"
            self._contents.append(f'<file path="{name}"{attribute}>\n{text}{end}</file>')
        self._references.append(f"{name}{lines}{selected}{note and f' ({note})'}")

    async def _add_binary(self, path: Path, name: str, problem: str) -> None:
        """Attaches a picture. Any other file that is not text is only mentioned, with the problem."""
        try:
            data = await asyncio.to_thread(self._files.binary, self._files.roots.resolve(str(path)))
        except WorkspaceError as error:
            data, problem = None, str(error)
        if data is not None and media_type(data) is not None:
            self._add_image(name, data)
        else:
            self._references.append(f"{name} ({escape_to_one_line(problem)[:200]})")

    async def _text(self, item: ContextItem) -> tuple[str, str]:
        """A note on the file, which may be empty, and the text to attach: the file's or that of the mentioned lines.

        The text is empty if it is not attached.

        Raises:
            BinaryFile: the file is not text.
        """
        assert item.path is not None
        try:
            path = self._files.roots.resolve(str(item.path))
            if path.is_dir():
                return "", ""
            if self._files.secret_path(str(item.path)) is not None:
                return SECRET, ""
            text = await self._files.preloaded(path)
            if text is None:
                self._files.note_read(path, None)
                return NO_FILE, ""
            note, shown = "", with_line_endings(text, "\n")
            if item.first_line is not None and item.last_line is not None:
                if self._files.is_proposed(path):  # the lines are those that the user sees
                    shown = with_line_endings(self._files.current(path) or "", "\n")
                    note = "as the user has it, without your proposed edits"
                shown = "".join(split_lines(shown)[item.first_line - 1 : item.last_line])
        except BinaryFile:
            raise
        except WorkspaceError as error:
            return escape_to_one_line(str(error))[:200], ""
        if not shown:
            return note, ""
        if len(shown) > min(MAX_FILE_CHARS, self._left):
            return TOO_LONG, ""
        self._files.note_read(path, text)
        return note, shown

    async def _add_problems(self, item: ContextItem) -> None:
        """Adds the problems that the editor shows, in one file or in all. Omits files that look like secrets."""
        roots = self._files.roots
        name = "the problems that the editor shows"
        where = "" if item.path is None else f" in {escape_to_one_line(roots.relative(item.path))}"
        found = None
        if self._diagnostics is not None:
            try:
                async with asyncio.timeout(DIAGNOSTICS_SECONDS):
                    found = await self._diagnostics.diagnostics(item.path)
            except TimeoutError:
                pass
        is_secret = self._files.secret_filter()
        within = roots.paths if item.path is None else [item.path]
        inside = [p for p in found or () if any(map(p.path.is_relative_to, within))]
        shown = [p for p in inside if not is_secret(roots.relative(p.path))]
        lines = problem_lines(shown, roots) if found is not None else []
        self._references.append(f"{name}{where}")
        text = "\n".join(map(escape_to_one_line, lines)) or (NO_ANSWER if found is None else NO_PROBLEMS)
        self._add_content("problems", text, self._left)

    def _add_changes(self, diff: str) -> None:
        """Adds the user's uncommitted changes, without those of files that look like secrets."""
        self._references.append("the uncommitted changes (git diff)")
        starts = [found.start() for found in _DIFF_FILE.finditer(diff)]
        ends = [*starts[1:], len(diff)]
        parts = [diff[start:end] for start, end in zip(starts, ends, strict=True)] or [diff]
        # a name in the diff is relative to its repository, which may be that of any folder
        rules = self._files.secret_filters()
        shown = [part for part in parts if not any(rule(name) for name in _diff_names(part) for rule in rules)]
        omitted = len(parts) - len(shown)
        text = "".join(shown).strip("\n")
        if omitted:
            text += f"\n({omitted} of {len(parts)} files omitted, because they look like secrets.)"
        self._add_content("changes", text.strip("\n") or NO_CHANGES, min(MAX_CHANGES_CHARS, self._left))

    def _add_terminal(self, item: ContextItem) -> None:
        """Adds the end of the output of a command that the user ran in a terminal."""
        command = escape_to_one_line(item.name)[:MAX_COMMAND_CHARS]
        ended = "" if item.exit_code is None else f" (exit code {item.exit_code})"
        self._references.append(f"a command in the user's terminal: {command}{ended}")
        output = strip_sequences(item.text or "").strip("\n")
        limit = max(0, min(MAX_TERMINAL_CHARS, self._left))
        if len(output) > limit:
            cut = output[len(output) - limit :].split("\n", 1)[-1]
            output = f"(These are the last {len(cut):,} of {len(output):,} characters.)\n{cut}"
        self._add_content("terminal", f"$ {command}\n{output}", len(output) + len(command) + 3)

    def _add_selected_text(self, item: ContextItem, text: str) -> None:
        """Adds the selected lines of a document that no tool can read.

        It was never saved, or it shows a part or another version of a file. The text of a file that looks like a secret
        is left out.
        """
        name, lines = shown_name(item.name), _lines_suffix(item)
        note = ""
        if item.path is None:
            self._references.append(f"{name}{lines} (selected, not saved as a file)")
        else:
            note = self._reason_to_omit(item.path)
            file = escape_to_one_line(self._files.roots.relative(item.path))
            self._references.append(f"{file}, {name}{lines} (selected){note and f' ({note})'}")
        if not note:
            text = with_line_endings(text, "\n").removesuffix("\n")
            self._add_content("selection", text, min(MAX_FILE_CHARS, self._left))

    def _reason_to_omit(self, path: Path) -> str:
        """Why no text of this file may be attached; empty if it may."""
        try:
            return SECRET_SELECTION if self._files.has_secret_name(str(path)) else ""
        except WorkspaceError as error:
            return escape_to_one_line(str(error))[:200]

    def _add_content(self, tag: str, text: str, limit: int) -> None:
        limit = max(0, limit)
        if len(text) > limit:
            whole_lines = text[:limit].rsplit("\n", 1)[0]
            text = f"{whole_lines}\n(These are the first {len(whole_lines):,} of {len(text):,} characters.)"
        self._left -= len(text)
        self._contents.append(f"<{tag}>\n{text}\n</{tag}>")


def _lines_suffix(item: ContextItem) -> str:
    """The lines that the user means, with a comma before them; empty for the whole file."""
    if item.first_line is None or item.last_line is None:
        return ""
    return f", {lines_text(item.first_line, item.last_line)}"


def _diff_names(part: str) -> list[str]:
    """All names of a file in its part of a diff, such as the old and the new one."""
    line = part.split("\n", 1)[0]
    head = _DIFF_HEAD.match(line) or _MERGE_HEAD.match(line)
    before_hunks = part.split("\n@@", 1)[0]
    return [_unquoted(name) for name in (*(head.groups() if head else ()), *_DIFF_NAME.findall(before_hunks))]


def _unquoted(name: str) -> str:
    """A name without Git's quoting, which writes bytes as octal escapes (git-config(1), `core.quotePath`)."""
    decoded = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8) & 255]), name.encode())
    return decoded.decode("utf-8", "replace").replace('\\"', '"').replace("\\\\", "\\")
