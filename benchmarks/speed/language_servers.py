"""Measures language servers (`npm run bench`, or this file alone): start, edits and memory.

Times are in ms. The time of an edit is the time from the changed text to its problems. The workspace has some modules
with one function each, and each imports the one before it. The servers run in the sandbox if there is one.
"""

import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

import psutil

from fairlead.code.queries import CodeQueries
from fairlead.shell.layer import Where
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots

sys.path.extend(str(Path(__file__).parents[2] / folder) for folder in ("tests", "benchmarks"))

from support.servers_workspace import Started, Workspace, real
from tools.stand_ins import Documents

MODULES, EDITS = 500, 20
SMALLEST_MODULES, SMALLEST_EDITS = 3, 2
SUFFIXES = {"basedpyright": "py", "typescript-language-server": "ts"}


def source(suffix: str, number: int, value: str) -> str:
    name, before = f"f{number}", f"f{max(0, number - 1)}"
    if suffix == "py":
        above = f"from m{number - 1} import {before}\n\n\n" if number else ""
        return f"{above}def {name}() -> int:\n    return {before + '()' if number else '0'} + {value}\n"
    above = f'import {{ {before} }} from "./m{number - 1}";\n' if number else ""
    return f"{above}export function {name}(): number {{\n  return {before + '()' if number else '0'} + {value};\n}}\n"


def resident(before: set[int]) -> float:
    """The memory of the processes started after `before`, in MB. Shared pages count in each of them."""
    total = 0
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end meanwhile
            total += 0 if each.pid in before else each.memory_info().rss
    return total / 1e6


async def one(folder: Path, name: str, where: Where, modules: int, edits: int) -> None:
    """Measures one language server and prints its figures."""
    suffix = SUFFIXES[name]
    workspace = Workspace(folder, where, [real(name)])
    workspace.write({f"m{number}.{suffix}": source(suffix, number, "1") for number in range(modules)})
    path, before = folder / f"m{modules - 1}.{suffix}", {each.pid for each in psutil.Process().children(recursive=True)}
    async with Started(workspace) as servers:
        queries = CodeQueries(Files(Roots.of(folder), Documents()), servers, lambda: None)
        look = await timed(queries.update_can_answer())
        began = time.perf_counter()
        server = await servers.server(path)
        await server.show({path: source(suffix, modules - 1, "1")})
        first = (await server.diagnostics([path]))[path]
        start = (time.perf_counter() - began) * 1000
        taken: list[float] = []
        for number in range(edits):
            is_wrong = number % 3 == 0  # so that a right text also follows a right one
            wrong = f'"{number}"' if suffix == "py" else f'("{number}" as unknown as boolean)'
            value = wrong if is_wrong else str(number)
            began = time.perf_counter()
            await server.show({path: source(suffix, modules - 1, value)})
            found = (await server.diagnostics([path]))[path]
            taken.append((time.perf_counter() - began) * 1000)
            assert (len(first), bool(found)) == (0, is_wrong)
        memory = resident(before)
    edit = statistics.median(taken)
    print(f"  {name:<28}{start:8.0f} start and first check {edit:8.1f} an edit {memory:8.0f} MB {look:8.1f} looking")


async def timed(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def measure(modules: int, edits: int) -> None:
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        root = Path(folder).resolve()
        (root / "probed").mkdir()
        found = await probe(Roots.of(root / "probed"), root / "state")
        where: Where = "workspace" if found.layers_folder is None else "sandboxed"
        print(f"language servers on {modules} modules, in ms ({where})")
        for name in SUFFIXES:
            (root / name).mkdir()
            await one(root / name, name, where, modules, edits)


def main(smallest: bool = False) -> None:
    asyncio.run(measure(SMALLEST_MODULES, SMALLEST_EDITS) if smallest else measure(MODULES, EDITS))


if __name__ == "__main__":
    main()
