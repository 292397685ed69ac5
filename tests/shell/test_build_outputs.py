"""What commands build from one text is never used for another one, although it stays in the layer.

The oracle is a clean build of the texts that a command sees, outside of the sandbox.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from fairlead.shell.layer import View
from fairlead.shell.sandbox.layer.shown_times import ShownTimes
from shell.boxes import Boxes, boxes, has, seen, write
from support.sandbox import needs_sandbox

HOUR = 3600
TYPESCRIPT = Path(__file__).parents[2] / "node_modules" / "typescript"


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@dataclass(frozen=True)
class Tool:
    """A program that builds, the files around its sources `a` and `b`, and a command that prints what was built."""

    program: str
    command: str
    files: Mapping[str, str]
    source: Callable[[str, str], str]
    """The text of a source file, given its name and a number."""
    path: str = "{}.txt"
    examples: int = 3
    """How many random lists of steps are tried."""

    def texts(self, numbers: Mapping[str, str]) -> dict[str, str]:
        """The source files with these numbers, by path."""
        return {self.path.format(name): self.source(name, number) for name, number in numbers.items()}


def plain(_: str, number: str) -> str:
    return f"{number}\n"


MAKE = "prog: a.o b.o\n\tcat a.o b.o > prog\n%.o: %.txt\n\tcp $< $@\n"
NINJA = "rule cat\n  command = cat $in > $out\nbuild a.o: cat a.txt\nbuild b.o: cat b.txt\nbuild prog: cat a.o b.o\n"
CMAKE = (
    "cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nadd_custom_command(OUTPUT prog "
    "COMMAND cat ${CMAKE_SOURCE_DIR}/a.txt ${CMAKE_SOURCE_DIR}/b.txt > prog DEPENDS a.txt b.txt)\n"
    "add_custom_target(all_of_it ALL DEPENDS prog)\n"
)
CARGO = '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'
RUST = 'mod a;\nmod b;\nfn main() { println!("{}\\n{}", a::VALUE, b::VALUE) }\n'
TSC = (
    '{"compilerOptions": {"incremental": true, "outDir": "out", "lib": ["es5"], "types": [], "rootDir": ".", '
    '"module": "commonjs"}, "files": ["a.ts", "b.ts"]}'
)
TOOLS = {
    "make": Tool("make", "make -s && cat prog", {"Makefile": MAKE, ".gitignore": "*.o\nprog\n"}, plain),
    "ninja": Tool(
        "ninja", "ninja >log && cat prog", {"build.ninja": NINJA, ".gitignore": "*.o\nprog\nlog\n.ninja*\n"}, plain
    ),
    "cmake": Tool(
        "cmake",
        "(test -e build || cmake -S . -B build) >/dev/null && cmake --build build >/dev/null && cat build/prog",
        {"CMakeLists.txt": CMAKE, ".gitignore": "build/\n"},
        plain,
        examples=2,
    ),
    "python": Tool(
        "python3",
        "python3 main.py",
        {"main.py": "import a, b\nprint(a.VALUE)\nprint(b.VALUE)\n"},
        lambda _, number: f"VALUE = {number}\n",
        "{}.py",
    ),
    "cargo": Tool(
        "cargo",
        "cargo run --offline --quiet",
        {"Cargo.toml": CARGO, "src/main.rs": RUST, ".gitignore": "target/\nCargo.lock\n"},
        lambda _, number: f"pub const VALUE: u32 = {number};\n",
        "src/{}.rs",
        examples=0,
    ),
    "tsc": Tool(
        "node",
        "node lib/tsc.js -p . && cat out/a.js out/b.js",
        {"tsconfig.json": TSC, ".gitignore": "out/\nlib/\n*.tsbuildinfo\n"},
        lambda name, number: f"export const {name} = {number};\n",
        "{}.ts",
        examples=0,
    ),
}


@dataclass
class Session:
    """The files of a workspace, the proposals for its sources, and the boxes of its commands."""

    tool: Tool
    root: Path
    box: Boxes
    disk: dict[str, str] = field(default_factory=lambda: {"a": "1", "b": "1"})
    proposed: dict[str, str] = field(default_factory=dict[str, str])
    saved: int = 0
    """The second in which the user last changed a file."""
    oldest: float = field(default_factory=lambda: time.time() - HOUR)

    async def step(self, action: str, name: str, number: str) -> None:
        """Does what the agent, the user or a command do between two builds."""
        [(path, text)] = self.tool.texts({name: number}).items()
        match action:
            case "propose":
                self.proposed[name] = number
            case "reject":
                self.proposed.pop(name, None)
            case "accept" if name in self.proposed:
                await self._save(name, self.proposed.pop(name))
            case "save":  # by the user
                await self._save(name, number)
            case "older":  # the user replaces the file by an older one, as `mv` and `rsync -a` do
                self.oldest -= HOUR
                await self._save(name, number, self.oldest)
            case "look":  # a command that builds nothing, and leaves a file that stays
                await self.box.run("cat * >/dev/null; touch left.pyc", self._view(self.proposed))
            case "edit":  # a command that edits the file and builds
                await self.box.run(f"printf %s '{text}' > {path}; {self.tool.command}", self._view(self.proposed))
                self.proposed[name] = number
            case "restore":  # the same, but its change is undone or lost
                command = f"cp -p {path} kept; printf %s '{text}' > {path}; {self.tool.command}; mv kept {path}"
                await self.box.run(command, self._view(self.proposed))
            case "build":  # by the user, from the texts on disk
                subprocess.run(["bash", "-c", self.tool.command], cwd=self.root, capture_output=True, check=True)
            case "some":  # a check with only some of the proposals
                some = {name: self.proposed[name]} if name in self.proposed else {}
                assert await self._run(some, retained=False) == self._clean(some), "of a check with some proposals"
            case _:
                pass

    async def _save(self, name: str, number: str, at: float | None = None) -> None:
        """Writes a file on disk. Not twice in a second, because the user's own Python may not notice that."""
        await asyncio.sleep(max(0, self.saved + 1 - time.time()))
        [(path, text)] = self.tool.texts({name: number}).items()
        new = self.root / "new.pyc"
        new.write_text(text)
        if at is not None:
            os.utime(new, (at, at))
        new.replace(self.root / path)
        self.saved, self.disk[name] = int(time.time()), number

    async def check(self) -> None:
        """Compares what a command builds in the session's layer with a clean build."""
        assert await self._run(self.proposed) == self._clean(self.proposed)

    async def _run(self, proposed: Mapping[str, str], *, retained: bool = True) -> str:
        ran = await self.box.run(self.tool.command, self._view(proposed), background=not retained, retained=retained)
        assert (ran.code, ran.contents) == (0, {}), ran.output
        return ran.output

    def _view(self, proposed: Mapping[str, str]) -> View:
        return seen(**self.tool.texts(proposed))

    def _clean(self, proposed: Mapping[str, str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            set_up(self.tool, Path(folder), {**self.disk, **proposed})
            command = ["bash", "-c", self.tool.command]
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def set_up(tool: Tool, root: Path, numbers: Mapping[str, str]) -> None:
    """Writes a project, an hour old."""
    write(root, {**tool.files, **tool.texts(numbers)})
    if tool is TOOLS["tsc"]:
        shutil.copytree(TYPESCRIPT / "lib", root / "lib", ignore=shutil.ignore_patterns("*.dom*", "typescript*", "??"))
    age(root)


def age(root: Path) -> None:
    old = time.time() - HOUR
    for path in root.rglob("*"):
        os.utime(path, (old, old))


ACTIONS = ["propose", "propose", "reject", "accept", "edit", "restore", "build", "some", "save", "older", "look"]
# two of the texts have the same size, so that only their times differ
STEPS = st.lists(st.tuples(*map(st.sampled_from, (ACTIONS, ["a", "b"], ["1", "2", "33"]))), min_size=2, max_size=8)
EVERY_ACTION = [
    ("restore", "a", "2"),
    ("propose", "a", "2"),
    ("some", "b", "1"),
    ("restore", "a", "33"),
    ("reject", "a", "1"),
    ("edit", "b", "2"),
    ("build", "a", "1"),
    ("accept", "b", "1"),
    ("build", "a", "1"),
    ("propose", "b", "1"),
    ("older", "a", "2"),
    ("save", "b", "2"),
]
# the user builds what no command has built, after commands have seen a proposal
BUILT_BY_USER = [("look", "a", "1"), ("propose", "a", "2"), ("look", "a", "1"), ("build", "a", "1")]


@pytest.mark.parametrize("name", TOOLS)
def test_fault_120_every_build_is_of_the_texts_that_the_command_sees(name: str) -> None:
    """docs/faults.md 120, 152: what stays in the layer is never used for other texts, whatever changed them."""
    tool = TOOLS[name]
    if not has(tool.program) or (name == "tsc" and not TYPESCRIPT.is_dir()):
        pytest.skip(f"{name} is not installed")

    @settings(max_examples=max(tool.examples, 1), phases=list(Phase) if tool.examples else [Phase.explicit])
    @example(EVERY_ACTION, True)
    @example(BUILT_BY_USER, False)
    @given(STEPS, st.booleans())
    def holds(steps: list[tuple[str, str, str]], checks_all: bool) -> None:
        asyncio.run(play(tool, steps, checks_all=checks_all))

    holds()


async def play(tool: Tool, steps: Sequence[tuple[str, str, str]], *, checks_all: bool) -> None:
    """Takes steps, and checks after each of them; or only at the end, so that no command has built before."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "ws")
        set_up(tool, root, {"a": "1", "b": "1"})
        async with boxes(root, Path(folder, "state")) as box:
            session = Session(tool, root, box)
            await (session.check() if checks_all else session.step("look", "a", "1"))
            for step in steps:
                await session.step(*step)
                if checks_all:
                    await session.check()
            await session.check()


@pytest.mark.parametrize("has_proposal", [False, True])
async def test_fault_153_two_contents_within_a_second(workspace: Path, tmp_path: Path, has_proposal: bool) -> None:
    """docs/faults.md 153: Python compiled one text of the user in a second, and there is another one of the same size.

    That is the next text on disk if a command ran in between, or a proposal, which commands may have seen before.
    """
    write(workspace, {"main.py": "import a\nprint(a.VALUE)\n", "a.py": "VALUE = 1\n"})
    age(workspace)
    proposal = seen(**{"a.py": "VALUE = 3\n"}) if has_proposal else View()
    async with boxes(workspace, tmp_path / "state") as box:
        await box.output("touch left.pyc; cat a.py", proposal)
        second = int(await box.output("stat -c %Y a.py", proposal) if has_proposal else time.time())

        async def save(number: str, at: float) -> None:
            write(workspace, {"a.py": f"VALUE = {number}\n"})
            os.utime(workspace / "a.py", (at, at))
            if has_proposal:
                subprocess.run(["python3", "main.py"], cwd=workspace, check=True, env={"PATH": os.environ["PATH"]})

        await save("2", second + 0.1)
        assert await box.output("python3 main.py", proposal) == ("3\n" if has_proposal else "2\n")
        await save("4", second + 0.9)
        assert await box.output("python3 main.py", proposal) == ("3\n" if has_proposal else "4\n")


async def test_only_builds_by_the_user_give_new_times_to_the_proposals(workspace: Path, tmp_path: Path) -> None:
    """What commands have built stays warm while the user edits other files, and until the user builds something."""
    write(workspace, {".gitignore": "*.o\n", "a.txt": "1\n", "b.txt": "1\n"})
    view = seen(**{"a.txt": "2\n"})
    async with boxes(workspace, tmp_path / "state") as box:

        async def shown() -> str:
            return await box.output("touch left.o; stat -c %y a.txt", view)

        first = await shown()
        write(workspace, {"b.txt": "3\n", "c.txt": "new\n"})
        assert await shown() == first
        write(workspace, {"b.o": "built\n"})
        assert await shown() > first


def test_no_file_has_a_time_in_the_second_in_which_a_command_changed_it() -> None:
    """The command may have built another content of the same size in this second, and restored the file."""
    times, content = ShownTimes(), (b"1\n", 0o644)
    start = times.show("a", *content, None, lambda _: True)
    times.note_changed("a", content)
    assert times.show("a", *content, None, lambda _: True) // 10**9 > start // 10**9


def test_nothing_waits_for_the_next_second_if_nothing_was_built_in_this_one() -> None:
    """Whether something was built is asked about the second in which the file was changed."""
    asked, second, now, shown = list[int](), 0, -1, 0

    def was_built_since(moment: int) -> bool:
        asked.append(moment)
        return False

    while second != now:  # all of this must happen within a second
        times, second = ShownTimes(), time.time_ns() // 10**9
        times.note_changed("a", (b"1\n", 0o644))
        shown = times.show("a", b"1\n", 0o644, None, was_built_since)
        now = time.time_ns() // 10**9
    assert asked[-1] == second * 10**9
    assert shown // 10**9 == second
