"""Commands outside the sandbox: which bash runs them on Windows, and Git without background maintenance."""

import sys
from pathlib import Path

import pytest

from fairlead.shell.direct import DirectLayer, find_windows_bash
from fairlead.shell.layer import View
from fairlead.shell.process import Command
from fairlead.workspace.paths import Roots
from shell.boxes import LEFT_RUNNING, write

GIT = ("Git/cmd/git.exe", "Git/mingw64/bin/git.exe", "Git/bin/bash.exe")
WSL = ("Windows/System32/bash.exe", "Local/Microsoft/WindowsApps/bash.exe")
# the folders of PATH, and the bash that is found
PATHS = [
    (("Windows/System32", "Local/Microsoft/WindowsApps", "Git/cmd"), "Git/bin/bash.exe"),
    (("Windows/system32", "Git/mingw64/bin"), "Git/bin/bash.exe"),
    (("Git/bin",), "Git/bin/bash.exe"),
    (("msys64/usr/bin", "Git/cmd"), "Git/bin/bash.exe"),
    (("Windows/System32", "msys64/usr/bin"), "msys64/usr/bin/bash.exe"),
    (("other/cmd", "msys64/usr/bin"), "msys64/usr/bin/bash.exe"),
    (("Windows/System32", "Windows/Sysnative", "Local/Microsoft/WindowsApps", "missing", ""), None),
]


@pytest.mark.parametrize(("folders", "bash"), PATHS)
def test_the_bash_of_git_for_windows_is_found(tmp_path: Path, folders: tuple[str, ...], bash: str | None) -> None:
    """Git does not add the folder of its bash to PATH. The bash of WSL, which sees another file system, is not used."""
    files = (*GIT, *WSL, "Windows/system32/bash.exe", "Windows/Sysnative/bash.exe", "other/cmd/git.exe")
    write(tmp_path, dict.fromkeys((*files, "msys64/usr/bin/bash.exe"), ""))
    found = find_windows_bash([str(tmp_path / folder) if folder else "" for folder in folders])
    assert found == (None if bash is None else str(tmp_path / bash))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the reaper")
@pytest.mark.parametrize("command", LEFT_RUNNING)
async def test_what_a_command_left_running_is_reported(workspace: Path, command: str) -> None:
    """Its processes end with it, so the model must learn that its server is gone. Nothing else is reported."""
    box = await DirectLayer(Roots.of(workspace)).open(command, View())
    running = Command(box.launch, 60, lambda text: None)
    await running.run()
    assert sorted(running.left_running) == LEFT_RUNNING[command]


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
async def test_git_starts_no_maintenance_in_the_background(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Background maintenance would be killed with the command. Git's other settings in the environment stay."""
    for name, value in {"COUNT": "1", "KEY_0": "gc.autoPackLimit", "VALUE_0": "1"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    commit = "date +%N >> a; git add a; git -c user.name=a -c user.email=a@b commit -m a; git repack -dq"

    async def run(command: str) -> str:
        box = await DirectLayer(Roots.of(workspace)).open(command, View())
        return (await Command(box.launch, 60, lambda text: None).run()).output

    output = await run(f"git init -q; for n in 1 2 3; do {commit}; done")
    assert output.count("1 file changed") == 3
    assert "Auto packing" not in output
    assert await run("ls .git/objects/pack/*.pack | wc -l; git config gc.autoPackLimit") == "3\n1\n"
