"""Real language servers answer about the texts that Fairlead shows them."""

import itertools
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from fairlead.code.servers.server import Server
from fairlead.code.servers.table import ServerSpec
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
C = {
    "compile_flags.txt": "-std=c11\n",
    "base.h": "int compute(int x);\n",
    "base.c": '#include "base.h"\n\nint compute(int x) { return x; }\n',
    "one.c": '#include "base.h"\n\nint one(void) { return compute(1); }\n',
    "two.c": '#include "base.h"\n\nint two(void) { return compute(2); }\n',
    "three.c": '#include "base.h"\n\nint three(void) { return compute(3); }\n',
}
GO = {
    "go.mod": "module example.com/numbers\n\ngo 1.19\n",
    "base/base.go": "package base\n\nfunc Compute(x int) int {\n\treturn x\n}\n",
    "one.go": 'package main\n\nimport "example.com/numbers/base"\n\nvar one = base.Compute(1)\n',
    "two.go": 'package main\n\nimport "example.com/numbers/base"\n\nvar two = base.Compute(2)\n',
    "three.go": 'package main\n\nimport "example.com/numbers/base"\n\nvar three = base.Compute(3)\n',
    "main.go": 'package main\n\nimport b "example.com/numbers/base"\n\nfunc main() { println(b.Compute(4), one) }\n',
}


@dataclass(frozen=True)
class Language:
    """A project, a function in it, and a use of the function, with a wrong use and the error that it causes."""

    files: Mapping[str, str]
    declared: str
    position: tuple[int, int]
    used: str
    use: tuple[int, int]
    wrong: tuple[str, str] = ("compute(1)", 'compute("1")')
    error: str = "not assignable"


LANGUAGES = {
    "basedpyright": Language(PYTHON, "pkg/base.py", (0, 4), "pkg/one.py", (2, 8)),
    "typescript": Language(TYPESCRIPT, "base.ts", (0, 16), "one.ts", (1, 20)),
    "typescript-language-server": Language(TYPESCRIPT, "base.ts", (0, 16), "one.ts", (1, 20)),
    "clangd": Language(C, "base.h", (0, 4), "one.c", (2, 24), ("compute(1)", "compute(1, 1)"), "Too many arguments"),
    "gopls": Language(GO, "base/base.go", (2, 5), "one.go", (4, 16), ("Compute(1)", 'Compute("1")'), "cannot use"),
}
"""clangd, gopls and TypeScript 7 are tested where they are installed."""
PLACES: list[Where] = ["sandboxed", "workspace"]


def at(path: Path, position: tuple[int, int], **more: Any) -> dict[str, Any]:
    line, character = position
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}, **more}


async def messages(server: Server, path: Path) -> list[str]:
    """The messages of a file's errors."""
    found = (await server.diagnostics([path]))[path]
    return [problem["message"] for problem in found if problem.get("severity", 1) == 1]


def files_of(edit: Mapping[str, Any]) -> Sequence[str]:
    changes = edit.get("documentChanges") or [{"textDocument": {"uri": uri}} for uri in edit["changes"]]
    return sorted(change["textDocument"]["uri"].rpartition("/")[2] for change in changes)


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", LANGUAGES)
async def test_a_server_answers_about_the_code(workspace: Path, name: str, where: Where) -> None:
    """Definition, references, symbols, and a rename in all files that use the name."""
    project, language = Workspace(workspace, where, [real(name)]), LANGUAGES[name]
    files, declared, used = language.files, workspace / language.declared, workspace / language.used
    project.write(files)
    async with Started(project) as servers:
        server = await servers.server(used)
        await server.show({used: files[language.used]})
        definition = await server.request("textDocument/definition", at(used, language.use))
        assert declared.as_uri() in str(definition)
        await server.show({workspace / each: text for each, text in files.items()})
        context = {"includeDeclaration": False}
        found = await server.request("textDocument/references", at(declared, language.position, context=context))
        users = {Path(each).stem for each, text in files.items() if "ompute" in text}
        assert {PurePath(each["uri"]).stem for each in found} | {"base"} == users
        symbols = await server.request("workspace/symbol", {"query": "compute"})
        assert declared.with_suffix("").as_uri() in str(symbols)
        edit = await server.request("textDocument/rename", at(declared, language.position, newName="Calculate"))
        assert len(files_of(edit)) == 5


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", LANGUAGES)
async def test_a_server_checks_the_text_that_it_is_shown(workspace: Path, name: str, where: Where) -> None:
    """The error is reported while the wrong text is shown, and only then. The file on disk does not change."""
    project, language = Workspace(workspace, where, [real(name)]), LANGUAGES[name]
    project.write(language.files)
    path, text = workspace / language.used, language.files[language.used]
    async with Started(project) as servers:
        server = await servers.server(path)
        await server.show({path: text})
        assert await messages(server, path) == []
        await server.show({path: text + "\n"})  # some servers publish nothing if there are still no problems
        assert await messages(server, path) == []
        await server.show({path: text.replace(*language.wrong)})
        assert [language.error in message for message in await messages(server, path)] == [True]
        await server.show({path: text})
        assert await messages(server, path) == []
    assert path.read_text() == text


IMPORTS = {
    "basedpyright": (
        "new.py",
        "value: int = 1\n",
        "main.py",
        "import new\n\nprint(new.value)\n",
        "could not be resolved",
    ),
    "typescript": (
        "new.ts",
        "export const value = 1;\n",
        "main.ts",
        'import { value } from "./new";\nexport const twice = value * 2;\n',
        "Cannot find module",
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
    """A proposed new file can be imported, even if it is proposed after the start. A deleted or rejected one cannot."""
    new, content, user, text, missing = IMPORTS[name]
    project = Workspace(workspace, "sandboxed", [real(name)])
    project.write({**LANGUAGES[name].files, user: text})
    path = workspace / user

    async def sees(present: bool) -> None:
        """Waits until the server finds the file or, if not `present`, no longer finds it.

        On a busy machine, TypeScript's takes some time. Each attempt shows a longer text, because an unchanged one
        would not be sent again.
        """
        for lines in itertools.count():
            server = await servers.server(path)
            await server.show({path: text + "\n" * lines})
            if (missing in " ".join(await messages(server, path))) is not present:
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


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", ["basedpyright", "pyright"])
async def test_python_imports_the_packages_of_the_workspaces_environment(
    workspace: Path, name: str, where: Where
) -> None:
    """No configuration is needed. If the user sets another Python in the server's options, that one is used."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", workspace / ".venv"], check=True)
    [packages] = workspace.glob(".venv/lib/*/site-packages")
    text = "import installed\n\nprint(installed.value)\n"
    (packages / "installed.py").write_text("value: int = 1\n")
    path, spec = workspace / "main.py", real(name)
    options = {**spec.initialization_options, "python": {"pythonPath": sys.executable}}

    async def errors(given: ServerSpec) -> str:
        project = Workspace(workspace, where, [given])
        project.write({"main.py": text})
        async with Started(project) as servers:
            server = await servers.server(path)
            await server.show({path: text})
            return " ".join(await messages(server, path))

    assert await errors(spec) == ""
    assert "could not be resolved" in await errors(replace(spec, initialization_options=options))


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
async def test_a_server_sees_changes_on_disk_while_it_runs(workspace: Path, where: Where) -> None:
    """The server notices when the user creates, replaces or removes a file."""
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
    """A second `show` of the same texts sends nothing: the documents keep their versions."""
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
