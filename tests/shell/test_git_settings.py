"""docs/faults.md 182: commands see Git's settings without secrets, and of a repository's folder what Git needs."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.shell.layer import View
from fairlead.shell.sandbox import git_folders, gitconfig
from fairlead.workspace.secrets import SecretFinder
from faults.git_settings import HIDDEN, HIDDEN_FILES, IN_ADDRESS, SHOWN, SHOWN_FILES, lines
from shell.boxes import boxes, write
from support.sandbox import needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

# texts in which a slow expression, or lines that are joined one by one, would take minutes
SIZE = 500_000
LONG = {
    "a head": "[a" + " " * SIZE,
    "backslashes": "[a]\nx = " + "\\" * SIZE,
    "quotes": '[a]\nx = "' + '\\"' * SIZE,
    "colons": "[a]\nx = ://" + ":" * SIZE,
    "addresses": "[a]\nx = " + "https://" * SIZE,
    "tokens": "[a]\nx = " + "sk-eyJ-" * SIZE,
    "queries": '[a "' + "?key=" * SIZE + '"]',
    "continued lines": "[a]\nx = 1" + "\\\n" * SIZE,
    "continued quotes": '[a]\nx = "1' + "\\\n" * SIZE,
    "blank lines": "\n" * SIZE,
}


@pytest.fixture
def sandboxed() -> None:
    needs_sandbox()


@pytest.mark.parametrize("setting", lines(HIDDEN))
def test_fault_182_a_secret_setting_is_hidden(setting: str) -> None:
    """docs/faults.md 182: nothing of its value is left. The settings around it stay, in their sections."""
    text = f"[user]\n\tname = Ann\n{setting}\n\temail = a@example.org\n"
    shown = gitconfig.redact(text)
    assert "hunter2" not in shown
    assert setting.partition("=")[2].strip() not in shown
    assert shown.startswith("[user]\n\tname = Ann\n") and shown.endswith("\n\temail = a@example.org\n")
    assert setting.partition("=")[2].strip() not in gitconfig.harmless_settings(text)


@pytest.mark.parametrize("case", lines(IN_ADDRESS))
def test_fault_182_a_secret_in_an_address_is_hidden(case: str) -> None:
    """docs/faults.md 182: also in the name of a section. The rest of the setting stays, so that Git works."""
    secret, _, setting = case.partition(": ")
    shown = gitconfig.redact(f"{setting}\n")
    assert secret not in shown
    assert shown.partition("]")[2].partition("=")[0] == setting.partition("]")[2].partition("=")[0]


@pytest.mark.parametrize("setting", lines(SHOWN))
def test_fault_43_other_settings_are_shown(setting: str) -> None:
    """docs/faults.md 43: Git works in the box as outside."""
    assert gitconfig.redact(f"{setting}\n") == f"{setting}\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_reads_what_is_left() -> None:
    """Git finds the settings that are shown in a file in which others are hidden, each in its section."""
    hidden, shown = [line for line in lines(HIDDEN) if "_key" not in line], lines(SHOWN)
    mixed = [line for pair in zip(shown, hidden, strict=False) for line in pair]

    def settings(text: str) -> list[str]:
        command = ["git", "config", "--file", "-", "--no-includes", "--list"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()

    left = gitconfig.redact("\n".join(mixed))
    assert settings(left) == settings("\n".join(line for line in mixed if line in shown))


@pytest.mark.parametrize("case", LONG)
def test_fault_182_no_text_takes_long(case: str) -> None:
    """docs/faults.md 182: the time grows no faster than the text."""
    assert len(gitconfig.redact(LONG[case])) <= len(LONG[case])


def test_fault_182_the_folder_of_a_repository(workspace: Path) -> None:
    """docs/faults.md 182: what Git does not need is hidden, also in the repositories of submodules and worktrees."""
    git = workspace / ".git"
    write(git, dict.fromkeys((*HIDDEN_FILES.split(), *SHOWN_FILES.split(), "config", "refs/x", "objects/x"), ""))
    hidden = {path.relative_to(git).as_posix() for path in git_folders.hidden_in([git])}

    def is_hidden(name: str) -> bool:
        return any(f"{name}/".startswith(f"{each}/") for each in hidden)

    assert [name for name in HIDDEN_FILES.split() if not is_hidden(name)] == []
    assert [name for name in (*SHOWN_FILES.split(), "config") if is_hidden(name)] == []


def test_fault_182_thousands_of_files_in_a_repository(tmp_path: Path) -> None:
    """docs/faults.md 182: such a repository is hidden as a whole, because each file would need a mount. The next one
    that has something to hide is too, and others are shown.
    """
    names = {"many": [*map(str, range(1_000))], "one": ["config~"], "none": []}
    for name, files in names.items():
        write(tmp_path / name / ".git", dict.fromkeys(("HEAD", "refs/x", "objects/x", *files), ""))
    repositories = [tmp_path / name / ".git" for name in names]
    assert git_folders.hidden_in(repositories) == [repositories[0], repositories[1] / "config~"]
    assert git_folders.hidden_in([tmp_path / "gone/.git", tmp_path]) == []


@pytest.mark.usefixtures("sandboxed")
async def test_fault_182_no_command_reads_it(workspace: Path, tmp_path: Path) -> None:
    """docs/faults.md 182: neither settings nor files; and git works."""
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    git = workspace / ".git"
    settings = [line.replace("hunter2", "HUNTER") for line in lines(HIDDEN) if "_key" not in line]
    (git / "config").write_text((git / "config").read_text() + "\n".join(settings) + "\n")
    write(git, dict.fromkeys((name for name in HIDDEN_FILES.split() if name != "config.lock"), "HUNTER\n"))
    write(workspace, {"a.txt": "a\n"})
    view = View(repositories=(await SecretFinder(workspace).find()).repositories)
    async with boxes(workspace, tmp_path / "state") as box, asyncio.timeout(60):
        ran = await box.run("grep -rhs HUNTER .; git config --list; git add . && git status --short", view)
        assert "HUNTER" not in ran.output
        assert ran.output.endswith("\nA  a.txt\n"), ran.output
