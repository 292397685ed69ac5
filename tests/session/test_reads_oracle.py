"""A verification holds exactly as long as nothing changed that its command read (docs/plan.md P21).

The oracle runs the command again on the very files.
"""

import asyncio
import contextlib
import shlex
import shutil

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from fairlead.edits.selection import Change
from fairlead.errors import ToolError
from fairlead.session.review import checks, decisions
from fairlead.session.review.target import Target
from fairlead.shell.process import Command
from session.boxed import BoxedSession, boxed_session
from support.sandbox import needs_sandbox

# each reads something else, and passes on the tree below
CHECKS = (
    "grep -q good a",
    "! grep -q bad a",
    "test ! -e new && test ! -e d/new && test ! -e other/deep/new",
    "cat link | grep -q good",
    "test $(ls d | wc -l) -lt 3",
    "! grep -rq bad d",
    "test -d d && test -x a || test -d d",
    "grep -q good ignored/f",
    "cd d/../d && test -e ../a",
    "test ! -x run",
    'python3 -c \'import os; raise SystemExit(any(n.endswith(".txt") for n in os.listdir("d")))\'',
)
TREE = ["a", "d/f", "d/sub/g", "ignored/f", "run", "unread"]
NAMES = st.sampled_from(
    ["a", "d/f", "d/sub/g", "d/new", "new", "d/x.txt", "ignored/f", "run", "unread", "other/deep/new"]
)
TEXTS = st.sampled_from(["good\n", "bad\n", "good bad\n", ""])
CHECK = st.integers(0, len(CHECKS) - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("check"), CHECK),
        st.tuples(st.just("check"), CHECK),
        st.tuples(st.just("propose"), NAMES, TEXTS),
        st.tuples(st.just("propose"), NAMES, TEXTS),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("accept"), NAMES),
        st.tuples(st.just("reject"), NAMES),
        st.tuples(st.just("write"), NAMES, TEXTS),
        st.tuples(st.just("remove"), st.sampled_from(["a", "d", "d/sub", "d/new", "new", "ignored", "link"])),
        st.tuples(st.just("link"), st.sampled_from(["a", "unread", "missing"])),
        st.tuples(st.just("command"), st.sampled_from(["chmod +x run", "mkdir -p other/deep", "echo bad > link"])),
    ),
    min_size=2,
    max_size=9,
)


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


class World:
    """A session, and what happens to its files."""

    def __init__(self, agent: BoxedSession) -> None:
        self.agent, self.session, self.folder = agent, agent.session, agent.folder
        for name in TREE:
            (self.folder / name).write_text("good\n")
        (self.folder / ".gitignore").write_text("ignored/\n")
        (self.folder / "link").symlink_to("a")

    async def apply(self, kind: str, *given: str | int) -> None:
        match kind, given:
            case "check", (int(number),):
                await checks.run_checks(self.session.user_checks, CHECKS[number], None)
            case "propose", (str(name), str(text)):
                await self._call("write_file", path=name, content=text)
            case "delete", (str(name),):
                await self._call("delete_file", path=name)
            case "command", (str(command),):
                await self._call("bash", command=command)
            case "accept" | "reject", (str(name),):
                decide = decisions.accept if kind == "accept" else decisions.reject
                path = str(self.folder / name)
                if self.session.files.changes.for_target(path) or path in self.session.files.changes.files:
                    await decide(self.session.review, Target((Change(path),)), None)
            case _:
                with contextlib.suppress(OSError):  # a file is in the place of a folder
                    self._by_another_program(kind, *map(str, given))

    async def _call(self, name: str, **given: str) -> None:
        with contextlib.suppress(ToolError):
            await self.agent.call(name, **given)

    def _by_another_program(self, kind: str, name: str, text: str = "") -> None:
        path = self.folder / ("link" if kind == "link" else name)
        if kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        if kind == "link":
            path.symlink_to(name)

    async def holding(self) -> set[str]:
        """The checks whose verification holds."""
        return {command for command in CHECKS if await self.session.evidence.still_passes(command)}

    async def failing(self, wanted: set[str]) -> str:
        """Those of the checks that fail on the very files."""
        each = "\n".join(f"( {command} ) > /dev/null 2>&1 || echo {shlex.quote(command)}" for command in wanted)
        commands = self.session.commands
        layer = await commands.layer()
        box = await layer.open(each, await commands.view(layer.roots), background=True)
        try:
            return (await Command(box.launch, None, lambda _: None).run()).output
        finally:
            await box.close()


def concerns_only_the_unread_file(step: tuple[str | int, ...]) -> bool:
    return step[0] in ("propose", "write", "accept", "reject", "delete") and step[1] == "unread"


@settings(max_examples=10)
@given(STEPS)
def test_p21_a_verification_holds_only_if_its_command_passes(steps: list[tuple[str, *tuple[str | int, ...]]]) -> None:
    """After any edits, decisions, commands and writes of other programs. A change of a file that no check reads ends no
    verification."""
    asyncio.run(_follow(steps))


async def _follow(steps: list[tuple[str, *tuple[str | int, ...]]]) -> None:
    async with boxed_session(TREE) as agent:
        world = World(agent)
        for number in range(len(CHECKS)):
            await world.apply("check", number)
        assert await world.holding() == set(CHECKS)
        links_to_unread = False
        for step in steps:
            before = await world.holding()
            await world.apply(*step)
            after = await world.holding()
            assert await world.failing(after) == "", step
            links_to_unread |= step == ("link", "unread")
            if concerns_only_the_unread_file(step) and not links_to_unread:
                assert after == before, step
