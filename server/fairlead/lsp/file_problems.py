"""Shows what is wrong with an open file of skills, commands, agents or hooks, as diagnostics of the file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from fairlead.display import end_sentence
from fairlead.lsp.documents import Documents
from fairlead.lsp.rpc import AgentProtocol
from fairlead.positions import code_units
from fairlead.session.server_context import ServerContext
from fairlead.skills.find import problems_in as problems_in_skills
from fairlead.text_lines import split_lines
from fairlead.user_hooks.find import problems_in as problems_in_hooks
from fairlead.workspace.file_problem import FileProblem

SOURCE = "fairlead"
LEFT_OUT = "The agent does not use this file."


class FileProblems:
    """Publishes the problems of open documents, as the editor has them. A closed document has none.

    The texts are read one after the other in a thread, because a long one takes a while.
    """

    def __init__(self, protocol: AgentProtocol, documents: Documents, context: ServerContext) -> None:
        self._protocol, self._documents, self._context = protocol, documents, context
        self._outdated: dict[Path, None] = {}
        """The files to read again, in the order in which they changed."""
        self._shown: dict[Path, str] = {}
        """The URIs of the documents that have problems, as they were published."""
        self._work: asyncio.Task[None] | None = None

    def update(self, *paths: Path) -> None:
        """Reads documents again that were opened, changed or closed."""
        self._outdated.update(dict.fromkeys(paths))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._publish_outdated())

    def update_all(self) -> None:
        """Reads all documents again, because the trust or the folders of the workspace changed."""
        self.update(*self._documents.open_paths(), *self._shown)

    async def _publish_outdated(self) -> None:
        while self._outdated:
            path = next(iter(self._outdated))
            del self._outdated[path]
            document = self._documents.open_buffer(path)
            text = "" if document is None else document.text
            problems = [] if document is None else await asyncio.to_thread(self._problems, path, text)
            if path not in self._outdated:  # otherwise it has changed meanwhile
                self._publish(path, text, problems)

    def _problems(self, path: Path, text: str) -> list[FileProblem]:
        context, home = self._context, Path.home()
        folders = context.roots.paths if context.trusted else ()
        return [*problems_in_skills(path, text, folders, home), *problems_in_hooks(path, text, folders, home)]

    def _publish(self, path: Path, text: str, problems: Sequence[FileProblem]) -> None:
        uri = self._shown.pop(path, None)
        if uri is None and not problems:
            return
        uri = self._documents.uri(path) if problems else uri
        lines, encoding = split_lines(text), self._documents.encoding
        diagnostics = [_diagnostic(each, lines, encoding) for each in problems]
        self._protocol.send_notification(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, {"uri": uri, "diagnostics": diagnostics}
        )
        if problems:
            self._shown[path] = str(uri)


def _diagnostic(problem: FileProblem, lines: Sequence[str], encoding: str) -> dict[str, Any]:
    """The problem at the text of its line; that of a whole file is at the first line."""
    row = min((problem.line or 1) - 1, max(len(lines) - 1, 0))
    line = lines[row].rstrip() if lines else ""
    start, end = len(line) - len(line.lstrip()), code_units(line, encoding)
    severity = types.DiagnosticSeverity.Error if problem.is_left_out else types.DiagnosticSeverity.Warning
    return {
        "range": {"start": {"line": row, "character": start}, "end": {"line": row, "character": end}},
        "severity": severity.value,
        "source": SOURCE,
        "message": f"{_sentence(problem.text)} {LEFT_OUT}" if problem.is_left_out else _sentence(problem.text),
    }


def _sentence(text: str) -> str:
    return end_sentence(f"{text[:1].upper()}{text[1:]}")
