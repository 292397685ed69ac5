"""Renames of symbols that other files import, by TypeScript's real servers."""

from pathlib import Path

import pytest

from fairlead.code.queries import CodeQueries
from fairlead.lsp.documents import Documents
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from support.servers_workspace import Started, Workspace, real

FILES = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}',
    "base.ts": "export function compute(x: number): number {\n  return x;\n}\nexport default function main() {}\n",
    "one.ts": 'import { compute } from "./base";\nexport const one = { compute, two: compute(2) };\n',
    "two.ts": 'import { compute as c } from "./base";\nimport run from "./base";\nc(1);\nrun();\n',
    "three.ts": 'import { one } from "./one";\none.compute(3);\n',
    "lib.ts": 'import { chunk } from "lib";\nchunk(1);\n',
    "node_modules/lib/package.json": '{"name": "lib", "version": "1.0.0", "types": "index.d.ts"}',
    "node_modules/lib/index.d.ts": "export declare function chunk(size: number): void;\n",
}


async def renamed(workspace: Path, server: str, name: str, symbol: str) -> dict[str, str]:
    """The new texts of the files that a rename to `fresh` changes. It begins at the last line with the symbol."""
    project = Workspace(workspace, "workspace", [real(server)])
    project.write(FILES)
    line = max(number for number, text in enumerate(FILES[name].splitlines(), 1) if symbol in text)
    async with Started(project) as servers:
        queries = CodeQueries(Files(Roots.of(workspace), Documents()), servers, lambda: None)
        found = await queries.rename(workspace / name, symbol, line, "fresh")
    return {edit.path.relative_to(workspace).as_posix(): edit.new or "" for edit in found.value}


@pytest.mark.slow
@pytest.mark.parametrize("server", ["typescript", "typescript-language-server"])
async def test_a_rename_at_a_use_reaches_all_files(workspace: Path, server: str) -> None:
    """It is the same as at the declaration. What other names lead to the symbol stay: an alias, a property."""
    found = await renamed(workspace, server, "one.ts", "compute")
    assert found == {
        "base.ts": FILES["base.ts"].replace("compute", "fresh"),
        "one.ts": 'import { fresh } from "./base";\nexport const one = { compute: fresh, two: fresh(2) };\n',
        "two.ts": FILES["two.ts"].replace("compute", "fresh"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("server", ["typescript", "typescript-language-server"])
@pytest.mark.parametrize(
    ("name", "symbol", "expected"),
    [
        ("two.ts", "c", FILES["two.ts"].replace(" c ", " fresh ").replace("c(1)", "fresh(1)")),
        ("two.ts", "run", FILES["two.ts"].replace("run", "fresh")),
        ("lib.ts", "chunk", 'import { chunk as fresh } from "lib";\nfresh(1);\n'),
    ],
    ids=["alias", "default", "library"],
)
async def test_a_name_of_one_file_is_renamed_only_there(
    workspace: Path, server: str, name: str, symbol: str, expected: str
) -> None:
    """The symbol has another name where it is declared, or it is declared in a library."""
    assert await renamed(workspace, server, name, symbol) == {name: expected}
