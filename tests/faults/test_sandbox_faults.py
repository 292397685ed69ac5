"""The cases of docs/faults.md for boxes, each with a command that really runs in a box."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from fairlead.shell.layer import DEFAULT_LIMITS, Limits, View
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.process import Command
from fairlead.shell.sandbox.box.limits import TOO_LARGE, TOO_MANY
from fairlead.workspace.secrets import SecretFinder
from shell.boxes import Boxes, boxes, has, on_disk, start, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")


@pytest.fixture
async def box(workspace: Path, tmp_path: Path) -> AsyncIterator[Boxes]:
    async with boxes(workspace, tmp_path / "state") as made:
        yield made


def processes_named(mark: str) -> list[psutil.Process]:
    """The processes of this machine with a mark in their command line."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mark == word for word in process.cmdline()):
                found.append(process)
    return found


async def have_ended(mark: str, seconds: float) -> bool:
    """Whether all processes with the mark end within this many seconds."""
    until = time.monotonic() + seconds
    while processes_named(mark):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.02)
    return True


@pytest.mark.parametrize("command", ["cat", "read x </dev/tty; true", "read x; true", "git log -p 2>/dev/null; true"])
async def test_fault_26_nothing_waits_for_input(box: Boxes, command: str) -> None:
    """docs/faults.md 26: commands have no input and no terminal, and git starts no pager."""
    async with asyncio.timeout(30):
        assert (await box.run(command)).code == 0


async def test_fault_28_a_box_can_be_killed_at_any_moment_of_its_start(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 28: no process and no mount is left, and at most the file that the command writes is captured."""
    mark = f"998.30{os.getpid()}"
    async with boxes(workspace, tmp_path / "state") as box:
        for n in range(25):
            opened = await box.layer.open(f"echo x > x.txt; setsid sleep {mark}", View())
            process = await start(opened)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.002 * n):
                    await process.wait()
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            assert {change.path for change in (await opened.close()).files} <= {"x.txt"}
            assert await have_ended(mark, 2)
    assert on_disk(workspace) == {}
    assert str(workspace) not in Path("/proc/self/mountinfo").read_text()


FORK_LOOPS = {
    "bash": "b() { b | b & }; b; sleep 60",
    "Python": "python3 -c 'import os\nwhile 1:\n    if os.fork() == 0: os.setsid()'",
    "C": "echo '#include <unistd.h>\nint main() { for (;;) if (fork() == 0) setsid(); }' > /tmp/a.c;"
    " gcc -o /tmp/a /tmp/a.c; /tmp/a",
    "threads": "python3 -c 'import threading, time\nfor _ in range(99): threading.Thread(target=time.sleep, args=(60,))"
    ".start()'",
}


def box_processes(workspace: Path) -> list[int]:
    """Launchers and inits of this test run, and all processes whose working directory is the workspace."""
    found: list[int] = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "launcher.main()" in " ".join(each.cmdline()):
                found.append(each.pid)
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(workspace):
                found.append(int(name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", FORK_LOOPS)
async def test_fault_48_a_box_with_too_many_processes_is_ended(box: Boxes, workspace: Path, way: str) -> None:
    """docs/faults.md 48 and 30: a fork loop is ended, whatever sessions it creates; no process is left, and changes are
    read back."""
    if way == "C" and not has("gcc"):
        pytest.skip("gcc is not installed")
    limits = Limits(processes=40, memory=DEFAULT_LIMITS.memory)
    ran = await box.run(f"echo kept > kept.txt; {FORK_LOOPS[way]}", limits=limits)
    assert ran.output.endswith(f"\nEnded: {TOO_MANY.format(40)}.\n")
    assert (ran.code, ran.contents) == (137, {"kept.txt": b"kept\n"})
    assert box_processes(workspace) == []


HOGS = {
    "one process": "head -c 1G /dev/zero | tail; exit",
    "many processes": "for n in $(seq 9); do (head -c 20M /dev/zero | tail | sleep 60) & done; wait",
    "files": "head -c 40M /dev/zero > /tmp/a; head -c 70M /dev/zero | tail | sleep 60",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", HOGS)
async def test_fault_49_a_box_that_uses_too_much_memory_is_ended(box: Boxes, workspace: Path, way: str) -> None:
    """docs/faults.md 49: all its processes and its files in memory count; no process is left, and changes are read
    back."""
    ran = await box.run(f"echo kept > kept.txt; {HOGS[way]}", limits=Limits(DEFAULT_LIMITS.processes, 100 << 20))
    assert ran.output.endswith(f"\nEnded: {TOO_LARGE.format(100)}.\n")
    assert (ran.code, ran.contents) == (137, {"kept.txt": b"kept\n"})
    assert box_processes(workspace) == []


async def test_fault_49_shared_memory_counts_once(box: Boxes) -> None:
    """docs/faults.md 49, no false alarm: ten processes that share 50 MB use 50 MB."""
    code = (
        "import os, time\\nb = b'x' * 50_000_000\\nfor _ in range(10):\\n"
        "    if os.fork() == 0: time.sleep(9); os._exit(0)\\ntime.sleep(1.5); print('well')"
    ).replace("\\n", "\n")
    ran = await box.run(f'python3 -c "{code}"', limits=Limits(DEFAULT_LIMITS.processes, 250 << 20))
    assert (ran.output, ran.code) == ("well\n", 0)


async def test_fault_49_reserved_memory_does_not_count(box: Boxes) -> None:
    """docs/faults.md 49, no false alarm: a program may reserve terabytes, as it does with an address sanitizer."""
    ran = await box.run("python3 -c 'import mmap; mmap.mmap(-1, 1 << 43, flags=0x4022)' && echo well")
    assert (ran.output, ran.code) == ("well\n", 0)


def inits() -> list[int]:
    """The inits of this test run's boxes: each is the first process of a namespace."""
    found: list[int] = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError):
            if re.search(r"^NSpid:\t\d+\t1$", Path(f"/proc/{each.pid}/status").read_text(), re.M):
                found.append(each.pid)
    return found


@pytest.mark.parametrize("hangs", [False, True], ids=["as usual", "the init hangs"])
async def test_fault_50_a_box_ends_during_a_fork_loop(box: Boxes, workspace: Path, hangs: bool) -> None:
    """docs/faults.md 50: a stop works even if the processes fork all the time and the init hangs; changes are read
    back."""
    on = asyncio.Event()
    loop = "python3 -c 'import os, time\nwhile 1:\n    os.fork() or (os.setsid(), time.sleep(0.1), os._exit(0))'"
    opened = await box.layer.open(f"trap '' TERM; echo kept > kept.txt; echo on; {loop}", View())
    running = asyncio.ensure_future(Command(opened.launch, None, lambda text: on.set()).run())
    await on.wait()
    if hangs:
        [init] = inits()
        os.kill(init, signal.SIGSTOP)
    running.cancel()
    async with asyncio.timeout(30):  # only distinguishes a hang; benchmarks/campaigns/hogs.py measures the time
        with pytest.raises(asyncio.CancelledError):
            await running
        changes = await opened.close()
    assert box_processes(workspace) == []
    assert [change.path for change in changes.files] == ["kept.txt"]


@pytest.mark.skipif(not has("npm"), reason="npm is not installed")
async def test_fault_51_a_program_without_network_gives_up(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 51: npm always checks for a newer npm; it tries once instead of retrying for a minute."""
    async with boxes(workspace, tmp_path / "state") as box, asyncio.timeout(50):
        assert (await box.run("npm init")).code == 1


NETWORK = {
    "curl": "curl -sS --max-time 3 http://{host}:{port}/",
    "tcp": "exec 3<>/dev/tcp/{host}/{port}",
    "local tcp": "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "udp": "echo x > /dev/udp/{host}/{port}",
    "dns": "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'",
    "socket in /tmp": "python3 -c 'import socket; socket.socket(1, 1).connect(\"{path}\")'",
    "socket elsewhere": "python3 -c 'import socket; socket.socket(1, 1).connect(\"{elsewhere}\")'",
    "abstract socket": "python3 -c 'import socket; socket.socket(1, 1).connect(\"\\0{name}\")'",
}


@pytest.mark.parametrize("network", [NO_NETWORK, Network(internet=True)], ids=["alone", "internet"])
@pytest.mark.parametrize("way", NETWORK)
async def test_fault_38_no_connection_leaves_the_box(box: Boxes, way: str, network: Network, tmp_path: Path) -> None:
    """docs/faults.md 38, 192: a command cannot connect to a program on this machine, even if it may use the internet.

    Without this permission, it cannot connect to the network either.
    """
    if way == "dns" and network:
        pytest.skip("the internet includes names")
    name = f"fairlead-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        tcp, udp = stack.enter_context(socket.create_server(("0.0.0.0", 0))), stack.enter_context(socket.socket(type=2))
        port = tcp.getsockname()[1]
        udp.bind(("0.0.0.0", port))
        folder = Path("/var/lib") if os.access("/var/lib", os.W_OK) else tmp_path
        paths = {"path": f"/tmp/{name}", "elsewhere": f"{folder}/{name}", "abstract": f"\0{name}"}
        servers = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in paths]
        for server, path in zip(servers, paths.values(), strict=True):
            server.bind(path)
            server.listen()
            if not path.startswith("\0"):
                stack.callback(os.unlink, path)
        for each in (tcp, udp, *servers):
            each.setblocking(False)
        command = NETWORK[way].format(host=_own_address(), port=port, name=name, **paths)
        ran = await box.run(command, network=network)
        assert ran.code != 0 or (way == "udp" and network), ran.output
        for each in (tcp, *servers):
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)


def _own_address() -> str:
    """An address of this machine that is not its loopback, if it has one."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
    return "127.0.0.1"


async def test_fault_40_no_key_can_be_read(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 40: commands find no key in their environment or in other processes, such as the server."""
    mark = "sk-secret-of-the-server"
    code = (
        "import asyncio, pathlib, sys\n"
        "from shell.boxes import boxes\n"
        "async def main():\n"
        "    async with boxes(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) as box:\n"
        "        ran = await box.run('env; cat /proc/*/environ /proc/*/cmdline; ls /proc; echo $PPID')\n"
        "        sys.stdout.write(ran.output)\n"
        "asyncio.run(main())\n"
    )
    keys = {"ANTHROPIC_API_KEY": mark, "MY_TOKEN": mark}
    environment = {**os.environ, **keys, "PYTHONPATH": str(Path(__file__).parents[1])}
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(workspace), str(tmp_path / "state")),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    output = (await server.communicate())[0].decode()
    assert "GIT_OPTIONAL_LOCKS=0" in output
    assert mark not in output
    assert len(re.findall(r"^\d+$", output, re.M)) < 10


HARMLESS = ["git log --oneline | head -1", "yes | head -1", "cat 'ä b/..foo'", "echo '$(x)'", "ls | wc -l"]


@pytest.mark.parametrize("command", HARMLESS)
async def test_fault_43_harmless_commands_work(box: Boxes, workspace: Path, command: str) -> None:
    """docs/faults.md 43: pipes that close early, odd names and quotes, for example, cause no error."""
    write(workspace, {"ä b/..foo": "x"})
    for arguments in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a", "commit", "-qm", "m"]):
        process = await asyncio.create_subprocess_exec("git", "-C", str(workspace), *arguments)
        assert await process.wait() == 0
    ran = await box.run(command)
    assert ran.code == 0, ran.output
    assert "roken pipe" not in ran.output


async def test_fault_43_the_workspaces_own_environment_works(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 43: the interpreter of its .venv works, wherever its Python is installed."""
    make = [sys.executable, "-m", "venv", "--without-pip", str(workspace / ".venv")]
    process = await asyncio.create_subprocess_exec(*make)
    assert await process.wait() == 0
    ran = await box.run(".venv/bin/python -c 'import ssl, sys; print(sys.prefix)'")
    assert ran.output == f"{workspace}/.venv\n"


async def test_fault_58_a_secret_in_a_folder_of_dependencies(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 58: files that look like secrets cannot be read, except keys and certificates inside packages."""
    hidden = (
        *("node_modules/.env", "node_modules/a/.env", "node_modules/@s/a/sub/.npmrc", "node_modules/server.key"),
        *(".venv/.env", ".venv/lib/python3.12/site-packages/auth.json", ".venv/pip/.netrc", "venv/id_rsa"),
        *("packages/b/node_modules/.cache/key.pem", "bower_components/c/.aws/credentials", "__pycache__/.env"),
    )
    shown = (
        *(
            "node_modules/a/test/server.key",
            "node_modules/.pnpm/c@1/node_modules/c/ca.pem",
            "node_modules/a/.env.example",
        ),
        *(".venv/lib/python3.12/site-packages/certifi/cacert.pem", ".venv/ssl/cacert.pem", "node_modules/a/id_ID"),
    )
    write(workspace, dict.fromkeys((*hidden, *shown), "HUNTER\n") | {".gitignore": "node_modules/\nvenv/\n.venv/\n"})
    secrets = await SecretFinder(workspace).find()
    ran = await box.run("grep -rl HUNTER . | sort", View(hidden=secrets.names))
    assert ran.output.splitlines()[-len(shown) :] == [f"./{name}" for name in sorted(shown)]
    assert "HUNTER" not in (await box.run(f"cat {' '.join(hidden)}", View(hidden=secrets.names))).output


TOKEN = "[user]\n  name = Ann\n[http]\n  extraHeader = Authorization: HUNTER\n"
ADDRESS = '[remote "o"]\n  url = https://HUNTER\\\nHUNTER@example.org/x\n'
REPOSITORIES = {
    "the repository": {".git/config": ADDRESS},
    "a comment that ends like a continued line": {".git/config": f"# x \\\n{TOKEN}"},
    "an address in quotes": {".git/config": '[remote "o"]\n  url = "https://"HUNTER"@example.org/x"\n'},
    "a header with a setting on its line": {".git/config": "[http] extraHeader = HUNTER\n"},
    "a worktree": {".git/worktrees/w/config.worktree": TOKEN},
    "a submodule": {".git/modules/libs/sub/HEAD": "", ".git/modules/libs/sub/config": TOKEN},
    "a submodule's submodule": {
        **dict.fromkeys((f".git/modules/{name}/HEAD" for name in ("a", "a/modules/b")), ""),
        ".git/modules/a/modules/b/config": TOKEN,
        ".git/modules/a/modules/b/config.worktree": TOKEN,
    },
    "an include": {".git/config": "[include]\n  path = ../team.cfg ; ours\n", "team.cfg": TOKEN},
    "an include on the line of its header": {".git/config": '[Include]PATH="../te"am.cfg\n', "team.cfg": TOKEN},
    "an include under a condition": {
        ".git/config": '[includeIf "onbranch:x"]\n  path = one\n',
        ".git/one": f"[include]\n  path = {'{root}'}/conf/two\n",
        "conf/two": TOKEN,
    },
    "includes in a circle": {
        ".git/config": f'{TOKEN}[includeIf "onbranch:x"]\n  path = one\n',
        ".git/one": f"[include]\n path=config\n{TOKEN}",
    },
    "an include of a submodule": {
        **dict.fromkeys((".git/modules/m/HEAD", ".git/modules/m/objects/x", ".git/modules/m/refs/x"), ""),
        ".git/modules/m/config": "[include]\n  path = more\n",
        ".git/modules/m/more": TOKEN,
    },
    "a repository within": {"deep/down/here/.git/HEAD": "", "deep/down/here/.git/config": TOKEN},
    "a bare repository": {
        **dict.fromkeys(("d/e/f/HEAD", "d/e/f/objects/x", "d/e/f/refs/x"), ""),
        "d/e/f/config": TOKEN,
    },
    "a link": {"dot/git/HEAD": "", "dot/git/config": TOKEN, "sub/.git": "gitdir: ../dot/git\n"},
}


async def test_fault_59_a_token_in_settings_of_git(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 59: no command can read a token in any file that git reads as settings; git works, and the files
    do not change."""
    for name, files in REPOSITORIES.items():
        subprocess.run(["find", str(workspace), "-mindepth", "1", "-delete"], check=True)
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)
        own = (workspace / ".git/config").read_text()
        write(workspace, {path: text.replace("{root}", str(workspace)) for path, text in files.items()})
        if ".git/config" in files:
            (workspace / ".git/config").write_text(own + files[".git/config"])
        before = on_disk(workspace)
        view = View(repositories=(await SecretFinder(workspace).find()).repositories)
        ran = await box.run("grep -rh HUNTER . ; git config --list; git status --short", view)
        assert (ran.code, "HUNTER" in ran.output) == (0, False), f"{name}: {ran.output}"
        assert on_disk(workspace) == before


@pytest.mark.slow
async def test_fault_58_thousands_of_secrets_are_hidden(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 58: commands run, and none can read the keys of a library's tests, for example."""
    names = [f"keys/{number}.pem" for number in range(3_000)]
    write(workspace, dict.fromkeys(names, "HUNTER\n"))
    ran = await box.run("grep -rhs HUNTER .; ls keys | wc -l", View(hidden=names))
    assert (ran.code, ran.output) == (0, "3000\n")


@pytest.mark.slow
async def test_fault_52_a_socket_that_disappears_while_a_box_is_made(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 52: commands run even if the socket of another program constantly appears and disappears."""
    stop = threading.Event()

    def open_and_close_socket(path: str) -> None:
        while not stop.is_set():
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                os.unlink(path)

    with tempfile.TemporaryDirectory(dir=Path(__file__).parents[2]) as folder:
        workers = [asyncio.to_thread(open_and_close_socket, f"{folder}/{n}") for n in range(2)]
        running = asyncio.gather(*workers)
        try:
            for _ in range(20):
                assert (await box.run("echo ran")).output.endswith("ran\n")
        finally:
            stop.set()
            await running
