"""docs/faults.md 35: which files need a separate confirmation, by their names, links and repositories."""

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from fairlead.edits.origins import Author
from fairlead.errors import ToolError
from fairlead.workspace.files import Files
from fairlead.workspace.paths import Roots
from fairlead.workspace.protected import ProtectedFiles, is_repository, protected_links, protection_reason
from fairlead.workspace.repositories import hooks_folder
from faults.protected_names import ORDINARY, PROTECTED
from tools.stand_ins import Documents

DISGUISED = """
    .VSCODE/Settings.json .Git/hooks/x agents.MD .vscode./x .git::$DATA AGENTS.md:stream
    .git::$INDEX_ALLOCATION/config GIT~1/config vscode~2/x AGENTS~1.MD CLAUDE.md::$DATA GITHUB~1/workflows/ci.yml
    GITMOD~1
"""
ODDLY_DISGUISED = [
    ".v\u017fcode/x",
    ".vscode /x",
    "AGENTS.md. .",
    ".g\u200cit/config",
    ".\u2060vscode/x",
    "sub\\.vscode\\x",
]


@pytest.mark.parametrize("name", PROTECTED.split())
def test_fault_183_files_that_take_effect_automatically_are_protected(name: str) -> None:
    """docs/faults.md 183: each has a reason for the user, even if the file does not exist."""
    reason = protection_reason(name)
    assert reason is not None and reason.endswith(".")


@given(st.sampled_from(PROTECTED.split()), st.randoms())
def test_fault_35_in_upper_and_lower_case(name: str, chance: st.DataObject) -> None:
    """docs/faults.md 35: the case of letters does not matter, because a file system may not distinguish it."""
    changed = "".join(chance.choice((letter.upper(), letter.lower())) for letter in name)  # type: ignore[attr-defined]
    assert protection_reason(changed) == protection_reason(name)


@pytest.mark.parametrize("name", [*DISGUISED.split(), *ODDLY_DISGUISED])
def test_fault_35_in_the_spellings_of_windows_and_macos(name: str) -> None:
    """docs/faults.md 35: other spellings that reach a protected file are protected too: upper case, trailing dots and
    spaces, streams, short names, invisible characters.
    """
    assert protection_reason(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_fault_43_ordinary_files_are_not_protected(name: str) -> None:
    """docs/faults.md 43: names that only look like protected ones are ordinary, and so are files of everyday work."""
    assert protection_reason(name) is None


@given(st.text())
def test_no_name_raises_an_error(name: str) -> None:
    """A model may send any text. Every name in a repository itself is protected."""
    protection_reason(name)
    assert not is_repository(name) or protection_reason(name)


TREE = """
    .git/hooks/x .hg/hgrc .vscode/a.json .github/workflows/ci.yml .github/README.md AGENTS.md src/main.py
    packages/one/.vscode/b.json packages/one/deep/CLAUDE.md node_modules/x/.npmrc config/hooks/pre-commit
"""


def test_existing_protected_files_are_listed(workspace: Path) -> None:
    """The search goes two levels below the root and skips dependencies. A protected folder is one entry. The target of
    a link is an entry of its own if it is in the workspace.
    """
    for name in TREE.split():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).touch()
    (workspace / ".husky").symlink_to("config/hooks")
    (workspace / ".idea").symlink_to("/")
    assert ProtectedFiles(workspace).find() == [
        *(".git", ".github/workflows", ".hg", ".husky", ".idea", ".vscode", "AGENTS.md", "config/hooks"),
        "packages/one/.vscode",
    ]
    assert ProtectedFiles(workspace / "gone").find() == []


async def test_fault_35_repositories_that_are_not_in_a_git_folder(workspace: Path) -> None:
    """docs/faults.md 35: the settings and hooks of a repository that `.git` refers to, and of a bare repository, are
    protected. So is the folder of hooks that the settings name.
    """
    for name in ("store", "deep/bare", "deep/plain"):
        for part in ("objects", "refs", "hooks"):
            (workspace / name / part).mkdir(parents=True)
        (workspace / name / "config").write_text("[core]\n\thooksPath = ci/hooks\n")
        if name != "deep/plain":
            (workspace / name / "HEAD").write_text("ref: refs/heads/main\n")
    (workspace / ".git").write_text("gitdir: store\n")
    inside = {f"{name}/{part}" for name in ("store", "deep/bare") for part in ("config", "hooks")}
    assert set(ProtectedFiles(workspace).find()) == {".git", "ci/hooks", *inside}
    assert protected_links(workspace).keys() == {"ci/hooks", "store/config", "store/hooks"}
    files = Files(Roots.of(workspace), Documents())
    with pytest.raises(ToolError, match="repository itself"):
        await files.propose(workspace / "store/hooks/pre-commit", "x\n", Author())
    await files.propose(workspace / "deep/plain/hooks/pre-commit", "x\n", Author())


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"config": "[core] hooksPath = ci/hooks ; ours\n"}, "ci/hooks"),
        ({"config": '[core]\n\thookspath = "ci/hooks" # ours\n[other]\n\thooksPath = elsewhere\n'}, "ci/hooks"),
        ({"config": '[core "x"]\n\thooksPath = elsewhere\n'}, None),
        ({"config": "[core]\n\thooksPath = old\n", "config.worktree": "[core]\n\thooksPath = ci/hooks\n"}, "ci/hooks"),
        ({"config": "[core]\n\thooksPath = ../outside\n"}, None),
    ],
)
def test_the_settings_can_name_the_folder_of_hooks(
    settings: dict[str, str], found: str | None, workspace: Path
) -> None:
    """The settings are read as by Git: with sections, comments and quotes, and those of the worktree take precedence.

    A folder outside of the workspace does not count.
    """
    (workspace / ".git").mkdir()
    for name, text in settings.items():
        (workspace / ".git" / name).write_text(text)
    assert hooks_folder(workspace) == (workspace / found if found is not None else None)
