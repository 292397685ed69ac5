"""`bash` asks first, runs on the files on disk, reports the result to the model, and leaves no processes."""

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fairlead.errors import ToolError
from fairlead.gate.gate import Gate
from fairlead.gate.request import ApprovalAnswer, ApprovalRequest, RunCommand
from fairlead.shell.command_line.policy import Policy
from fairlead.shell.layer import Where
from fairlead.shell.network import Network
from fairlead.tools.lost_state import LOST as LOST_STATE
from fairlead.tools.lost_state import lost_state_hint
from tools.stand_ins import Desk, ScriptedUser

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
ASK = Policy(approvals="ask")
RIGHTS = "It runs outside the sandbox, with your permissions."
NO_SANDBOX = "No sandbox here."
IN_BACKGROUND = "(If it is a server or a watcher, start it with `background`."
UNTIL_CI = "(`react-scripts test` waits for changed files unless CI is set. Run the command again with"
MakeDesk = Callable[..., Desk]


@pytest.fixture
def desk_with(workspace: Path) -> MakeDesk:
    """Creates a desk whose user gives these answers."""
    return lambda *answers, **options: Desk(workspace, ScriptedUser(*answers), **options)


def result(text: str) -> tuple[str, str]:
    """The output and the last line of a result."""
    output, _, last = text.rpartition("\n")
    return output, last


async def test_a_command_runs_after_it_was_allowed(desk_with: MakeDesk) -> None:
    """The user sees the exact command, its folder and the reasons; the model gets output and exit code."""
    desk = desk_with("allow_once")
    desk.write("日本.txt", "hello\n")
    command = "cat 日本.txt; echo made > new; exit 3"
    output, last = result(await desk.call("bash", command=command))
    assert output == "hello"
    assert last.startswith("(exit code 3, ")
    assert (desk.path / "new").read_text() == "made\n"
    assert desk.streamed == "hello\n"
    assert desk.user.asked == [
        ApprovalRequest(
            "session-1",
            "call-1",
            RunCommand(command, desk.path, "workspace"),
            (RIGHTS, "It writes to new (>).", NO_SANDBOX),
            ("cat 日本.txt", "echo made > new", "exit 3"),
        )
    ]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (" ", "empty"),
        ("echo a\0b", "NUL"),
        ("echo \ud800", "not valid Unicode"),
        (f"echo {'x' * 100_000}", "100,005 bytes, the limit is 100,000"),
    ],
)
async def test_an_invalid_command_line_is_refused_before_the_user_is_asked(
    desk_with: MakeDesk, command: str, said: str
) -> None:
    """The model reads what is wrong; a long command line within the limit still runs."""
    desk = desk_with("allow_once")
    with pytest.raises(ToolError, match=said):
        await desk.call("bash", command=command)
    assert desk.user.asked == []
    assert "(exit code 0" in await desk.call("bash", command=f"true {'x' * 99_000}")


async def test_a_command_without_output_has_its_exit_code(desk_with: MakeDesk) -> None:
    """A command without output has a result with its exit code, so the model does not take silence for failure."""
    assert (await desk_with("allow_once").call("bash", command="true")).startswith("(exit code 0, ")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("reject", "Not run: the user did not allow this command."),
        (
            ApprovalAnswer("reject", "日本 first"),
            "Not run: the user did not allow this command. The reason given: 日本 first.",
        ),
        (
            ApprovalAnswer("reject", "Use make."),
            "Not run: the user did not allow this command. The reason given: Use make.",
        ),
    ],
)
async def test_a_rejected_command_is_not_run(desk_with: MakeDesk, answer: ApprovalAnswer, said: str) -> None:
    """The model reads that the user did not allow the command, and the reason if one was given. Nothing is run."""
    desk = desk_with(answer)
    with pytest.raises(ToolError) as error:
        await desk.call("bash", command="touch made")
    assert str(error.value) == said
    assert list(desk.path.iterdir()) == []


async def test_each_command_asks_again_unless_it_is_allowed_for_the_session(desk_with: MakeDesk) -> None:
    """An allowance for the session is for exactly this command, byte for byte."""
    desk = desk_with("allow_once", "allow_session", "reject")
    for _ in range(3):
        await desk.call("bash", command="echo a")
    assert len(desk.user.asked) == 2
    others = ["echo a ", "echo  a", "echo A", "echo a;", "echo a\n", " echo a", "echo а", "echo a #"]
    for command in others:
        with pytest.raises(ToolError, match="did not allow"):
            await desk.call("bash", command=command)
    assert [request.action for request in desk.user.asked[2:]] == [
        RunCommand(other, desk.path, "workspace") for other in others
    ]
    await desk.call("bash", command="echo a")
    assert len(desk.user.asked) == 2 + len(others)


async def test_fault_197_a_command_names_few_services(desk_with: MakeDesk) -> None:
    """Nobody reads hundreds in a question, and looking up their names would take minutes."""
    desk = desk_with()
    with pytest.raises(ToolError, match="at most 20 services"):
        await desk.call("bash", command="ls", services=[f"n{number}.test:80" for number in range(21)])
    assert not desk.user.asked


async def test_an_allowance_is_bound_to_the_folder(tmp_path: Path) -> None:
    """The same command in another folder is a different one."""
    user = ScriptedUser("allow_session", "reject")
    gate = Gate("s", user, lambda: ASK)
    for _ in range(2):
        await gate.check(RunCommand("make", tmp_path / "a", "workspace"))
    with pytest.raises(ToolError):
        await gate.check(RunCommand("make", tmp_path / "b", "workspace"))
    assert len(user.asked) == 2


async def test_an_allowance_is_bound_to_the_sandbox_and_its_network(tmp_path: Path) -> None:
    """A command that is allowed in the sandbox asks again outside of it, and with the network."""
    user = ScriptedUser("allow_session", "reject")
    gate = Gate("s", user, lambda: ASK)
    await gate.check(RunCommand("make", tmp_path, "sandboxed"))
    with pytest.raises(ToolError):
        await gate.check(RunCommand("make", tmp_path, "sandboxed", Network(internet=True)))
    with pytest.raises(ToolError):
        await gate.check(RunCommand("make", tmp_path, "workspace"))
    assert len(user.asked) == 3


@pytest.mark.parametrize(
    "line", ["bash s.sh", "./s.sh x", "bash -c './s.sh'", "make --file=s.sh", "cat <s.sh|sh", "X=s.sh y"]
)
async def test_fault_193_an_allowance_is_bound_to_the_named_files(tmp_path: Path, line: str) -> None:
    """docs/faults.md 193: outside of the sandbox. In it, the command cannot do harm."""
    (tmp_path / "s.sh").write_text("one")
    user = ScriptedUser("allow_session", "allow_session", "allow_session", "reject")
    gate = Gate("s", user, lambda: ASK)
    for text, questions in (("one", 1), ("two", 2), ("two", 2), (None, 3)):
        (tmp_path / "s.sh").unlink() if text is None else (tmp_path / "s.sh").write_text(text)
        await gate.check(RunCommand(line, tmp_path, "workspace"))
        assert len(user.asked) == questions


NAMED_OTHERWISE = {
    "cd sub && bash s.sh": "sub/s.sh",
    "(cd sub; ./s.sh)": "sub/s.sh",
    "env -C sub bash s.sh": "sub/s.sh",
    "bash -c 'cd sub; . s.sh'": "sub/s.sh",
    "bash -c 'bash \"my script.sh\"'": "my script.sh",
    'bash "my script.sh"': "my script.sh",
    r"bash my\ script.sh": "my script.sh",
    'bash s"".sh': "s.sh",
    "sh a,b.sh": "a,b.sh",
    "sh a=b.sh": "a=b.sh",
    "curl -d @s.sh x": "s.sh",
    "python3 -m mod": "mod.py",
    "python3 -m a.b": "a/b.py",
    "python3 pkg": "pkg/__main__.py",
    "node ./lib": "lib.js",
    "make": "Makefile",
    "make -C sub": "sub/Makefile",
    "make -C sub -f s.sh": "sub/s.sh",
    "npm run x": "package.json",
    "npm --prefix sub run x": "sub/package.json",
    "docker compose up": "compose.yaml",
    f"bash {' '.join(f'A{number:04}' for number in range(1100))} s.sh": "s.sh",
}


@pytest.mark.parametrize(("line", "file"), NAMED_OTHERWISE.items())
async def test_fault_198_an_allowance_is_bound_to_files_that_are_named_otherwise(
    tmp_path: Path, line: str, file: str
) -> None:
    """In quotes, in another folder, as a module, or by a program that has a file of its own."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    user = ScriptedUser("allow_session", "allow_session")
    gate = Gate("s", user, lambda: ASK)
    for text, questions in (("one", 1), ("one", 1), ("two", 2)):
        (tmp_path / file).write_text(text)
        await gate.check(RunCommand(line, tmp_path, "workspace"))
        assert len(user.asked) == questions


@pytest.mark.parametrize(
    "line", ["bash *.sh", "bash {s,}.sh", "bash $X", "bash ~+/s.sh", "sh < s*.sh", r"sh $'s\x2esh'", "sh -c 'sh *.sh'"]
)
async def test_fault_198_a_line_whose_files_only_bash_knows_is_allowed_once(tmp_path: Path, line: str) -> None:
    """Outside of the sandbox. In it, the allowance is for the session."""
    user = ScriptedUser("allow_session", "allow_session", "allow_session")
    gate = Gate("s", user, lambda: ASK)
    asked: list[tuple[Where, int]] = [("workspace", 1), ("workspace", 2), ("sandboxed", 3), ("sandboxed", 3)]
    for where, questions in asked:
        await gate.check(RunCommand(line, tmp_path, where))
        assert len(user.asked) == questions


async def test_an_allowance_is_bound_to_the_session(tmp_path: Path) -> None:
    """Another session asks again."""
    user = ScriptedUser("allow_session")
    for session in ("one", "two"):
        await Gate(session, user, lambda: ASK).check(RunCommand("make", tmp_path, "workspace"))
    assert [request.session_id for request in user.asked] == ["one", "two"]


async def test_proposed_edits_that_a_command_does_not_see_are_reported_first(desk_with: MakeDesk) -> None:
    """The question to the user and the result begin with the number of unseen edits, even if the command is killed."""
    desk = desk_with("allow_once")
    desk.write("a.txt", "1\n2\n3\n4\n")
    await desk.call("edit_file", path="a.txt", old_text="1", new_text="one")
    await desk.call("edit_file", path="a.txt", old_text="4", new_text="four")
    await desk.call("write_file", path="new.txt", content="")
    line = "Runs on the files on disk; 3 proposed edits are not visible to it."
    text = await desk.call("bash", command="cat a.txt")
    assert text.startswith(f"{line}\n1\n2\n3\n4\n(exit code 0")
    with pytest.raises(ToolError) as error:
        await desk.call("bash", command="sleep 60", timeout_seconds=1)
    assert str(error.value).startswith(f"{line}\nKilled at the time limit of 1 s.")
    first = "It runs on the files on disk, without the proposed edits (3). If it should see them, accept them first."
    assert [request.reasons for request in desk.user.asked] == [(first, RIGHTS, NO_SANDBOX)] * 2


async def test_with_an_allowance_the_edits_that_are_not_seen_are_still_reported(desk_with: MakeDesk) -> None:
    """The user is not asked, but the model reads that the command does not see the edits."""
    desk = desk_with("allow_session")
    await desk.call("bash", command="ls")
    await desk.call("write_file", path="new.txt", content="x")
    assert (await desk.call("bash", command="ls")).startswith("Runs on the files on disk; 1 proposed edit is not")
    assert len(desk.user.asked) == 1


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("printf '\\n> app@1.0 test\\n> react-scripts test --env=jsdom\\n\\n'; sleep 60", UNTIL_CI),
        ("printf '$ jest --watchAll\\n'; sleep 60", "(With `--watchAll`, a program waits for changes"),
        ("sleep 60 # tsc --watch -p .", "(With `--watch`, a program waits for changes"),
        ("sleep 60; CI=true react-scripts test", IN_BACKGROUND),
        ("printf '> react-scripts test --watchAll=false\\n'; sleep 60", IN_BACKGROUND),
    ],
)
async def test_a_command_that_does_not_end(desk_with: MakeDesk, command: str, hint: str) -> None:
    """At the time limit, the model reads why the command may not have ended and what to do.

    This also works if only the output shows that the command waits for changed files.
    """
    desk = desk_with("allow_once")
    with pytest.raises(ToolError) as error:
        await desk.call("bash", command=command, timeout_seconds=3)
    assert str(error.value).splitlines()[-1].startswith(hint)


LOST = [
    "cd src",
    "cd src\n",
    "cd src && export A=b",
    "export A='b c'",
    "A=b",
    "cd",
    "source .venv/bin/activate",
    "cd a; cd b;",
]
LASTS = [
    "cd src && make",
    "cd src; ls",
    "export A=b && make",
    "A=b make",
    "(cd src)",
    "cdrecord x",
    "cd $(make)",
    "cd a | b",
    "ls",
]


@pytest.mark.parametrize("command", [*LOST, *LASTS])
def test_a_command_that_only_changes_its_shell_has_a_hint(command: str) -> None:
    """A folder or a variable does not last until the next command. A command that uses it has no hint."""
    assert bool(lost_state_hint(command)) == (command in LOST)


async def test_the_hint_about_a_lost_folder_is_in_the_result(desk_with: MakeDesk) -> None:
    """If the command failed, its own error is enough."""
    desk = desk_with("allow_once")
    assert f"{LOST_STATE}\n(exit code 0" in await desk.call("bash", command="cd /")
    assert LOST_STATE not in await desk.call("bash", command="cd missing")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the reaper")
async def test_a_server_that_was_ended_with_its_command_is_reported(desk_with: MakeDesk) -> None:
    """The model learns how to keep it running. Only a few processes are named, and each once."""
    desk = desk_with("allow_once")
    said = "(Still running when the command exited, and so ended: {}. To keep a server running, start it with "
    text = await desk.call("bash", command="sleep 1000 & sleep 0.1; echo on")
    assert text.startswith(f"on\n{said.format('`sleep 1000`')}`background` and without `&`.)\n(exit code 0")
    text = await desk.call("bash", command="for n in 1 1 2 3 4; do sleep 100$n & done; sleep 0.1")
    assert text.startswith(said.format("`sleep 1001`, `sleep 1002`, `sleep 1003`, ..."))
    assert "Still running" not in await desk.call("bash", command="sleep 0.1 & wait")


async def test_fault_26_a_command_that_waits_for_input_returns(desk_with: MakeDesk) -> None:
    """docs/faults.md 26: a command has no input and no terminal, so it cannot wait for the user to type."""
    desk = desk_with("allow_once")
    assert (await desk.call("bash", command="cat")).startswith("(exit code 0")
    assert "(exit code 1" in await desk.call("bash", command="read x </dev/tty")


async def test_fault_31_output_is_plain_for_the_model_and_has_its_colors_for_the_user(desk_with: MakeDesk) -> None:
    """docs/faults.md 31: only the user's output has colors. In both outputs, other terminal sequences are removed, and
    bytes that are not text are replaced.
    """
    desk = desk_with("allow_once")
    text = await desk.call("bash", command=r"printf '\033[31mred\033]0;t\007 \xff\033]52;c;eA==\007ok\n'")
    assert result(text)[0] == "red \ufffdok"
    assert desk.streamed == "\x1b[31mred \ufffdok\n"


async def test_the_title_hides_nothing(desk_with: MakeDesk) -> None:
    """docs/faults.md 31: the command that the user reads and allows is the one that runs."""
    title, places = desk_with("allow_once").tools["bash"].describe({"command": "echo \x1b[8m\u202e; rm x"})
    assert (title, places) == ("echo \\x1b[8m\\u202e; rm x", ())


async def test_fault_20_a_cancelled_command_reports_how_far_it_got(desk_with: MakeDesk) -> None:
    """docs/faults.md 20: the result has the duration and the output so far; no process is left."""
    nap = f"sleep {random.randint(10**6, 10**7)}"
    desk = desk_with("allow_once")
    await desk.call("write_file", path="a", content="x")
    task = asyncio.ensure_future(desk.call("bash", command=f"echo started; {nap} & {nap}"))
    async with asyncio.timeout(30):
        while "started" not in desk.streamed:
            await asyncio.wait([task], timeout=0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    line, cancelled, output = desk.last.result_when_stopped().split("\n")
    assert line == "Runs on the files on disk; 1 proposed edit is not visible to it."
    assert cancelled.startswith("Cancelled: killed after ")
    assert output == "started"
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == nap.split()]


async def test_fault_20_a_command_cancelled_while_the_user_is_asked_is_not_run(workspace: Path) -> None:
    """docs/faults.md 20: the result says that the user was being asked and that the command was not run."""

    asked = asyncio.Event()

    class Silent(ScriptedUser):
        async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    desk = Desk(workspace, Silent("reject"))
    task = asyncio.ensure_future(desk.call("bash", command="touch made"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.last.progress == "Cancelled while the user was asked; the command was not run."
    assert list(desk.path.iterdir()) == []


async def test_fault_33_34_no_tool_follows_a_link_that_a_command_made(desk_with: MakeDesk) -> None:
    """docs/faults.md 33 and 34: nothing is read or written where a link leads: a file, a folder or nothing yet."""
    desk = desk_with("allow_once")
    outside = desk.path.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    await desk.call("bash", command="ln -s ../outside/secret file; ln -s ../outside folder; ln -s ../outside/new new")
    for path in ("file", "folder/secret", "folder/new", "new", "folder/../folder/secret"):
        for call, given in (
            ("write_file", {"content": "x"}),
            ("read_file", {}),
            ("edit_file", {"old_text": "s", "new_text": "x"}),
        ):
            with pytest.raises(ToolError, match=f"^Path escapes workspace: {path}$"):
                await desk.call(call, path=path, **given)
    assert {entry.name: entry.read_text() for entry in outside.iterdir()} == {"secret": "s"}
    assert len(desk.files.changes) == 0
