"""docs/faults.md 184: the files in a workspace through which Git runs programs because of its settings."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fairlead.workspace.git_programs import ask_git, known_programs
from fairlead.workspace.protected import ProtectedFiles, protected_links

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

# files below the home, or below the workspace, with what is protected because of them; `.git/config` gets further lines
CASES: dict[str, tuple[dict[str, str], set[str]]] = {
    "the user's settings": ({"~/.gitconfig": "[core]\nhooksPath = ci/hooks\n"}, {"ci/hooks"}),
    "the user's other settings": ({"~/.config/git/config": "[core]\nhooksPath = ci/hooks\n"}, {"ci/hooks"}),
    "an absolute path": ({"~/.gitconfig": "[core]\nhooksPath = {root}/ci/hooks\n"}, {"ci/hooks"}),
    "the repository's settings come later": (
        {"~/.gitconfig": "[core]\nhooksPath = theirs\n", ".git/config": "[core]\nhooksPath = ours\n"},
        {"ours"},
    ),
    "a file that the user's settings include": (
        {"~/.gitconfig": "[include]\npath = more\n", "~/more": "[core]\nhooksPath = ci/hooks\n"},
        {"ci/hooks"},
    ),
    "a file under a condition": (
        {
            "~/.gitconfig": '[includeIf "gitdir:{root}/"]\npath = ~/work\n',
            "~/work": "[core]\nhooksPath = ci/hooks\n",
        },
        {"ci/hooks"},
    ),
    "a condition that does not hold": (
        {"~/.gitconfig": '[includeIf "gitdir:/nowhere/"]\npath = ~/work\n', "~/work": "[core]\nhooksPath = ci/hooks\n"},
        set(),
    ),
    "a branch": (
        {".git/config": '[includeIf "onbranch:main"]\npath = x\n', ".git/x": "[core]\nhooksPath = ci/hooks\n"},
        {"ci/hooks"},
    ),
    "a file of settings in the workspace": (
        {".git/config": "[include]\npath = ../team.cfg\n", "team.cfg": "[core]\nhooksPath = ci/hooks\n"},
        {"ci/hooks", "team.cfg"},
    ),
    "a file of settings that does not exist yet": ({".git/config": "[include]\npath = ../team.cfg\n"}, {"team.cfg"}),
    "settings of the work tree": (
        {
            ".git/config": "[extensions]\nworktreeConfig = true\n",
            ".git/config.worktree": "[core]\nhooksPath = ci/hooks\n",
        },
        {"ci/hooks"},
    ),
    "the workspace itself": ({"~/.gitconfig": "[core]\nhooksPath = .\n"}, {"pre-commit", "post-checkout"}),
    "a folder outside": ({"~/.gitconfig": "[core]\nhooksPath = ~/hooks\n"}, set()),
    "a monitor": ({"~/.gitconfig": "[core]\nfsmonitor = tools/monitor.sh\n"}, {"tools/monitor.sh"}),
    "ssh": ({"~/.gitconfig": "[core]\nsshCommand = sh ./tools/ssh.sh -v\n"}, {"tools/ssh.sh"}),
    "an editor": ({".git/config": "[core]\neditor = tools/edit\n"}, {"tools/edit"}),
    "a pager": ({".git/config": "[pager]\nlog = tools/page\n"}, {"tools/page"}),
    "a filter": ({".git/config": '[filter "x"]\nclean = python fix.py %f\n', "fix.py": ""}, {"fix.py"}),
    "a filter's process": ({".git/config": '[filter "x"]\nprocess = tools/f\n'}, {"tools/f"}),
    "a diff": ({".git/config": '[diff "x"]\ncommand = tools/d\ntextconv = tools/t\n'}, {"tools/d", "tools/t"}),
    "an external diff": ({".git/config": "[diff]\nexternal = tools/d\n"}, {"tools/d"}),
    "a merge": ({".git/config": '[merge "x"]\ndriver = "node \\"tools/m.js\\" %O"\n'}, {"tools/m.js"}),
    "a merge tool": ({".git/config": '[mergetool "x"]\ncmd = tools/m $LOCAL\n'}, {"tools/m"}),
    "an alias": ({".git/config": "[alias]\nup = !./tools/up && ls\n"}, {"tools/up"}),
    "an alias without a program": ({".git/config": "[alias]\nx = log src/a.py\n", "src/a.py": ""}, set()),
    "a helper": ({".git/config": "[credential]\nhelper = !tools/login\n"}, {"tools/login"}),
    "signatures": (
        {".git/config": '[gpg]\nprogram = tools/g\n[gpg "ssh"]\nprogram = tools/s\n'},
        {"tools/g", "tools/s"},
    ),
    "attributes": ({".git/config": "[core]\nattributesFile = conf/attributes\n"}, {"conf/attributes"}),
    "templates": ({"~/.gitconfig": "[init]\ntemplateDir = {root}/template\n"}, {"template"}),
    "a sequence editor": ({".git/config": "[sequence]\neditor = tools/e\n"}, {"tools/e"}),
    "trailers": ({".git/config": '[trailer "x"]\ncmd = tools/t\n'}, {"tools/t"}),
    "mail": ({".git/config": "[sendemail]\ntoCmd = tools/to\n"}, {"tools/to"}),
    "other settings": (
        {".git/config": '[remote "o"]\nurl = ../x\n[core]\nexcludesFile = my/ignore\n[commit]\ntemplate = src/a\n'},
        set(),
    ),
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(os.path.expanduser(name)) if name.startswith("~") else root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text.replace("{root}", str(root)))


@pytest.fixture
def repository(workspace: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(workspace)], check=True)
    return workspace


@needs_git
@pytest.mark.parametrize("case", CASES)
def test_fault_184_what_git_runs_is_protected(repository: Path, case: str) -> None:
    """docs/faults.md 184: whichever settings name it. Other settings, and those that do not apply, protect nothing."""
    files, expected = CASES[case]
    write(repository, files)
    found = ask_git(repository)
    assert found >= expected if case == "the workspace itself" else found == expected
    assert expected <= protected_links(repository).keys()
    assert expected <= set(ProtectedFiles(repository).find())


@needs_git
def test_fault_184_settings_of_the_environment(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/faults.md 184: variables that the user has set count as for Git."""
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "ci/hooks"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert ask_git(repository) == {"ci/hooks"}


@needs_git
def test_git_is_asked_again_after_a_change(repository: Path) -> None:
    """The answer follows each file of the settings, also one that did not exist, and the branch."""
    assert ask_git(repository) == set()
    write(repository, {"~/.gitconfig": "[include]\npath = more\n"})
    assert ask_git(repository) == set()
    write(repository, {"~/more": "[core]\nhooksPath = a\n"})
    assert ask_git(repository) == {"a"}
    write(repository, {"~/more": "[core]\nhooksPath = bb\n"})
    assert ask_git(repository) == {"bb"}
    write(
        repository, {".git/config": '[includeIf "onbranch:other"]\npath = x\n', ".git/x": "[core]\nhooksPath = ccc\n"}
    )
    assert ask_git(repository) == {"bb"}
    (repository / ".git/HEAD").write_text("ref: refs/heads/other\n")
    assert ask_git(repository) == {"ccc"}


def wait_for_git() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("ask git"):
            thread.join()


@needs_git
def test_fault_184_a_publication_does_not_wait_for_git(repository: Path) -> None:
    """docs/faults.md 184: until Git has answered, the repository's own files count, and its last answer."""
    write(repository, {".git/config": "[core]\nhooksPath = ci/hooks\nfsmonitor = tools/monitor\n"})
    assert known_programs(repository) >= {"ci/hooks"}
    wait_for_git()
    assert known_programs(repository) == {"ci/hooks", "tools/monitor"}
    write(repository, {".git/config": "[core]\nfsmonitor = tools/other\n"})
    assert known_programs(repository) >= {"ci/hooks", "tools/monitor"}
    wait_for_git()


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository's own files are read."""
    write(repository, {".git/config": "[core]\nhooksPath = ci/hooks\n"})
    monkeypatch.setenv("PATH", "")
    assert ask_git(repository) == {"ci/hooks"}


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


HOSTILE = {"a pipe": os.mkfifo, "an endless file": endless, "a huge file": sparse} if sys.platform == "linux" else {}


@needs_git
@pytest.mark.parametrize("kind", HOSTILE)
def test_fault_184_settings_that_never_end(repository: Path, kind: str) -> None:
    """docs/faults.md 184: Git is ended. What the repository's own files name is protected."""
    write(repository, {".git/config": "[core]\nhooksPath = ci/hooks\n[include]\npath = ../endless\n"})
    HOSTILE[kind](repository / "endless")
    assert ask_git(repository) == {"ci/hooks"}


@needs_git
def test_fault_184_many_settings(repository: Path) -> None:
    """docs/faults.md 184: a file of settings that is as large as Git reads, with long values."""
    lines = [f"[alias]\n\tx{number} = !{'a ' * 200}\n" for number in range(2_000)]
    write(repository, {".git/config": f"[core]\nhooksPath = ci/hooks\n{''.join(lines)}"})
    assert ask_git(repository) >= {"ci/hooks"}


@needs_git
def test_fault_42_asking_git_runs_no_program(repository: Path, tmp_path: Path) -> None:
    """docs/faults.md 42: reading the settings does not run what they name."""
    script = repository / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch '{tmp_path}/was-run'\n")
    script.chmod(0o755)
    keys = ("fsmonitor", "pager", "editor", "sshCommand", "askPass")
    core = "".join(f"\t{key} = {script}\n" for key in keys)
    write(repository, {".git/config": f"[core]\n{core}[pager]\n\tconfig = {script}\n[alias]\n\tconfig = !{script}\n"})
    assert ask_git(repository) == {"run.sh"}
    assert not (tmp_path / "was-run").exists()
