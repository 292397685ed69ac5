"""`code`: asks the language support about the code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.code.provider import NoAnswer
from fairlead.code.queries import Answer, CodeQueries, Relation
from fairlead.code.render import render_hover, render_places, render_symbols
from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.sentences import Sentence
from fairlead.tools.problems import Problems
from fairlead.tools.secret_files import ask_for_secret
from fairlead.workspace.files import Files
from fairlead.workspace.ripgrep import file_names

RELATIONS: Sequence[Relation] = get_args(Relation)
TITLES: Mapping[str, Callable[[str, str], Sentence]] = {
    "definition": lambda name, _: Sentence("Find the definition of {0}", name),
    "references": lambda name, _: Sentence("Find references to {0}", name),
    "implementations": lambda name, _: Sentence("Find implementations of {0}", name),
    "hover": lambda name, _: Sentence("Look up {0}", name),
    "symbols": lambda _, path: Sentence("List the symbols of {0}", path),
    "find_symbols": lambda name, _: Sentence("Find symbols named {0}", name),
    "problems": lambda _, path: (
        Sentence("Find problems in {0}", path) if path else Sentence("Find problems in all files")
    ),
    "fixes": lambda _, path: Sentence("List fixes for {0}", path),
}
"""The title of each action, from what it looks for and the path."""
NEEDS: Mapping[str, Sequence[str]] = {  # the fields that an action requires; none if it is not here
    **dict.fromkeys((*RELATIONS, "hover"), ("path", "symbol")),
    "symbols": ("path",),
    "find_symbols": ("query",),
    "fixes": ("path", "line"),
}
MAX_LISTED = 20_000  # files in each folder of the workspace, to find its main language

SPEC = ToolSpec(
    "code",
    "Ask the language support instead of searching text: exact definitions, references, implementations; hover (type, "
    "signature, documentation); symbols of a file; find_symbols in the workspace; problems; fixes offered for a line. "
    "Give a symbol by its text and, if you know it, its line.",
    {
        "type": "object",
        "properties": {
            "action": {"enum": list(TITLES)},
            "path": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "symbol": {"type": "string", "description": "Its text, as in the file"},
            "query": {"type": "string", "description": "Name or part of it, for find_symbols"},
        },
        "required": ["action"],
    },
)


class Code:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "search"
    read_only = True

    def __init__(self, files: Files, gate: Gate, queries: CodeQueries, problems: Problems) -> None:
        self._files, self._gate, self._queries, self._problems = files, gate, queries, problems

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        name = str(input.get("query" if input["action"] == "find_symbols" else "symbol") or "")
        title = TITLES[input["action"]](name, input.get("path") or "")
        return title, (Location(input["path"], input.get("line")),) if input.get("path") else ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        action = input["action"]
        missing = [name for name in NEEDS.get(action, ()) if not input.get(name)]
        if missing:
            raise ToolError(f"The action {action} needs {' and '.join(missing)}.")
        if action == "problems":
            return await self._problems.render(input.get("path"))
        if action == "find_symbols":
            return await self._find_symbols(input["query"], input.get("path"))
        await ask_for_secret(self._files, self._gate, call, "analyze", input["path"])
        return await self._about(action, self._files.roots.resolve(input["path"]), input)

    async def _about(self, action: str, path: Path, input: dict[str, Any]) -> str:
        symbol, line = input.get("symbol") or "", input.get("line")
        if action in RELATIONS:
            related = await self._queries.related(cast("Relation", action), path, symbol, line)
            return _text(await render_places(self._files, related.value), related)
        if action == "hover":
            hover = await self._queries.hover(path, symbol, line)
            return _text(render_hover(hover.value), hover)
        if action == "symbols":
            symbols = await self._queries.symbols(path)
            return _text(render_symbols(self._files.roots.relative, symbols.value, of_file=True), symbols)
        fixes = await self._queries.fixes(path, input["line"])
        return _text("\n".join(f"- {fix.title}" for fix in fixes.value), fixes)

    async def _find_symbols(self, query: str, given: str | None) -> str:
        near = self._files.roots.resolve(given) if given else await self._path_in_main_language()
        found = await self._queries.find_symbols(query, near)
        is_secret, roots = self._files.secret_filter(), self._files.roots
        symbols = [symbol for symbol in found.value if not is_secret(roots.relative(symbol.place.path))]
        return _text(render_symbols(roots.relative, symbols, of_file=False), found)

    async def _path_in_main_language(self) -> Path:
        """A path in the language to ask about if the model named no path.

        Of the files that the agent has read or written and that a language server knows, this is the last one in
        `ReadTracker.paths`. If there is none, it is the first file of the server that knows the most files. If no
        server knows any file, but there is an editor, it is the workspace's first folder.

        Raises:
            NoAnswer: no editor or language server knows a language of the workspace.
        """
        roots, servers = self._files.roots, self._queries.servers
        latest = next((path for path in reversed(list(self._files.read_tracker.paths)) if servers.name_for(path)), None)
        if latest is not None:
            return latest
        by_server: dict[str, list[Path]] = {}
        for folder in roots.paths:
            for name in sorted(await file_names(".", folder, MAX_LISTED)):
                path = folder / name
                by_server.setdefault(servers.name_for(path), []).append(path)
        by_server.pop("", None)
        if by_server:
            return max(by_server.values(), key=len)[0]
        if self._queries.has_editor:
            return roots.first.path
        raise NoAnswer("No editor or language server knows the symbols of this workspace. Use search.")


def _text(text: str, answer: Answer[Any]) -> str:
    if not text and answer.is_complete:
        text = "Nothing found."
    return "\n".join(part for part in (text, answer.note) if part)
