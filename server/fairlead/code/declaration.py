"""Finds where a symbol is declared that TypeScript's servers would otherwise rename in one file only.

At a use of an imported symbol, they change the import to `a as b`. Their preference against that breaks code, because
it renames the property in `{ a }` too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlead.code import decode
from fairlead.code.provider import NoAnswer
from fairlead.code.servers.table import TYPESCRIPT_7
from fairlead.code.source import Source
from fairlead.code.symbol_position import name_at
from fairlead.errors import ToolError
from fairlead.workspace.files import Files

MAX_HOPS = 3
"""How many definitions are followed from a use to the declaration. The first can be the import in the same file."""


async def find_declaration(
    files: Files, source: Source, path: Path, use: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Path] | None:
    """Where an imported symbol is declared, if that is in the workspace and it has the same name there.

    Args:
        use: LSP's `TextDocumentPositionParams` for the symbol, in `path`.

    Returns:
        `TextDocumentPositionParams`, and their file. None: rename it at the use.
    """
    if path.suffix not in TYPESCRIPT_7.languages:
        return None
    wanted = name_at(source.text(path, path.name), use["position"], source.provider.encoding)
    for _ in range(MAX_HOPS if wanted else 0):
        try:
            target, position = await _definition(files, source, use, wanted)
        except ToolError:  # also if the file cannot be read
            return None
        use = {"textDocument": {"uri": target.as_uri()}, "position": position}
        if target != path:
            return use, target
    return None


async def _definition(
    files: Files, source: Source, use: Mapping[str, Any], name: str
) -> tuple[Path, Mapping[str, int]]:
    """The file and the position of a symbol's definition.

    Raises:
        NoAnswer: there is none, there are several files with one, it has another name, or it is not in the code of the
            workspace, but in a library, a secret or outside.
    """
    found = await source.request("textDocument/definition", dict(use), decode.positions)
    roots = files.roots
    for path, position in found if len({path for path, _ in found}) == 1 else ():
        if not (roots.contains(path) and roots.leads_to_itself(path)) or "node_modules" in path.parts:
            break
        if files.secret_filter()(roots.relative(path)):
            break
        if name_at(source.text(path, path.name), position, source.provider.encoding) == name:
            return path, position
    raise NoAnswer(f"{name} has no declaration that can be renamed.")
