"""Asks the best provider about the code (`choice.py`)."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from fairlead.code import decode
from fairlead.code.choice import who_answers
from fairlead.code.decode import Place, Problem, Symbol
from fairlead.code.positions import code_units
from fairlead.code.provider import LanguageServer, LanguageServers, NoAnswer, Provider
from fairlead.code.symbol_position import find_symbol
from fairlead.code.workspace_edit import apply_workspace_edit
from fairlead.edits.text import body, split_lines
from fairlead.json_values import fields_of
from fairlead.workspace.editor import FileEdit
from fairlead.workspace.files import Files
from fairlead.workspace.ripgrep import has_files

T = TypeVar("T")

Relation = Literal["definition", "references", "implementations"]
METHODS: dict[Relation, str] = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "implementations": "textDocument/implementation",
}
FIX_KINDS = ("quickfix", "source.organizeImports", "source.fixAll", "refactor")
MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a provider answered."""

    value: T
    note: str = ""
    """What the model must know about it; empty if nothing."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a provider offers for a line."""

    title: str
    action: dict[str, Any]
    """LSP's `CodeAction`."""


class _Asked:
    """A provider that is asked, and the texts that it knows. `shown` are those of open documents at that time."""

    def __init__(self, provider: Provider, read: Callable[[Path], str | None], shown: Mapping[Path, str]) -> None:
        self.provider, self.read, self.shown = provider, read, shown

    def text(self, path: Path, name: str) -> str:
        text = self.read(path)
        if text is None:
            raise NoAnswer(f"{self.provider.name} does not know the file {name}.")
        return text

    async def request(self, method: str, params: dict[str, Any], reader: Callable[[Any], T]) -> T:
        if not self.provider.supports(method):
            raise NoAnswer(f"{self.provider.name} does not offer this ({method}). Continue with search.")
        answer = await self.provider.request(method, params)
        if _is_long(answer):
            return await asyncio.to_thread(decode.read_answer, reader, answer, self.provider.name)
        return decode.read_answer(reader, answer, self.provider.name)


def _is_long(answer: Any) -> bool:
    """Whether an answer is so long that it is read in a thread."""
    return isinstance(answer, list) and len(cast("list[Any]", answer)) > 1000


class CodeQueries:
    """The questions of one session about the code."""

    def __init__(self, files: Files, servers: LanguageServers, editor: Callable[[], Provider | None]) -> None:
        self._files, self.servers, self._editor = files, servers, editor
        self._has_files = False

    @property
    def has_editor(self) -> bool:
        """Whether the user's editor answers questions."""
        return self._editor() is not None

    @property
    def can_answer(self) -> bool:
        """Whether a question about a file of this workspace could be answered, as of the last `look`."""
        return self.has_editor or self._has_files

    async def look(self) -> None:
        """Finds out whether the workspace has a file that a language server knows."""
        suffixes = self.servers.suffixes()
        proposed = any(Path(each.target).suffix in suffixes for each in self._files.changes)
        if suffixes and not proposed:
            found = await asyncio.gather(*(has_files(suffixes, folder) for folder in self._files.roots.paths))
            proposed = any(found)
        self._has_files = proposed

    async def related(self, relation: Relation, path: Path, symbol: str, line: int | None) -> Answer[Sequence[Place]]:
        """The places that are related to a symbol.

        Raises:
            NoAnswer: there was no answer; the message says why.
        """

        async def ask(asked: _Asked) -> list[Place]:
            params = self._position(asked, path, symbol, line)
            if relation == "references":
                params["context"] = {"includeDeclaration": True}
            return await asked.request(METHODS[relation], params, decode.places)

        return await self._ask(path, ask, _is_empty)

    async def hover(self, path: Path, symbol: str, line: int | None) -> Answer[str]:
        """What is known about a symbol: its type, its signature, its documentation.

        Raises:
            NoAnswer: as `related`.
        """

        async def ask(asked: _Asked) -> str:
            params = self._position(asked, path, symbol, line)
            return await asked.request("textDocument/hover", params, decode.hover_text)

        return await self._ask(path, ask, _is_empty)

    async def symbols(self, path: Path) -> Answer[Sequence[Symbol]]:
        """The symbols of a file.

        Raises:
            NoAnswer: as `related`.
        """

        async def ask(asked: _Asked) -> list[Symbol]:
            params = {"textDocument": {"uri": path.as_uri()}}
            return await asked.request(
                "textDocument/documentSymbol", params, lambda answer: decode.symbols(answer, path)
            )

        return await self._ask(path, ask, _is_empty)

    async def find_symbols(self, query: str, near: Path) -> Answer[Sequence[Symbol]]:
        """The symbols of the workspace whose names match, in the language of a file.

        Raises:
            NoAnswer: as `related`.
        """

        async def ask(asked: _Asked) -> list[Symbol]:
            return await asked.request("workspace/symbol", {"query": query}, decode.symbols)

        return await self._ask(near, ask, _is_empty)

    async def problems(self, path: Path) -> Sequence[Problem]:
        """The problems in a file as the agent sees it, according to a language server.

        Raises:
            NoAnswer: there is no language server for it, or it did not answer.
        """
        await self._files.user_files.preload(path)
        return await self._problems(await self._server(path), path)

    async def _problems(self, asked: _Asked, path: Path) -> list[Problem]:
        provider = cast("LanguageServer", asked.provider)
        text = asked.text(path, path.name)
        answer = (await provider.diagnostics([path])).get(path)
        if answer is None:
            raise NoAnswer(f"{provider.name} did not check {path.name} in time. Check it with a command.")
        return decode.read_answer(lambda json: decode.problems(json, text, provider.encoding), answer, provider.name)

    async def rename(self, path: Path, symbol: str, line: int | None, new_name: str) -> Answer[Sequence[FileEdit]]:
        """What a rename of a symbol changes in all files.

        Raises:
            NoAnswer: as `related`, or the rename is refused or cannot be proposed exactly.
        """

        async def ask(asked: _Asked) -> list[FileEdit]:
            params = {**self._position(asked, path, symbol, line), "newName": new_name}
            return await asked.request("textDocument/rename", params, lambda edit: self._changes(asked, edit))

        return await self._ask(path, ask, _is_empty)

    async def fixes(self, path: Path, line: int) -> Answer[Sequence[Fix]]:
        """What a provider offers to change at a line, counted from 1: quick fixes, refactorings, sorted imports.

        Raises:
            NoAnswer: as `related`.
        """

        async def ask(asked: _Asked) -> list[Fix]:
            return await self._fixes(asked, path, line)

        return await self._ask(path, ask, _is_empty)

    async def fix(self, path: Path, line: int, title: str) -> Answer[Sequence[FileEdit]]:
        """What the fix with this title changes.

        Raises:
            NoAnswer: as `related`, or there is no such fix, or it cannot be proposed exactly.
        """

        async def ask(asked: _Asked) -> list[FileEdit]:
            offered = await self._fixes(asked, path, line)
            chosen = next((fix.action for fix in offered if fix.title == title), None)
            if chosen is None:
                titles = "; ".join(fix.title for fix in offered) or "nothing"
                raise NoAnswer(f"There is no fix {title!r} at line {line}. Offered: {titles}.")
            if "edit" not in chosen and asked.provider.supports("codeAction/resolve"):
                chosen = await asked.request("codeAction/resolve", chosen, fields_of)
            if chosen.get("command"):
                raise NoAnswer(f"{title!r} runs a command of {asked.provider.name}. Make the change with edit_file.")
            edit = chosen.get("edit")
            return decode.read_answer(lambda json: self._changes(asked, json), edit, asked.provider.name)

        return await self._ask(path, ask, _is_empty)

    async def _fixes(self, asked: _Asked, path: Path, line: int) -> list[Fix]:
        lines = split_lines(asked.text(path, path.name))
        if not 1 <= line <= max(len(lines), 1):
            raise NoAnswer(f"{path.name} has no line {line}.")
        is_server = asked.provider is not self._editor()
        found = await self._problems(asked, path) if is_server else []
        there = [problem.json for problem in found if problem.start[0] < line <= problem.end[0] + 1]
        end = code_units(body(lines[line - 1]), asked.provider.encoding) if lines else 0
        span = {"start": {"line": line - 1, "character": 0}, "end": {"line": line - 1, "character": end}}
        params = {
            "textDocument": {"uri": path.as_uri()},
            "range": span,
            "context": {"diagnostics": there, "only": list(FIX_KINDS), "triggerKind": 1},
        }
        offered = await asked.request("textDocument/codeAction", params, decode.actions)
        return [Fix(action["title"], action) for action in offered]

    def _changes(self, asked: _Asked, edit: Any) -> list[FileEdit]:
        """The changes of an edit.

        Raises:
            NoAnswer: it concerns a file that cannot be proposed.
        """
        roots, is_secret = self._files.roots, self._files.secret_filter()

        def read(path: Path) -> str | None:
            if not roots.contains(path):
                raise NoAnswer(f"The edit changes {path}, which is outside of the workspace, so nothing was proposed.")
            if not self._files.resolves_to_itself(path):
                raise NoAnswer(
                    f"The edit changes {roots.relative(path)}, which is not the file's own path, so nothing was "
                    "proposed. Make the change with edit_file."
                )
            if is_secret(roots.relative(path)):
                raise NoAnswer(
                    f"The edit changes {roots.relative(path)}, which looks like a secret: nothing was proposed."
                )
            if asked.provider is self._editor() and self._files.has_proposal(path):
                raise NoAnswer(
                    f"{roots.relative(path)} has proposed edits, which the user's editor does not know, so nothing was "
                    "proposed. Make the change with edit_file."
                )
            text = asked.read(path)
            if path in asked.shown and text != asked.shown[path]:
                raise NoAnswer(
                    f"{roots.relative(path)} changed before {asked.provider.name} answered, so nothing was proposed. "
                    "Try again."
                )
            return text

        return apply_workspace_edit(edit, read, asked.provider.encoding) if edit is not None else []

    def _position(self, asked: _Asked, path: Path, symbol: str, line: int | None) -> dict[str, Any]:
        name = self._files.roots.relative(path)
        text = asked.text(path, name)
        row, column = find_symbol(text, name, symbol, line)
        before = split_lines(text)[row][:column]
        position = {"line": row, "character": code_units(before, asked.provider.encoding)}
        return {"textDocument": {"uri": path.as_uri()}, "position": position}

    async def _ask(self, path: Path, ask: Callable[[_Asked], Any], is_empty: Callable[[Any], bool]) -> Answer[Any]:
        """The first answer that is not empty; an empty one if there is no other."""
        await self._files.user_files.preload(path)
        unknown = self._unknown(path)
        order = who_answers(
            has_proposals=bool(unknown), editor=self.has_editor, server=bool(self.servers.name_for(path))
        )
        empty: Answer[Any] | None = None
        error = NoAnswer(
            "Questions about this file's language cannot be answered here. Continue with search and read_file."
        )
        for who in order:
            try:
                asked = await self._server(path) if who == "server" else self._of_editor()
                found = await ask(asked)
            except NoAnswer as problem:
                error = problem
                continue
            note = self._note(unknown) if who == "editor" else ""
            if not is_empty(found):
                return Answer(found, note)
            empty = empty or Answer(found, note)
        if empty is None:
            raise error
        return empty

    async def _server(self, path: Path) -> _Asked:
        """The language server of a file, after it got the texts as the agent sees them."""
        server = await self.servers.server(path)
        texts = {file: text for file, text in self._files.texts_not_on_disk() if text is not None}
        own = self._files.read(path)
        if own is not None:
            texts[path] = own
        await server.show(texts)
        return _Asked(server, self._files.read, texts)

    def _of_editor(self) -> _Asked:
        editor = self._editor()
        assert editor is not None
        user_files = self._files.user_files
        buffers = {path: user_files.buffer(path) for path in user_files.open_paths()}
        shown = {path: buffer.text for path, buffer in buffers.items() if buffer is not None}
        return _Asked(editor, self._files.current, shown)

    def _unknown(self, path: Path) -> list[Path]:
        """The proposed files of the same language, which the editor does not know."""
        name, targets = self.servers.name_for(path), (Path(proposal.target) for proposal in self._files.changes)
        return [
            target
            for target in targets
            if target.suffix == path.suffix or (name and self.servers.name_for(target) == name)
        ]

    def _note(self, unknown: Iterable[Path]) -> str:
        names = [self._files.roots.relative(path) for path in unknown]
        if not names:
            return ""
        shown = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
        return f"(From the user's editor, which does not know your proposed edits of {shown}.)"


def _is_empty(found: Sequence[Any]) -> bool:
    return len(found) == 0
