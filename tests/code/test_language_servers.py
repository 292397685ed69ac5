"""Real language servers, which know the proposed text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fairlead.code.servers.server import Server
from fairlead.shell.layer import Where
from support.servers_workspace import Started, Workspace, real

PYTHON = {
    "pkg/__init__.py": "",
    "pkg/base.py": "def compute(x: int) -> int:\n    return x\n",
    "pkg/one.py": "from pkg.base import compute\n\nprint(compute(1))\n",
    "pkg/two.py": "from pkg.base import compute\n\nprint(compute(2))\n",
    "pkg/three.py": "from pkg import base\n\nprint(base.compute(3))\n",
    "main.py": "import pkg.base\n\nprint(pkg.base.compute(4))\n",
}
TYPESCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}',
    "base.ts": "export function compute(x: number): number {\n  return x;\n}\n",
    "one.ts": 'import { compute } from "./base";\nexport const one = compute(1);\n',
    "two.ts": 'import { compute } from "./base";\nexport const two = compute(2);\n',
    "three.ts": 'import * as base from "./base";\nexport const three = base.compute(3);\n',
    "four.ts": 'import { compute as c } from "./base";\nexport const four = c(4);\n',
}
LANGUAGES = {
    "basedpyright": (PYTHON, "pkg/base.py", (0, 4), "pkg/one.py", (2, 8)),
    "typescript-language-server": (TYPESCRIPT, "base.ts", (0, 16), "one.ts", (1, 20)),
}
PLACES: list[Where] = ["sandboxed", "workspace"]


def at(path: Path, position: tuple[int, int], **more: Any) -> dict[str, Any]:
    line, character = position
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}, **more}


async def messages(server: Server, path: Path) -> list[str]:
    """The errors of a file."""
    found = (await server.diagnostics([path]))[path]
    return [problem["message"] for problem in found if problem.get("severity", 1) == 1]


def files_of(edit: Mapping[str, Any]) -> Sequence[str]:
    changes = edit.get("documentChanges") or [{"textDocument": {"uri": uri}} for uri in edit["changes"]]
    return sorted(change["textDocument"]["uri"].rpartition("/")[2] for change in changes)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", LANGUAGES)
async def test_a_server_answers_about_the_code(workspace: Path, name: str, where: Where) -> None:
    """Definition, references, symbols, and a rename in all files that use the name."""
    files, declared, position, used, use = LANGUAGES[name]
    project = Workspace(workspace, where, [real(name)])
    project.write(files)
    async with Started(project) as servers:
        server = await servers.server(workspace / used)
        await server.show({workspace / used: files[used]})
        definition = await server.request("textDocument/definition", at(workspace / used, use))
        assert (workspace / declared).as_uri() in str(definition)
        await server.show({workspace / each: text for each, text in files.items()})
        context = {"includeDeclaration": False}
        found = await server.request("textDocument/references", at(workspace / declared, position, context=context))
        assert len({each["uri"] for each in found}) == 4
        symbols = await server.request("workspace/symbol", {"query": "compute"})
        assert (workspace / declared).as_uri() in str(symbols)
        edit = await server.request("textDocument/rename", at(workspace / declared, position, newName="calculate"))
        assert len(files_of(edit)) == 5


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", LANGUAGES)
async def test_a_server_checks_the_text_that_it_is_shown(workspace: Path, name: str, where: Where) -> None:
    """The error is there while the wrong text is shown, and gone with the right one; the files do not change."""
    files, _, _, used, _ = LANGUAGES[name]
    project = Workspace(workspace, where, [real(name)])
    project.write(files)
    async with Started(project) as servers:
        server = await servers.server(workspace / used)
        path, text = workspace / used, files[used]
        await server.show({path: text})
        assert await messages(server, path) == []
        await server.show({path: text.replace("compute(1)", 'compute("1")')})
        assert ["not assignable" in message for message in await messages(server, path)] == [True]
        await server.show({path: text})
        assert await messages(server, path) == []
    assert (workspace / used).read_text() == files[used]


IMPORTS = {
    "basedpyright": (
        "new.py",
        "value: int = 1\n",
        "main.py",
        "import new\n\nprint(new.value)\n",
        "could not be resolved",
    ),
    "typescript-language-server": (
        "new.ts",
        "export const value = 1;\n",
        "main.ts",
        'import { value } from "./new";\nexport const twice = value * 2;\n',
        "Cannot find module",
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
async def test_in_the_sandbox_a_server_sees_which_files_are_proposed(workspace: Path, name: str) -> None:
    """A proposed new file can be imported, also one proposed after the start; a deleted or rejected one cannot."""
    new, content, user, text, missing = IMPORTS[name]
    project = Workspace(workspace, "sandboxed", [real(name)])
    project.write({**LANGUAGES[name][0], user: text})
    path = workspace / user

    async def sees(present: bool) -> None:
        """Returns when the server knows whether the file exists. TypeScript's may publish its old view first."""
        while True:
            server = await servers.server(path)
            await server.show({path: text})
            found = " ".join(await messages(server, path))
            if (missing in found) is not present:
                return

    async with Started(project) as servers:
        project.texts = {new: content}
        await sees(True)
        project.texts = {}
        await sees(False)
        project.texts = {new: content}
        await sees(True)
        project.write({new: content})
        project.texts = {new: None}
        await sees(False)
        project.texts = {}
        await sees(True)


@pytest.mark.parametrize("where", PLACES)
async def test_a_server_sees_files_that_appear_on_disk_while_it_runs(workspace: Path, where: Where) -> None:
    """Files that the user creates, replaces and removes."""
    new, content, user, text, missing = IMPORTS["basedpyright"]
    project = Workspace(workspace, where, [real("basedpyright")])
    project.write({user: text})
    path = workspace / user

    async def errors() -> str:
        server = await servers.server(path)
        await server.show({path: text})
        return " ".join(await messages(server, path))

    async with Started(project) as servers:
        assert missing in await errors()
        project.write({new: content})
        assert await errors() == ""
        project.write({f"{new}.tmp": "other: int = 1\n"})
        (workspace / f"{new}.tmp").rename(workspace / new)
        assert '"value" is not a known attribute' in await errors()
        (workspace / new).unlink()
        assert missing in await errors()


async def test_unchanged_texts_are_not_sent_again(workspace: Path) -> None:
    """A second `show` of the same texts costs no message: the versions of the documents stay."""
    project = Workspace(workspace, "workspace", [real("basedpyright")])
    project.write(PYTHON)
    path = workspace / "main.py"
    async with Started(project) as servers:
        server = await servers.server(path)
        await server.show({path: "x: int = ''\n"})
        before = server.versions
        await server.show({path: "x: int = ''\n"})
        assert server.versions == before
        await server.show({path: "x: int = 1\n"})
        assert server.versions == {path: 2}
