"""New errors that proposals cause (docs/plan.md P20, L18)."""

import asyncio
from contextlib import nullcontext
from pathlib import Path

import pytest

from fairlead.code.provider import NoAnswer
from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.lsp.documents import Documents
from fairlead.session.evidence.proposed_problems import MAX_REPORTED, ProposedProblems
from fairlead.session.language_servers import FolderServers
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from support.line_server import LineServers

AUTHOR = Author("1", "call-1")


class Checker:
    """A workspace whose proposals are checked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = Files(Roots.of(folder), Documents())
        self.servers = LineServers()
        self.seconds = 300.0
        self.problems = ProposedProblems(self.files, self.servers, lambda: self.seconds)

    async def propose(self, name: str, text: str) -> None:
        await self.files.propose(self.folder / name, text, AUTHOR)

    async def report(self) -> str:
        """The report for the model after a check; empty if there is none."""
        await self.problems.check()
        return "\n".join(note.text for note in self.problems.take_report())


@pytest.fixture
def checker(workspace: Path) -> Checker:
    return Checker(workspace)


async def test_only_errors_that_the_proposals_cause_are_reported(checker: Checker) -> None:
    """P20: each new error is reported once. Old errors are not reported even if their lines moved; nor are warnings."""
    (checker.folder / "a.x").write_text("error old\nfine\n")
    await checker.propose("a.x", "new line\nerror old\nwarning w\nerror new\nerror old\n")
    await checker.propose("b.x", "error first\n")
    await checker.propose("c.txt", "error is no language here\n")
    text = await checker.report()
    assert "Your proposed edits cause 3 new errors in 2 files" in text
    assert text.splitlines()[2:5] == [
        "a.x:4:1 error new [lines]",
        "a.x:5:1 error old [lines]",
        "b.x:1:1 error first [lines]",
    ]
    assert checker.problems.count(str(checker.folder / "a.x")) == 2
    assert not checker.problems.has_report
    assert await checker.report() == ""


async def test_a_fixed_error_that_returns_is_new_again(checker: Checker) -> None:
    """P20: it is reported again, because the errors belong to the proposed text."""
    await checker.propose("a.x", "error one\n")
    assert "1 new error in 1 file" in await checker.report()
    await checker.propose("a.x", "fixed\n")
    assert checker.problems.errors() == {}
    assert await checker.report() == ""
    await checker.propose("a.x", "error one\n")
    assert "1 new error in 1 file" in await checker.report()


@pytest.mark.parametrize("others", [[], ["b.x"]])
async def test_accepted_errors_are_not_new_after_the_next_check(checker: Checker, others: list[str]) -> None:
    """P20: the file has them without the proposals too, whether or not another file has a proposal."""
    for name in ("a.x", *others):
        await checker.propose(name, f"error {name}\n")
    await checker.problems.check()
    path = checker.folder / "a.x"
    path.write_text("error a.x\n")
    await checker.files.observe([path])
    assert str(path) not in checker.files.changes.files
    await checker.problems.check()
    assert [error.message for found in checker.problems.errors().values() for error in found] == [
        f"error {name}" for name in others
    ]


async def test_a_file_that_the_model_read_is_checked_too(checker: Checker) -> None:
    """L18: a proposal may break a file that it does not change. That file's old errors do not count."""
    (checker.folder / "user.x").write_text("error mine\n")
    await checker.files.read_for_agent(checker.folder / "user.x")
    await checker.propose("a.x", "fine\n")
    assert await checker.report() == ""
    assert checker.folder / "user.x" in checker.servers.only.shown[-1]


async def test_the_users_text_is_checked_again_when_it_changes(checker: Checker) -> None:
    """P20: the baseline is the file without the proposals, as it is now."""
    path = checker.folder / "a.x"
    path.write_text("fine\n\n\n\n")
    await checker.propose("a.x", "fine\n\n\n\nerror own\n")
    assert "error own" in await checker.report()
    path.write_text("error users\nfine\n\n\n\n")
    await checker.files.observe_all()
    assert checker.files.read(path) == "error users\nfine\n\n\n\nerror own\n"
    await checker.problems.check()
    assert [error.message for found in checker.problems.errors().values() for error in found] == ["error own"]


async def test_a_check_without_a_baseline_reports_nothing(checker: Checker) -> None:
    """L18: if the user's text was not checked in time, the file has no new errors until something changes."""
    path = checker.folder / "a.x"
    path.write_text("error old\n")
    await checker.propose("a.x", "error old\nerror new\n")
    checker.servers.only.unchecked.add("error old\n")
    assert await checker.report() == ""
    checker.servers.only.unchecked.clear()
    await checker.propose("a.x", "error old\nerror new\nmore\n")
    assert "1 new error in 1 file" in await checker.report()


async def test_many_errors_are_counted(checker: Checker) -> None:
    """L18: at most ten are listed; the report says how many more there are."""
    await checker.propose("a.x", "".join(f"error {n}\n" for n in range(MAX_REPORTED + 5)))
    lines = (await checker.report()).splitlines()
    assert (len(lines), lines[-3]) == (MAX_REPORTED + 5, "(5 more)")


@pytest.fixture
def folders(tmp_path: Path) -> dict[Path, LineServers]:
    """Two folders of a workspace, each with its own language servers."""
    found = {tmp_path / name: LineServers() for name in ("api", "web")}
    for folder in found:
        folder.mkdir()
    return found


async def test_each_folder_is_checked_by_its_own_server(folders: dict[Path, LineServers]) -> None:
    """P20: in a workspace with several folders, each has its own language servers, even if the names are the same."""
    files = Files(Roots.of(*folders), Documents())
    problems = ProposedProblems(files, FolderServers(files, folders.__getitem__, nullcontext), lambda: 300)
    for folder in folders:
        await files.propose(folder / "a.x", "error new\n", AUTHOR)
    problems.warm()
    await problems.check()
    assert problems.errors().keys() == {folder / "a.x" for folder in folders}
    assert all(servers.started.is_set() for servers in folders.values())


async def test_a_check_does_not_cancel_the_start_of_a_server_for_files_that_were_only_read(
    folders: dict[Path, LineServers],
) -> None:
    """L18: a slow server is ready for a later check, even if no proposed file needs it."""
    files = Files(Roots.of(*folders), Documents())
    problems = ProposedProblems(files, FolderServers(files, folders.__getitem__, nullcontext), lambda: 0.05)
    api, web = folders
    (web / "read.x").write_text("fine\n")
    await files.read_for_agent(web / "read.x")
    await files.propose(api / "a.x", "fine\n", AUTHOR)
    folders[web].allowed.clear()
    await problems.check()
    assert not folders[web].started.is_set()
    folders[web].allowed.set()
    await folders[web].started.wait()
    await problems.aclose()


async def test_a_server_starts_only_if_it_is_needed(checker: Checker) -> None:
    """L18: a check starts a server only for a proposal in its language. The same state is not checked twice."""
    await checker.propose("a.txt", "text\n")
    assert await checker.report() == ""
    await checker.propose("a.x", "fine\n")
    assert not checker.servers.started.is_set()
    checks: list[int] = []
    for completed in (["1"], ["1"], ["1", "2"], ["1", "2"]):
        await checker.problems.check_once_per_step(completed)
        checks.append(len(checker.servers.only.shown))
    await checker.problems.check()
    assert (checks, len(checker.servers.only.shown)) == ([0, 0, 1, 1], 1)


async def test_a_server_that_cannot_start_reports_nothing(checker: Checker) -> None:
    for failure in (NoAnswer("it is missing"), ToolError("the sandbox is required, and there is none")):
        checker.servers.failure = failure
        await checker.propose("a.x", f"error new {failure}\n")
        assert await checker.report() == ""
        checker.problems.warm()
        await checker.problems.aclose()


async def test_only_one_check_waits_for_a_server_that_is_starting(checker: Checker) -> None:
    """L18: a server may be waiting for the user's permission to run. After one check has waited for it, the others skip
    it until it has started."""
    checker.servers.allowed.clear()
    checker.seconds = 0.01
    await checker.propose("a.x", "error new\n")
    checker.problems.warm()
    assert await checker.report() == ""
    checker.seconds = 300.0
    for text in ("error a\n", "error b\n"):
        await checker.propose("a.x", text)
        assert await checker.report() == ""
    checker.servers.allowed.set()
    for _ in range(3):
        await asyncio.sleep(0)  # afterwards, it has started
    assert "error b" in await checker.report()


async def test_checks_can_be_switched_off(checker: Checker) -> None:
    """If the setting `check.newErrorsSeconds` is 0, no server starts and nothing is reported."""
    checker.seconds = 0
    await checker.propose("a.x", "error new\n")
    checker.problems.warm()
    assert await checker.report() == ""
    assert not checker.servers.started.is_set()


async def test_only_changed_errors_make_a_new_version(checker: Checker) -> None:
    """A check makes a new version only if it changes the current errors. One on a changed line is not current.

    With each version, the whole state of the plan and the proposals is published again.
    """
    versions: list[int] = []
    for text in ("fine\n", "error a\n", "error a\n\n", "error a\nerror b\n", "fine\n"):
        await checker.propose("a.x", text)
        await checker.problems.check()
        versions.append(checker.problems.version)
    assert versions == [0, 1, 1, 2, 2]


async def test_an_error_stays_until_its_lines_change(checker: Checker) -> None:
    """P20: other lines of its file may change, such as when the user types, until the next check."""
    wanted = {
        "x\nerror a\ny\nerror b\n": [2, 4],
        "new\nx\nerror a\nerror b\n": [3, 4],
        "new\nx\nerror a\nerror c\n": [3],
        "new\nerror a\nerror b\n": [2],
        "error\n": [],
    }
    found: dict[str, list[int]] = {}
    for text in wanted:
        await checker.propose("a.x", text)
        if not found:
            await checker.problems.check()
        errors = checker.problems.errors().get(checker.folder / "a.x", ())
        found[text] = [problem.line for problem in errors]
    assert found == wanted
