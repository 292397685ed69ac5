"""What the sandbox records of what a command reads (docs/sandbox.md, "What a command reads")."""

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from fairlead.shell.layer import View
from fairlead.shell.network import Network, Service
from fairlead.shell.reads import FAILED, Access, Reads
from fairlead.shell.sandbox import overlay
from shell.boxes import EACH_BACKEND, Boxes, RunResult, has, seen, start, write

PYTHON = "python3 -I -S -c"
INTERRUPTED = """
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static void handle(int number) {}
int main(void) {
    struct sigaction action = {.sa_handler = handle};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < 20000; i++) {
        int file = open("a.txt", O_RDONLY);
        if (file < 0) {
            setitimer(ITIMER_REAL, &never, 0);
            access("a.txt", R_OK); /* only a later call shows that one is missing */
            return 1;
        }
        close(file);
    }
    return 0;
}
"""
SUPERVISING = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    struct sock_filter steps[] = {{6, 0, 0, 0x7fff0000}};
    struct sock_fprog program = {1, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, 1, 8, &program) < 0;
}
"""
WRONG_PATHS = """
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    static char longer[5000];
    memset(longer, 'x', 4999);
    syscall(SYS_statx, 0, 0, 0, 0, 0);
    syscall(SYS_openat, AT_FDCWD, 1, O_RDONLY);
    syscall(SYS_openat, AT_FDCWD, longer, O_RDONLY);
    return access("a.txt", R_OK);
}
"""
THREADS = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *work(void *number) {
    char name[20];
    for (int i = 0; i < 20; i++) {
        sprintf(name, "f%ld.%d", (long)number, i);
        syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
    }
    return 0;
}
int main(void) {
    pthread_t threads[8];
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    return 0;
}
"""


@pytest.fixture(params=EACH_BACKEND)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


def compile_program(folder: Path, name: str, source: str) -> None:
    """Compiles a program in C, without shared libraries. Skips the test if there is no compiler."""
    if not has("gcc"):
        pytest.skip("it needs a C compiler")
    write(folder, {f"{name}.c": source})
    subprocess.run(["gcc", "-static", "-pthread", "-o", name, f"{name}.c"], cwd=folder, check=True)


async def recorded(box: Boxes, command: str, view: View | None = None) -> tuple[RunResult, Reads]:
    ran = await box.run(command, view or View(), records=True)
    assert ran.changes.reads is not None
    return ran, ran.changes.reads


def named(workspace: Path, reads: Reads) -> dict[str, list[Access]]:
    """The accesses by name in the workspace."""
    found: dict[str, list[Access]] = {}
    for access in reads.accesses:
        path = os.path.normpath(access.path)
        if path.startswith(f"{workspace}/"):
            found.setdefault(path[len(str(workspace)) + 1 :], []).append(access)
    return found


@pytest.mark.parametrize(
    ("command", "name", "kind"),
    [
        ("cat a.txt", "a.txt", "open"),
        ("cd d; cat ../a.txt", "a.txt", "open"),
        ("test -e a.txt", "a.txt", "look"),
        ("test -e none", "none", "look"),
        ("ls d", "d", "open"),
        ("echo x > out", "out", "write"),
        ("echo x >> a.txt", "a.txt", "change"),
        ("mv a.txt b.txt", "a.txt", "look"),
        ("mv a.txt b.txt", "b.txt", "write"),
        ("mkdir m", "m", "write"),
        ("chmod +x run; ./run", "run", "execute"),
        ("cat <(cat a.txt)", "a.txt", "open"),
        (f'{PYTHON} \'import os; os.stat("b.txt", dir_fd=os.open("d", os.O_RDONLY))\'', "d/b.txt", "look"),
        ("{ cat a.txt & } ; wait", "a.txt", "open"),
    ],
)
async def test_an_access_is_recorded(box: Boxes, workspace: Path, command: str, name: str, kind: str) -> None:
    write(workspace, {"a.txt": "a", "d/b.txt": "b", "run": "#!/bin/sh\n"})
    ran, reads = await recorded(box, command)
    assert (reads.is_complete, reads.doubt) == (True, "none"), ran.output
    assert kind in {access.kind for access in named(workspace, reads).get(name, ())}, reads


async def test_what_was_there_is_recorded_before_the_command_changes_it(box: Boxes, workspace: Path) -> None:
    """Also a proposed file, and a folder with the program that lists it."""
    write(workspace, {"a.txt": "abc", "d/b.txt": "b"})
    _, reads = await recorded(box, "cat a.txt p.txt none; echo longer > a.txt; ls d", seen(**{"p.txt": "proposed"}))
    found = named(workspace, reads)
    first = {name: each[0].seen for name, each in found.items()}
    assert first["none"] is None
    assert [each and each.size for each in (first["a.txt"], first["p.txt"])] == [3, 8]
    listed = [each.seen for each in found["d"] if each.kind == "open"]
    assert [each and (each.is_folder, each.program) for each in listed] == [(True, "ls")]


async def test_what_cannot_be_told_from_reads_is_not_recorded(box: Boxes, workspace: Path) -> None:
    """A command that reaches a server, which may read something for it."""
    write(workspace, {"a.txt": "a"})
    network = Network(services=frozenset([Service.parse("localhost:9")]))
    ran = await box.run("cat a.txt", network=network, records=True)
    assert ran.changes.reads is None
    assert (await box.run("cat a.txt")).changes.reads is None


async def test_a_kernel_that_refuses_the_filter_runs_the_command_without_it(
    box: Boxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay, "path_call_filter", lambda: bytes(8))  # no valid program
    ran, reads = await recorded(box, "echo ran")
    assert (ran.code, ran.output, reads) == (0, "ran\n", Reads((), is_complete=False))


async def test_fault_311_a_recording_that_ends_early_ends_the_command(box: Boxes) -> None:
    """docs/faults.md 311: each call would fail without the supervisor, so a test that expects a failure would pass."""
    opened = await box.layer.open("echo begun; sleep 1000", View(), records=True)
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"
    [supervisor] = [child for child in psutil.Process(process.pid).children() if not child.children()]
    supervisor.kill()
    await process.wait()
    assert process.returncode != 0
    assert (await opened.close()).reads == FAILED


async def test_fault_312_a_program_that_supervises_others_fails_only_while_it_is_recorded(
    box: Boxes, workspace: Path
) -> None:
    """docs/faults.md 312: the kernel allows one supervisor for a process. The result of such a command is in doubt."""
    compile_program(workspace, "supervise", SUPERVISING)
    assert (await box.run("./supervise")).code == 0
    ran, reads = await recorded(box, "./supervise")
    assert (ran.code, reads.doubt) == (1, "failure")


async def test_fault_313_a_call_that_a_signal_interrupts_makes_a_failure_doubtful(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 313: it fails with EINTR, which it would not without the recording."""
    write(workspace, {"a.txt": "a"})
    compile_program(workspace, "interrupted", INTERRUPTED)
    assert (await box.run("./interrupted")).code == 0
    ran, reads = await recorded(box, "./interrupted")
    assert (ran.code, reads.doubt) == (1, "failure")


async def test_a_program_without_a_c_library_and_its_threads_are_recorded(box: Boxes, workspace: Path) -> None:
    compile_program(workspace, "threads", THREADS)
    _, reads = await recorded(box, "./threads")
    assert {f"f{number}.{index}" for number in range(8) for index in range(20)} <= named(workspace, reads).keys()


async def test_fault_322_a_call_with_an_invalid_path_hides_nothing(box: Boxes, workspace: Path) -> None:
    """docs/faults.md 322: programs in Rust pass no path to find out whether the kernel knows a call, so cargo did."""
    write(workspace, {"a.txt": "a"})
    compile_program(workspace, "wrong", WRONG_PATHS)
    ran, reads = await recorded(box, "./wrong")
    assert (ran.code, reads.is_complete) == (0, True)
    assert "a.txt" in named(workspace, reads)


async def test_fault_325_each_program_that_lists_a_folder_or_looks_at_a_document_is_recorded(
    box: Boxes, workspace: Path
) -> None:
    """docs/faults.md 325: only the first one was, so a new file that only the second one counts was missed."""
    write(workspace, {"d/b.txt": "b", "d/c.md": "c"})
    python = f'{PYTHON} \'import os; os.listdir("d"); os.stat("d/b.txt"); os.stat("d/c.md")\''
    _, reads = await recorded(box, f"{python}; {python}; ls d; test -e d/b.txt; test -e d/c.md")
    programs = {
        name: {access.seen.program[:6] for access in named(workspace, reads)[name] if access.seen}
        for name in ("d", "d/b.txt", "d/c.md")
    }
    assert programs["d"] >= {"python", "ls"}
    assert programs["d/c.md"] == {"python", "bash"}
    assert programs["d/b.txt"] == {""}


async def test_fault_327_nothing_is_left_of_a_recorded_command_whose_launcher_is_killed(box: Boxes) -> None:
    """docs/faults.md 327: as if the server was killed, or the machine ran out of memory."""
    opened = await box.layer.open("echo begun; while :; do test -e a.txt; done", View(), records=True)
    process = await start(opened)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"
    others = psutil.Process(process.pid).children(recursive=True)
    assert len(others) >= 3  # the supervisor, the init and the command
    process.kill()
    await process.wait()
    assert (await opened.close()).reads == FAILED
    assert psutil.wait_procs(others, timeout=30)[1] == []
