"""Asks about the code: the best provider first (`choice.py`). Only a language server is asked for problems."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from fairlead.code import decode
from fairlead.code.choice import who_answers
from fairlead.code.declaration import find_declaration
from fairlead.code.decode import Place, Problem, Symbol
from fairlead.code.provider import ADVICE, LanguageServer, LanguageServers, NoAnswer, Provider
from fairlead.code.source import Source
from fairlead.code.symbol_position import find_symbol
from fairlead.code.workspace_edit import apply_workspace_edit, changes_at
from fairlead.json_values import fields_of
from fairlead.positions import code_units
from fairlead.text_lines import split_lines, without_line_ending
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
    """A provider's answer."""

    value: T
    note: str = ""
    """A note for the model about the answer; empty if there is none."""
    is_complete: bool = True
    """False: the provider may find more later, and the note says so."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a provider offers for a line."""

    title: str
    action: dict[str, Any]
    """LSP's `CodeAction`."""


class CodeQueries:
    """The questions of one session about the code."""

    def __init__(
        self,
        files: Files,
        servers: LanguageServers,
        editor: Callable[[], Provider | None],
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """
        Args:
            editor: returns the user's editor; None if it does not answer questions about code.
            warn: tells the user something that is true for the whole process.
        """
        self._files, self.servers, self._editor, self._warn = files, servers, editor, warn
        self._has_files = False

    @property
    def has_editor(self) -> bool:
        """Whether the user's editor answers questions."""
        return self._editor() is not None

    @property
    def can_answer(self) -> bool:
        """Whether the editor answers questions, or a language server knew a file at the last `update_can_answer`."""
        return self.has_editor or self._has_files

    async def update_can_answer(self) -> None:
        """Updates `can_answer`: finds out whether the workspace has a file that a language server knows.

        Tells the user about each server in the settings that is needed for such a file, and whose program is not found.

        Raises:
            WorkspaceError: the files cannot be listed, for example because ripgrep is missing.
        """
        suffixes = self.servers.suffixes()
        has_files_of_servers = any(Path(each.target).suffix in suffixes for each in self._files.changes)
        if suffixes and not has_files_of_servers:
            has_files_of_servers = await self._has_files_with(suffixes)
        self._has_files = has_files_of_servers
        for server in self.servers.missing():
            if await self._has_files_with(server.suffixes):
                self._warn(
                    f"The program “{server.program}” of the language server “{server.name}” (setting languageServers) "
                    "was found neither in the workspace nor on PATH. Install it, or set its full path in the setting."
                )

    async def _has_files_with(self, suffixes: Collection[str]) -> bool:
        return any(await asyncio.gather(*(has_files(suffixes, folder) for folder in self._files.roots.paths)))

    async def related(self, relation: Relation, path: Path, symbol: str, line: int | None) -> Answer[Sequence[Place]]:
        """The places that are related to a symbol. References include its declaration.

        Args:
            path: a file that contains the symbol.
            symbol: its text in the file.
            line: its line, from 1, or a line near it (`find_symbol`); None: the first line with the symbol.

        Raises:
            NoAnswer: there was no answer; the message says why.
            ToolError: a file cannot be read, or the layer that the language server would run in cannot be made.
        """

        async def ask(source: Source) -> list[Place]:
            params = self._position(source, path, symbol, line)
            if relation == "references":
                params["context"] = {"includeDeclaration": True}
            return await source.request(METHODS[relation], params, decode.places)

        return await self._ask(path, ask, in_all_files=relation != "definition")

    async def hover(self, path: Path, symbol: str, line: int | None) -> Answer[str]:
        """The type, the signature and the documentation of a symbol, if known, in Markdown. May be empty.

        The arguments are those of `related`.

        Raises:
            NoAnswer, ToolError: as for `related`.
        """

        async def ask(source: Source) -> str:
            params = self._position(source, path, symbol, line)
            return await source.request("textDocument/hover", params, decode.hover_text)

        return await self._ask(path, ask)

    async def symbols(self, path: Path) -> Answer[Sequence[Symbol]]:
        """The symbols of a file.

        Raises:
            NoAnswer, ToolError: as for `related`.
        """

        async def ask(source: Source) -> list[Symbol]:
            params = {"textDocument": {"uri": path.as_uri()}}
            return await source.request(
                "textDocument/documentSymbol", params, lambda answer: decode.symbols(answer, path)
            )

        return await self._ask(path, ask)

    async def find_symbols(self, query: str, near: Path) -> Answer[Sequence[Symbol]]:
        """The symbols of the workspace whose names match a query. The provider decides what matches.

        Args:
            near: a file in the language to ask about. The editor answers for all languages.

        Raises:
            NoAnswer, ToolError: as for `related`.
        """

        async def ask(source: Source) -> list[Symbol]:
            return await source.request("workspace/symbol", {"query": query}, decode.symbols)

        return await self._ask(near, ask, in_all_files=True)

    async def problems(self, path: Path) -> Sequence[Problem]:
        """The problems in a file as the agent sees it, according to a language server.

        Raises:
            NoAnswer: there is no such file or no language server for it, or the server did not answer in time.
            ToolError: as for `related`.
        """
        await self._files.user_files.preload(path)
        return await self._problems(await self._server_source(path), path)

    async def _problems(self, source: Source, path: Path) -> list[Problem]:
        provider = cast("LanguageServer", source.provider)
        text = source.text(path, path.name)
        answer = (await provider.diagnostics([path])).get(path)
        if answer is None:
            raise NoAnswer(f"{provider.name} did not check {path.name} in time. Check it with a command.")
        return decode.read_answer(lambda json: decode.problems(json, text, provider.encoding), answer, provider.name)

    async def rename(self, path: Path, symbol: str, line: int | None, new_name: str) -> Answer[Sequence[FileEdit]]:
        """The changes in all files that rename a symbol.

        Args:
            line: as for `related`.

        Raises:
            NoAnswer: as for `related`, or the rename was refused or cannot be proposed exactly.
            ToolError: as for `related`.
        """

        async def ask(source: Source) -> list[FileEdit]:
            use = self._position(source, path, symbol, line)
            declared = await find_declaration(self._files, source, path, use)
            if declared is not None:
                declaration, target = declared
                if source.provider is not self._editor():
                    source = await self._server_source(path, target)
                edit = await self._rename_at(source, declaration, new_name)
                if edit is not None and decode.read_answer(
                    lambda edit: changes_at(edit, path, use["position"]), edit, source.provider.name
                ):
                    return decode.read_answer(lambda edit: self._changes(source, edit), edit, source.provider.name)
            params = {**use, "newName": new_name}
            return await source.request("textDocument/rename", params, lambda edit: self._changes(source, edit))

        return await self._ask(path, ask, in_all_files=True)

    async def _rename_at(self, source: Source, declaration: Mapping[str, Any], new_name: str) -> Any:
        """LSP's `WorkspaceEdit`; None if the provider does not rename the symbol there, as in a library."""
        try:
            return await source.request("textDocument/rename", {**declaration, "newName": new_name}, lambda edit: edit)
        except NoAnswer:
            return None

    async def fixes(self, path: Path, line: int) -> Answer[Sequence[Fix]]:
        """The changes that a provider offers for a line, counted from 1: quick fixes, refactorings, sorted imports.

        Raises:
            NoAnswer: as for `related`, or the file has no such line.
            ToolError: as for `related`.
        """

        async def ask(source: Source) -> list[Fix]:
            return await self._fixes(source, path, line)

        return await self._ask(path, ask)

    async def fix(self, path: Path, line: int, title: str) -> Answer[Sequence[FileEdit]]:
        """The changes of the fix with this title.

        Args:
            line: the line that the fix was offered for, from 1.

        Raises:
            NoAnswer: as for `fixes`, or there is no such fix, or it cannot be proposed exactly.
            ToolError: as for `related`.
        """

        async def ask(source: Source) -> list[FileEdit]:
            offered = await self._fixes(source, path, line)
            chosen = next((fix.action for fix in offered if fix.title == title), None)
            if chosen is None:
                titles = "; ".join(fix.title for fix in offered) or "nothing"
                raise NoAnswer(f"There is no fix {title!r} at line {line}. Offered: {titles}.")
            if "edit" not in chosen and source.provider.supports("codeAction/resolve"):
                chosen = await source.request("codeAction/resolve", chosen, fields_of)
            if chosen.get("command"):
                raise NoAnswer(f"{title!r} runs a command of {source.provider.name}. Make the change with edit_file.")
            edit = chosen.get("edit")
            return decode.read_answer(lambda json: self._changes(source, json), edit, source.provider.name)

        return await self._ask(path, ask)

    async def _fixes(self, source: Source, path: Path, line: int) -> list[Fix]:
        lines = split_lines(source.text(path, path.name))
        if not 1 <= line <= max(len(lines), 1):
            raise NoAnswer(f"{path.name} has no line {line}.")
        is_server = source.provider is not self._editor()
        found = await self._problems(source, path) if is_server else []
        at_line = [problem.json for problem in found if problem.start[0] < line <= problem.end[0] + 1]
        end = code_units(without_line_ending(lines[line - 1]), source.provider.encoding) if lines else 0
        span = {"start": {"line": line - 1, "character": 0}, "end": {"line": line - 1, "character": end}}
        params = {
            "textDocument": {"uri": path.as_uri()},
            "range": span,
            "context": {"diagnostics": at_line, "only": list(FIX_KINDS), "triggerKind": 1},
        }
        offered = await source.request("textDocument/codeAction", params, decode.actions)
        return [Fix(action["title"], action) for action in offered]

    def _changes(self, source: Source, edit: Any) -> list[FileEdit]:
        """The changes of an LSP `WorkspaceEdit`; none if it is None.

        Raises:
            NoAnswer: nothing can be proposed for one of its files, or a file has changed since the provider was asked.
            KeyError, TypeError, ValueError, AttributeError: it is not a workspace edit.
        """
        roots, is_secret = self._files.roots, self._files.secret_filter()

        def read(path: Path) -> str | None:
            if not roots.contains(path):
                raise NoAnswer(f"The edit changes {path}, which is outside of the workspace, so nothing was proposed.")
            if not roots.leads_to_itself(path):
                raise NoAnswer(
                    f"The edit changes {roots.relative(path)} through a link or another spelling of its path, so "
                    "nothing was proposed. Make the change with edit_file."
                )
            if is_secret(roots.relative(path)):
                raise NoAnswer(
                    f"The edit changes {roots.relative(path)}, which looks like a secret, so nothing was proposed."
                )
            if source.provider is self._editor() and self._files.has_proposal(path):
                raise NoAnswer(
                    f"{roots.relative(path)} has proposed edits, which the user's editor does not know, so nothing was "
                    "proposed. Make the change with edit_file."
                )
            text = source.read(path)
            if path in source.shown and text != source.shown[path]:
                raise NoAnswer(
                    f"{roots.relative(path)} changed before {source.provider.name} answered, so nothing was proposed. "
                    "Try again."
                )
            return text

        return apply_workspace_edit(edit, read, source.provider.encoding) if edit is not None else []

    def _position(self, source: Source, path: Path, symbol: str, line: int | None) -> dict[str, Any]:
        """LSP's `TextDocumentPositionParams` for a symbol. Raises NoAnswer if it is not there (`find_symbol`)."""
        name = self._files.roots.relative(path)
        text = source.text(path, name)
        row, column = find_symbol(text, name, symbol, line)
        before = split_lines(text)[row][:column]
        position = {"line": row, "character": code_units(before, source.provider.encoding)}
        return {"textDocument": {"uri": path.as_uri()}, "position": position}

    async def _ask(
        self, path: Path, ask: Callable[[Source], Awaitable[Any]], *, in_all_files: bool = False
    ) -> Answer[Any]:
        """The first answer that is not empty, else the first empty one; of these, rather one that is not complete.

        Args:
            path: the file whose language and proposals decide who is asked.
            ask: asks one provider.
            in_all_files: whether an answer that is not empty can lack the files that a server has not read yet.

        Raises:
            NoAnswer: there was no answer. The message is that of the last provider that was asked.
            ToolError: any other error of a provider; the next one is not asked.
        """
        await self._files.user_files.preload(path)
        unknown = self._files_unknown_to_editor(path)
        order = who_answers(
            has_proposals=bool(unknown), editor=self.has_editor, server=bool(self.servers.name_for(path))
        )
        empty: Answer[Any] | None = None
        error = NoAnswer(f"Questions about this file's language cannot be answered here. {ADVICE}")
        for who in order:
            try:
                source = await self._server_source(path) if who == "server" else self._editor_source()
                found = await ask(source)
            except NoAnswer as latest:
                error = latest
                continue
            if who == "server":
                answer = _server_answer(found, cast("LanguageServer", source.provider), in_all_files=in_all_files)
            else:
                answer = Answer(found, self._note(unknown))
            if len(found):
                return answer
            empty = answer if empty is None or not answer.is_complete else empty
        if empty is None:
            raise error
        return empty

    async def _server_source(self, path: Path, *others: Path) -> Source:
        """The language server for a file. Shows it the given, the proposed and the open files, as the agent sees them.

        Raises:
            ToolError: as for `related`.
        """
        server = await self.servers.server(path)
        texts = {file: text for file, text in self._files.texts_not_on_disk() if text is not None}
        for file in (path, *others):
            text = self._files.read(file)
            if text is not None:
                texts[file] = text
        await server.show(texts)
        return Source(server, self._files.read, texts)

    def _editor_source(self) -> Source:
        editor = self._editor()
        assert editor is not None
        user_files = self._files.user_files
        buffers = {path: user_files.buffer(path) for path in user_files.open_paths()}
        shown = {path: buffer.text for path, buffer in buffers.items() if buffer is not None}
        return Source(editor, self._files.current, shown)

    def _files_unknown_to_editor(self, path: Path) -> list[Path]:
        """The paths with proposals, including deletions, in the language of a file. The editor does not know them."""
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
        return f"(From the user's editor, which does not know your proposed edits to {shown}.)"


def _server_answer(found: Any, server: LanguageServer, *, in_all_files: bool) -> Answer[Any]:
    """The answer of a language server, which knows all texts, but may still be reading them."""
    busy = server.unfinished
    if not busy or (len(found) and not in_all_files):
        return Answer(found)
    what = "There may be more" if len(found) else "Nothing was found yet"
    note = f"{what}: {server.name} is still busy ({busy}). Ask again later, or use search."
    return Answer(found, note, is_complete=False)
