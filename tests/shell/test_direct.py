"""What runs commands outside the sandbox."""

from pathlib import Path

import pytest

from fairlead.shell.direct import find_windows_bash
from shell.boxes import write

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
    """Although Git does not add its folder to PATH; and never that of WSL, which sees another file system."""
    files = (*GIT, *WSL, "Windows/system32/bash.exe", "Windows/Sysnative/bash.exe", "other/cmd/git.exe")
    write(tmp_path, dict.fromkeys((*files, "msys64/usr/bin/bash.exe"), ""))
    found = find_windows_bash([str(tmp_path / folder) if folder else "" for folder in folders])
    assert found == (None if bash is None else str(tmp_path / bash))
