"""The files that a verification ran on, and which of them have changed since (docs/plan.md P16)."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.edits.origins import Author
from fairlead.session.known_files import KnownFiles
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Root
from tools.stand_ins import Documents

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["", "1\n", "1\n2\n", "2\n"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), NAMES, TEXTS),
        st.tuples(st.just("delete"), NAMES, st.none()),
        st.tuples(st.just("reject"), NAMES, st.none()),
        st.tuples(st.just("accept"), NAMES, st.none()),
        st.tuples(st.just("user writes"), NAMES, TEXTS),
        st.tuples(st.just("user types"), NAMES, TEXTS),
        st.tuples(st.just("user removes"), NAMES, st.none()),
        st.tuples(st.just("verify"), st.just(""), st.none()),
        st.tuples(st.just("restart"), st.just(""), st.none()),
    ),
    min_size=3,
    max_size=14,
)


class Sandbox:
    """A session's files and their states, and beside them what a command would read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = Documents()
        self.files = Files(Root(folder), self.documents)
        self.known = KnownFiles(self.files)
        self.verified: list[dict[str, str | None]] = []

    def visible(self) -> dict[str, str | None]:
        return {name: self.files.read(self.folder / name) for name in "abc"}

    async def do(self, step: str, name: str, text: str | None) -> None:
        path = self.folder / name
        match step:
            case "propose":
                await self.files.propose(path, text or "", Author("1", "call"))
            case "delete":
                await self.files.delete(path, Author("1", "call"))
            case "reject":
                self.files.changes = self.files.changes.without(str(path))
            case "accept":
                proposal = self.files.proposal(path)
                if proposal is not None:
                    self.write(path, proposal.proposed)
                    await self.files.observe([path])
            case "user writes" | "user removes":
                self.write(path, text)
                await self.files.observe([path])
            case "user types":
                self.documents.type(path, text or "")
                await self.files.observe([path])
            case "restart":
                changes, states = self.files.changes, self.known.states
                self.files = Files(Root(self.folder), self.documents)
                self.known = KnownFiles(self.files)
                await self.files.restore(changes, 0)
                self.known.restore(states)
            case _:
                self.known.record_state("sandboxed")
                self.verified.append(self.visible())
        self.known.update(self.files.take_touched())

    @staticmethod
    def write(path: Path, text: str | None) -> None:
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


async def play(folder: Path, steps: list[tuple[str, str, Any]]) -> None:
    for name in "ab":
        (folder / name).write_text("1\n")
    sandbox = Sandbox(folder)
    sandbox.known.update(folder / name for name in "abc")
    for step in steps:
        with contextlib.suppress(WorkspaceError):  # a proposal that cannot be made
            await sandbox.do(*step)
        now = sandbox.visible()
        for number, then in enumerate(sandbox.verified):
            changed = {Path(path).name for path in sandbox.known.changed_since(number)}
            assert changed == {name for name in "abc" if now[name] != then[name]}, step


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_p16_a_verification_holds_for_exactly_the_text_that_it_saw(steps: list[tuple[str, str, Any]]) -> None:
    """For any sequence of edits, commands, decisions, other programs and restarts: the files that changed since a state
    are those whose content differs from what a command saw then."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder).resolve(), steps))
