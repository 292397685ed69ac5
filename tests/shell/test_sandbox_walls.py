"""The walls of a box: nothing outside of the layer is written, no secret is visible, no privilege can be gained."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairlead.session.guarded_files import GuardedFiles, guarded_view
from fairlead.shell.layer import View
from fairlead.shell.network import NO_NETWORK, Network
from fairlead.shell.sandbox import gitconfig, reasons
from fairlead.shell.sandbox.box import installed, mounts
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.paths import Roots
from fairlead.workspace.repositories import read_start
from shell.boxes import EACH_BACKEND, Boxes, boxes, find_sandbox, is_installed, write
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.fixture(params=EACH_BACKEND)
def backend(request: pytest.FixtureRequest) -> str:
    """Each program that makes boxes, because the walls must be the same."""
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed")
    return request.param


async def test_nothing_outside_is_written(box: Boxes, tmp_path: Path) -> None:
    """System folders refuse writes; writes to private folders of the box do not reach the disk."""
    outside = Path(tempfile.mkdtemp(prefix="fairlead-outside-", dir="/var/tmp"))
    home = Path.home()
    before = {path.name for path in home.iterdir()}
    for place in ("/etc", "/usr", "/", "/var", "/opt", "/sys/kernel", "/proc/sys", "/mnt"):
        ran = await box.run(f"echo x > {place}/fairlead-test")
        assert ran.code != 0, place
    for place in ("/tmp", "/var/tmp", "/dev/shm", str(home), str(tmp_path), str(outside)):
        await box.run(f"mkdir -p {place}; echo x > {place}/fairlead-test; rm -rf {place}/*")
        assert not Path(place, "fairlead-test").exists(), place
    assert {path.name for path in home.iterdir()} == before
    assert outside.is_dir()
    outside.rmdir()


async def test_kernel_settings_are_read_only_and_devices_hidden(box: Boxes) -> None:
    """Not even root can change kernel settings, or see or create devices."""
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/sys/power/state"):
        ran = await box.run(f"echo x > {path}")
        assert ran.code != 0, path
    assert await box.output("ls /dev | grep -E '^(vd|sd|nvme|mem|kmsg|loop)' || true") == ""
    assert (await box.run("mknod /tmp/d b 1 1 || mknod /tmp/d c 1 1")).code != 0


async def test_the_keys_of_the_machine_are_hidden(box: Boxes) -> None:
    """Root would read the names of all keys in the kernel, and what the kernel notes about other processes."""
    for name in ("keys", "key-users", "kcore", "timer_list"):
        assert (await box.run(f"head -c 1 /proc/{name}")).code != 0, name


async def test_no_privileges(box: Boxes) -> None:
    """No capability, and no way to gain one: not by setuid, another user namespace or a mount."""
    status = await box.output("cat /proc/self/status")
    assert [line.split() for line in status.splitlines() if line.startswith("Cap")] == [
        [f"Cap{kind}:", "0" * 16] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")
    ]
    assert "NoNewPrivs:\t1" in status
    ways = ["unshare -U true", "unshare -Urm true", "mount -t tmpfs x /mnt", "umount /proc/sys"]
    for command in [*ways, "mount -o remount,rw /", "chroot / true"]:
        assert (await box.run(command)).code != 0, command


async def test_other_processes_are_hidden(box: Boxes) -> None:
    """Processes outside of the box cannot be signalled, and the box's init cannot be killed."""
    ran = await box.run(f"kill -0 {os.getpid()}; kill -9 1; cd /proc/1/root && ls; ls /proc/1/fd; echo on")
    assert ran.output.endswith("on\n")
    assert "No such process" in ran.output


async def test_programs_can_read_placeholders_of_settings(workspace: Path, tmp_path: Path, backend: str) -> None:
    """Some programs skip a missing `.env` but fail on one that they cannot read, so a readable placeholder hides it.

    No command can change or replace the placeholder.
    """
    names = [".env", ".ENV", ".env.test", "app/.npmrc"]
    write(workspace, dict.fromkeys([*names, "a.pem", "app/.netrc"], "HUNTER\n"))
    hidden = View(hidden=[*names, "a.pem", "app/.netrc"])
    async with boxes(workspace, tmp_path / "state", backend) as box:
        for name in names:
            read = f"python3 -c \"print(open('{name}').read(), end='')\""
            assert await box.output(read, hidden) == "# hidden by Fairlead\n"
        assert (await box.run("cat a.pem", hidden)).code != 0
        assert (await box.run("cat app/.netrc", hidden)).code != 0
        assert await box.output("set -a; . ./.env; grep -rs HUNTER . || echo none", hidden) == "none\n"
        writes = "echo x > .env; echo x >> .env; rm .env; mv .env b; touch .env; chmod 777 .env; sed -i s/h/x/ .env"
        assert (await box.run(f"{writes}; cat .env", hidden)).output.endswith("# hidden by Fairlead\n")
        ran = await box.run(f"{writes}; true", hidden)
        assert ran.changes.files == []


async def test_the_users_secrets_are_hidden(box: Boxes) -> None:
    """The home contains only tools, and root's commands cannot read files that only root may read."""
    secrets = (".ssh/id", ".aws/credentials", ".netrc", ".npmrc", ".config/gh/hosts.yml")
    write(Path.home(), dict.fromkeys(secrets, "HUNTER\n"))
    shown = (await box.output("ls -A ~")).split()
    tools = {name.split("/")[0] for name in (*installed.IN_HOME, ".gitconfig")}
    assert set(shown) <= tools | {Path(folder).relative_to(Path.home()).parts[0] for folder in _path_in_home()}
    for name in secrets:
        assert (await box.run(f"cat ~/{name}")).code != 0, name
    for path in mounts.root_only_paths():
        assert (await box.run(f"cat '{path}'")).code != 0, path
    assert (await box.run("cat /etc/shadow")).code != 0


async def test_fault_61_files_that_only_root_may_read(workspace: Path, tmp_path: Path, backend: str) -> None:
    """docs/faults.md 61: root's commands can read their workspace, and elsewhere only files that everyone may read."""
    if os.geteuid() != 0:
        pytest.skip("this is about root's commands")
    if not (await probe(Roots.of(workspace), tmp_path / "state")).enforce_permissions:
        pytest.skip("this system does not let root leave out files by permission")
    with tempfile.TemporaryDirectory(prefix="fairlead-root-", dir=Path(__file__).parents[2]) as folder:
        beside = Path(folder)
        beside.chmod(0o755)
        write(beside, dict.fromkeys(("a/b/c/d/e/f/key", "a/b/c/group", "closed/x", "own/w/.env"), "HUNTER"))
        write(beside, {"a/b/c/d/e/f/all": "ALL", "own/beside": "", "own/w/private": "MINE", "own/w/in/x": "MINE"})
        modes = {"a/b/c/d/e/f/key": 0o600, "a/b/c/group": 0o640, "closed": 0o700, "own": 0o700}
        for name, mode in {**modes, "own/w/private": 0o600, "own/w/in": 0o700}.items():
            (beside / name).chmod(mode)
        os.symlink(beside / "a/b/c/d/e/f/key", beside / "own/w/link")
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", "-C", str(beside / "own"), *command], check=True)
        async with boxes(beside / "own/w", tmp_path / "state", backend) as box:
            ran = await box.run(
                f"grep -rh HUNTER '{folder}' . link '/proc/1/root{folder}'; true", View(hidden=[".env"])
            )
            assert "HUNTER" not in ran.output
            is_shown = not any(beside.is_relative_to(blank.path) for blank in mounts.private_folders())
            ran = await box.run(
                f"cat '{folder}/a/b/c/d/e/f/all' 2> /dev/null; cat private in/x && echo x > new && id -u"
            )
            assert (ran.output, ran.contents) == (f"{'ALL' if is_shown else ''}MINEMINE0\n", {"new": b"x\n"})
            assert " D" not in await box.output("git status --short")
            roots = Roots.of(beside / "own/w")
            view = await guarded_view(roots, lambda root: GuardedFiles(root.path))
            assert (list(view.enclosing) == []) == is_shown, "a layer over the repository would show such files"


async def test_fault_94_a_home_below_a_closed_folder(workspace: Path, tmp_path: Path, backend: str) -> None:
    """docs/faults.md 94: wherever root's home is, its commands get the box that enforces permissions."""
    if os.geteuid() != 0:
        pytest.skip("this is about root's commands")
    if not (await probe(Roots.of(workspace), tmp_path / "state")).enforce_permissions:
        pytest.skip("this system does not let root leave out files by permission")
    with tempfile.TemporaryDirectory(prefix="fairlead-home-", dir=Path(__file__).parents[2]) as folder:
        beside = Path(folder)
        beside.chmod(0o755)
        write(beside, {"closed/secret": "HUNTER", "closed/home/.netrc": "HUNTER", "key": "HUNTER", "ws/a.txt": "a"})
        (beside / "closed").chmod(0o700)
        (beside / "key").chmod(0o600)
        os.environ["HOME"] = str(beside / "closed/home")
        found = await find_sandbox(beside / "ws", tmp_path / "state", backend)
        assert (found.enforce_permissions, found.weakness) == (True, "")
        async with boxes(beside / "ws", tmp_path / "state", backend) as box:
            ran = await box.run(f"grep -rh HUNTER {folder}; echo x > ~/x && cat ~/x && echo new >> a.txt")
            assert "HUNTER" not in ran.output
            assert (ran.output.splitlines()[-1], ran.contents) == ("x", {"a.txt": b"anew\n"})


def _path_in_home() -> list[str]:
    return [folder for folder in os.environ["PATH"].split(":") if folder.startswith(f"{Path.home()}/")]


async def test_our_own_folders_are_hidden(workspace: Path, tmp_path: Path) -> None:
    """The folder of layers and the folders that the caller names are hidden, wherever they are."""
    storage = Path(tempfile.mkdtemp(prefix="fairlead-storage-", dir=Path(__file__).parents[2]))
    (storage / "session.json").write_text("HUNTER")
    try:
        found = await probe(Roots.of(workspace), storage / "layers")
        layer = await found.layer([storage])
        try:
            box = Boxes(layer)
            ran = await box.run(
                f"cat '{storage}/session.json'; ls '{storage}/layers'; cat '{storage}'/layers/*/lock; true"
            )
            assert "HUNTER" not in ran.output
            assert "layer-" not in ran.output.replace("layers/*", "")
            assert (await box.run(f"echo x > '{storage}/session.json'")).code != 0
        finally:
            await layer.aclose()
        assert (storage / "session.json").read_text() == "HUNTER"
    finally:
        subprocess.run(["rm", "-rf", str(storage)], check=True)


async def test_files_and_memory_are_limited(box: Boxes) -> None:
    """Programs that exceed a limit get the usual errors, and no core dumps are written."""
    ran = await box.run("python3 -c \"open('big', 'wb').truncate(1 << 40)\"; rm -f big")
    assert "Error" in ran.output
    ran = await box.run('python3 -c "x = bytearray(1 << 42)"')
    assert "MemoryError" in ran.output
    assert (await box.run("ulimit -c")).output == "0\n"


async def test_only_listed_environment_variables_are_passed(box: Boxes) -> None:
    """Commands get the variables that tools need, those that the user's patterns name, and variables that keep tools
    from waiting for input.
    """
    environment = {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "k", "X_TOKEN": "t", "JAVA_HOME": "/j"}
    environment |= {"RAILS_ENV": "test", "RACK_ENV": "test", "HOME": "/h"}
    assert mounts.command_environment(
        environment, ["RAILS_*", "AWS_*", "HOME"], network=Network(internet=True)
    ).keys() == {
        *(
            "RAILS_ENV",
            "PATH",
            "LC_ALL",
            "JAVA_HOME",
            "HOME",
            "TERM",
            "TMPDIR",
            "PAGER",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
        ),
        *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_OPTIONAL_LOCKS", "PYTHONUNBUFFERED", "COREPACK_DEFAULT_TO_LATEST"),
    }
    assert mounts.command_environment(environment, ["HOME"], network=Network(internet=True))["HOME"] == str(
        mounts.home()
    )
    assert await box.output("touch $TMPDIR/x ~/y && cd ~ && pwd") == f"{mounts.home()}\n"


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (" --require /h/.vscode-server/x/ms-vscode.js-debug/src/bootloader.js  --no-warnings", "--no-warnings"),
        ('--require "/h/My Code/ms-vscode.js-debug/bootloader.bundle.js" --no-warnings', "--no-warnings"),
        ("--no-warnings --require=/h/ms-vscode.js-debug/src/bootloader.js", "--no-warnings"),
        ('--require "/h/a b/bootloader.js" --require ./x.js', '--require "/h/a b/bootloader.js" --require ./x.js'),
    ],
)
def test_node_runs_without_the_debugger_of_a_terminal(given: str, passed: str) -> None:
    """VS Code's auto attach loads a file that no box shows. Other options stay."""
    assert mounts.command_environment({"NODE_OPTIONS": given}, network=NO_NETWORK)["NODE_OPTIONS"] == passed


async def test_a_workspace_that_only_its_owner_may_enter(tmp_path: Path, backend: str) -> None:
    """The workspace is visible at its real path, and by the link that the editor uses."""
    with tempfile.TemporaryDirectory(prefix="fairlead-ws-", dir="/var/tmp") as real:
        link = tmp_path / "link"
        os.symlink(real, link)
        async with boxes(link, tmp_path / "state", backend) as box:
            write(link, {"a.pem": "KEY"})
            command = f"echo a > {link}/a.txt; cat {real}/a.txt; pwd; cat {link}/a.pem 2>/dev/null"
            ran = await box.run(command, View(hidden=["a.pem"]))
        assert (ran.output, ran.contents) == (f"a\n{real}\n", {"a.txt": b"a\n"})


@pytest.mark.parametrize("kind", ["home", "around the home", "system"])
async def test_workspaces_that_cannot_be_boxed(kind: str, tmp_path: Path) -> None:
    """For the home folder, a folder around it and a system folder, there is no sandbox, and there is a reason."""
    root = {"home": Path.home(), "around the home": Path.home().parent, "system": Path("/proc")}[kind]
    found = await probe(Roots.of(root), tmp_path / "state")
    assert found.layers_folder is None
    assert found.reason


async def test_a_system_without_user_namespaces(workspace: Path, tmp_path: Path) -> None:
    """There is no sandbox, and the reason names the setting that prevents it."""
    code = (
        "import asyncio, pathlib, sys\n"
        "from fairlead.shell.sandbox.probe import probe\n"
        "from fairlead.workspace.paths import Roots\n"
        "found = asyncio.run(probe(Roots.of(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])))\n"
        "print(found.layers_folder, found.reason)\n"
    )
    within = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    python = [sys.executable, "-c", code, str(workspace), str(tmp_path / "state")]
    without = ["unshare", "--user", "--map-root-user", "sh", "-c", within, "sh", *python]
    ran = subprocess.run(without, check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("None User namespaces are not available: they are disabled (user.max_user_namespaces")


async def test_fault_55_a_workspace_whose_owner_cannot_reach_it(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 55: root's commands run as the workspace's owner; if the owner cannot enter a parent folder, there
    is no sandbox, and the reason names the owner, the folder and what to do."""
    if os.geteuid() != 0:
        pytest.skip("only root runs commands as another user")
    os.chown(workspace, 65534, 65534)
    tmp_path.chmod(0o700)
    closed = next(folder for folder in (*reversed(tmp_path.parents), tmp_path) if not folder.stat().st_mode & 0o001)
    found = await probe(Roots.of(workspace), tmp_path / "state")
    assert (found.layers_folder, found.is_temporary) == (None, False)
    assert found.reason == (
        f"Commands run as the owner of the workspace (user 65534), who cannot enter {closed}. "
        f"Work as that user, move the workspace, or let other users enter the folder (chmod o+x {closed})."
    )


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        (
            "[Errno 13] Permission denied: '/x'",
            "A trial of the sandbox failed: [Errno 13] Permission denied: '/x'. The sandbox needs Linux 5.12",
        ),
        (
            "mount overlay /ws: No such device",
            "This system does not support a sandbox (mount overlay /ws: No such device). The sandbox needs Linux 5.12",
        ),
        ("mount overlay /ws: No space left on device", "No space is left for the sandbox's files."),
        ("namespaces: No space left on device", "This system does not support a sandbox (namespaces: No space left on"),
        (
            reasons.TIMED_OUT,
            "A trial of the sandbox failed: the trial command timed out. The next run tries again.",
        ),
    ],
)
def test_fault_55_the_reason_names_the_failure(workspace: Path, failed: str, reason: str) -> None:
    """docs/faults.md 55: the reason does not blame a container or a setting that has nothing to do with the failure."""
    assert reasons.explain([failed], workspace).startswith(reason)


APPARMOR = {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}
DISABLED = {"proc/sys/user/max_user_namespaces": "0"}
SEVERAL = {"proc/sys/user/max_user_namespaces": "9"}


@pytest.mark.parametrize(
    ("system", "failed", "reason"),
    [
        (APPARMOR | SEVERAL, "/proc/self/uid_map: Operation not permitted", "User namespaces are not available: AppA"),
        (APPARMOR | SEVERAL, "mount  /: Permission denied", "User namespaces are not available: AppArmor restricts"),
        (
            APPARMOR | SEVERAL,
            "mount overlay /ws: No such device",
            "This system does not support a sandbox (mount overlay",
        ),
        (
            APPARMOR | SEVERAL,
            "namespaces: No space left on device",
            "This system does not support a sandbox (namespaces: ",
        ),
        (APPARMOR | DISABLED, "namespaces: No space left on device", "User namespaces are not available: they are dis"),
        (
            APPARMOR | {".dockerenv": ""},
            "namespaces: Operation not permitted",
            "This container does not allow a sandbox",
        ),
        (
            {},
            "namespaces: Operation not permitted",
            "This system does not allow a sandbox (namespaces: Operation not perm",
        ),
    ],
)
def test_fault_55_a_setting_is_named_only_for_its_own_error(
    workspace: Path, tmp_path: Path, system: dict[str, str], failed: str, reason: str
) -> None:
    """docs/faults.md 55: a container has the settings of its machine, which may have nothing to do with the error."""
    for name, text in system.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert reasons.explain([failed], workspace, tmp_path).startswith(reason)


def test_fault_55_a_workspace_that_vanishes_during_the_trial(tmp_path: Path) -> None:
    """docs/faults.md 55: the reason names the failure, and the missing folder causes no second error."""
    reason = reasons.explain(["mount overlay /ws: No such file or directory"], tmp_path / "gone")
    assert reason.startswith("This system does not support a sandbox (mount overlay /ws: No such file or directory)")


async def test_a_state_folder_inside_the_workspace_is_not_used(workspace: Path) -> None:
    """The layer is stored elsewhere, so that it is not a part of its own lower layer."""
    found = await probe(Roots.of(workspace), workspace / "state")
    assert found.layers_folder is not None
    assert not found.layers_folder.is_relative_to(workspace)


async def test_as_an_ordinary_user(tmp_path: Path) -> None:
    """The sandbox works without root: ordinary_user.py checks the layer, its changes and its walls."""
    if os.geteuid() != 0:
        pytest.skip("the other tests do that already")
    place = Path(tempfile.mkdtemp(prefix="fairlead-user-", dir="/var/tmp"))
    os.chown(place, 65534, 65534)
    # the user may not read what is in root's home, so the code is mounted elsewhere
    code = {"server": Path(__file__).parents[2] / "server", "tests": Path(__file__).parents[1]}
    code |= {f"packages-{n}": path for n, path in enumerate(map(Path, sys.path)) if path.name == "site-packages"}
    for name in code:
        (place / name).mkdir()
    mount = "".join(f"mount --bind {shlex.quote(str(path))} {place}/{name} && " for name, path in code.items())
    user = "exec setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3"
    run = ["unshare", "--mount", "sh", "-c", f"{mount}{user} {place}/tests/shell/ordinary_user.py {place}"]
    try:
        paths = ":".join(str(place / name) for name in code)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(place / "home"), "PYTHONPATH": paths}
        ran = subprocess.run(run, check=False, capture_output=True, text=True, timeout=60, env=environment, cwd="/")
        assert ran.stdout.splitlines()[-1:] == ["all well"], ran.stderr
    finally:
        subprocess.run(["rm", "-rf", str(place)], check=True)


SETTINGS = """[user]
  name = Ann
[core] autocrlf = input
  sshCommand = evil
  hooksPath = /evil
[sendemail]
  smtppass = HUNTER
[url "https://u:HUNTER@x/"]
  insteadOf = x:
[alias]
  x = !evil
[color "diff"]
  meta = \\
    blue
[user]
  password = HUNTER
[filter "lfs"]
  clean = git-lfs clean -- %f
  required = true
  evil = evil
[filter "gone"]
  clean = gone
  required = true
[filter "secret"]
  smudge = decrypt --password HUNTER
  required
"""


def test_only_harmless_git_settings_of_the_user_are_shown(tmp_path: Path) -> None:
    """Passwords, unknown settings and programs are left out, except the filters whose programs the box can run."""
    write(tmp_path, {".gitconfig": SETTINGS})
    [(path, text)], omitted = gitconfig.user_settings(tmp_path, lambda line: line.startswith("git-lfs "))
    assert (path, omitted) == (tmp_path / ".gitconfig", ["gone", "secret"])
    assert text.splitlines() == [
        *("[user]", "name = Ann", "[core]", "autocrlf = input", '[color "diff"]', "meta =     blue", "[user]"),
        *('[filter "lfs"]', "clean = git-lfs clean -- %f", "required = true"),
    ]


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        (".gitconfig", "", ""),
        (".config/git/config", "", ""),
        ("settings", "GIT_CONFIG_GLOBAL", "settings"),
        ("xdg/git/config", "XDG_CONFIG_HOME", "xdg"),
    ],
)
def test_fault_59_files_included_by_the_users_git_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, value: str
) -> None:
    """docs/faults.md 59: an included file may be in a visible folder, so its tokens are removed too."""
    team, home = tmp_path / "srv/team.cfg", tmp_path / "home"
    if variable:
        monkeypatch.setenv(variable, str(home / value))
    write(tmp_path, {"srv/team.cfg": "[user]\n\tname = Ann\n[http]\n\textraHeader = HUNTER\n"})
    write(home, {name: '[includeIf "gitdir:~/projects/"]\n\tpath = one\n'})
    write((home / name).parent, {"one": f"[include]\n\tpath = {team}\n"})
    assert list(gitconfig.redacted_settings([], home, read_start)) == [(team, "[user]\n\tname = Ann\n[http]\n")]


async def test_credentials_in_the_repositorys_settings_are_hidden(box: Boxes, workspace: Path) -> None:
    """A password in a URL and the value of a header are hidden. Git can read other settings, and the file on disk stays
    the same."""
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    config = workspace / ".git/config"
    with config.open("a") as file:
        file.write('[remote "o"]\n\turl = https://ann:HUNTER@example.org/x\n\tpushurl = ssh://git@example.org/x\n')
        file.write('[http]\n\textraHeader = "Authorization: HUNTER"\n')
    before = config.read_bytes()
    ran = await box.run("cat .git/config; git config remote.o.url; git config remote.o.pushurl; echo x >> .git/config")
    assert "HUNTER" not in ran.output
    assert "https://example.org/x\nssh://git@example.org/x\n" in ran.output
    assert ran.code != 0
    assert config.read_bytes() == before
