"""Recognizes protected files, whose changes the user confirms one by one, and risky changes.

A program runs code from a protected file, or is configured by it, without asking the user. Such a file is recognized by
its name, or because a link with such a name or Git's configuration leads to it, not by its content (docs/faults.md 35).
"""

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Literal

from fairlead.edits.changeset import Changeset
from fairlead.edits.per_proposal import PerProposal
from fairlead.edits.proposal import Kind, Proposal
from fairlead.sentences import Sentence
from fairlead.workspace.folder_index import Entries, FolderIndex
from fairlead.workspace.git_programs import ask_git, known_programs
from fairlead.workspace.names import plain_parts
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.repositories import executable_parts, git_folder, is_git_folder
from fairlead.workspace.safe_open import entries_of

Risk = Literal["deletion", "configuration", "ci"]

_GIT = Sentence("Git runs its hooks and filters automatically.")
# a name with `/` at its end is a folder; `*` stands for any text
_REASONS = {
    Sentence("It configures the editor, which may run commands from it."): """
        .vscode/ .idea/ .devcontainer/ .devcontainer.json .fleet/ .zed/ .vs/ .nova/ .theia/ .settings/ .helix/ .nvim/
        .exrc .nexrc .vimrc .gvimrc .lvimrc .nvimrc .nvim.lua .dir-locals.el .dir-locals-2.el .emacs .emacs.d/ .kakrc
        .sublime-project *.code-workspace *.sublime-project .gitpod.yml .replit replit.nix .stackblitzrc .codesandbox/
        sandbox.config.json .idx/ devfile.yaml .devfile.yaml .latexmkrc latexmkrc
    """,
    _GIT: """
        .git/ .husky/ .githooks/ .git-hooks/ .gitmodules .gitattributes .gitconfig .lefthook/ .lefthook-local/
        lefthook.* lefthook-local.* .lefthook.* .lefthook-local.* .config/lefthook.* .config/lefthook-local.*
        .pre-commit-config.yaml .pre-commit-config.yml prek.toml .lintstagedrc .lintstagedrc.* lint-staged.config.*
        .huskyrc .huskyrc.* husky.config.js .simple-git-hooks.* simple-git-hooks.* .overcommit.yml .captainhook/
        captainhook.json grumphp.yml grumphp.yml.dist hk.pkl
    """,
    Sentence("Mercurial runs the hooks and extensions in its settings automatically."): ".hg/ .hgrc",
    Sentence("The version control system runs programs that its settings name."): """
        .jj/repo/config.toml .jj/workspace-config.toml _darcs/prefs/ .bzr/branch/branch.conf
    """,
    Sentence("It defines what your CI builds run."): """
        .github/workflows/ .github/actions/ .gitlab-ci.yml .gitlab/ci/ .circleci/ .buildkite/ .travis.yml
        azure-pipelines.* .azure-pipelines/ .vsts-ci.yml jenkinsfile jenkinsfile.* .drone.yml .drone.star .drone.jsonnet
        .woodpecker.yml .woodpecker.yaml .woodpecker/ appveyor.yml .appveyor.yml bitbucket-pipelines.yml
        .forgejo/workflows/ .forgejo/actions/ .gitea/workflows/ .gitea/actions/ .semaphore/ .cirrus.yml .cirrus.star
        .teamcity/ cloudbuild.yaml cloudbuild.yml cloudbuild.json buildspec.yml buildspec.yaml codefresh.yml .tekton/
        .onedev-buildspec.yml .build.yml .builds/ wercker.yml screwdriver.yaml .harness/ .readthedocs.yml
        .readthedocs.yaml jitpack.yml netlify.toml render.yaml heroku.yml
    """,
    Sentence("Your shell, interpreter, debugger or package manager reads it automatically."): """
        .envrc .direnvrc .autoenv .autoenv.zsh .rvmrc .bashrc .bash_profile .bash_login .bash_logout .bash_aliases
        .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .xonshrc
        config.fish .inputrc .editrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .screenrc .tmux.conf
        .lessfilter .ackrc .psqlrc .sqliterc .ssh/ .config/autostart/ .config/environment.d/ .config/fish/
        .gdbinit .gdbearlyinit .lldbinit .lldbinit-* .pdbrc .pdbrc.py .irbrc .pryrc .byebugrc .rdbgrc .rprofile
        .renviron .ghci .iex.exs .ocamlinit .utoprc .erlang .guile .sbclrc .clisprc .octaverc .perldb .ipython/
        sitecustomize.py usercustomize.py .user.ini
        mise.toml .mise.toml mise.*.toml .mise.*.toml .mise/ mise/config.toml mise/config.*.toml .config/mise/
        .config/mise.toml .config/mise.*.toml .rtx.toml devbox.json
        .npmrc .yarnrc .yarnrc.yml .yarn/releases/ .yarn/plugins/ .yarn/sdks/ .pnpmfile.* .corepack.env bunfig.toml
        .bunfig.toml .pypirc pip.conf pip.ini .pydistutils.cfg .condarc .gemrc .cargo/ rust-toolchain
        rust-toolchain.toml .mvn/ .mavenrc gradle/wrapper/ .sbtopts .jvmopts .bazelrc .bazeliskrc .bazelversion
        tools/bazel .buckconfig .buckconfig.local ansible.cfg
    """,
    Sentence("It tells coding agents what to do, or what they may do."): """
        agents.md agents.override.md agent.md claude.md claude.local.md gemini.md qwen.md warp.md replit.md .claude/
        .claude-plugin/ .cursor/ .cursorrules .windsurf/ .windsurfrules .clinerules .clinerules/ .cline/ .roo/
        .roorules .roorules-* .roomodes .kilocode/ .kilocodemodes .kilocoderules .codex/ .opencode/ opencode.json
        opencode.jsonc .aider.conf.yml .continue/ .continuerc.json .junie/ .aiassistant/ .kiro/ .amazonq/ .mcp.json
        .gemini/ .qwen/ .agents/ .agent/ .goosehints .goose/ .augment/ .augment-guidelines .trae/ .zencoder/ .qodo/
        .tabnine/ .openhands/ .factory/ .crush.json crush.json .crush/ .warp/ .rules .firebender/ firebender.json
        .fairleadignore .github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/agents/
        .github/chatmodes/ .github/hooks/ .github/skills/ .fairlead/ .config/fairlead/
    """,
}
_ALL = {name.rstrip("/"): reason for reason, names in _REASONS.items() for name in names.split()}
_BY_NAME = {name: reason for name, reason in _ALL.items() if "*" not in name}
# by the text before and after the `*` in the last part of a path
_BY_ENDS = {(name.partition("*")[0], name.partition("*")[2]): reason for name, reason in _ALL.items() if "*" in name}
_STARTS = tuple(start for start, _ in _BY_ENDS if start)
_ENDS = tuple(end for start, end in _BY_ENDS if not start)
_MAX_LEVEL = 2  # levels of folders below a root that `ProtectedFiles` examines
_NAMES = sorted({part for name in _BY_NAME for part in name.split("/")})
_DEEPEST = max(name.count("/") for name in _BY_NAME) + 1
SKIPPED_FOLDERS = {".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__", "vendor", "target"}
# short names on Windows, such as GIT~1 or AGENTS~1.MD
_SHORT_NAME = re.compile(r"([^~.]{1,6})~\d+(?:\.(.{0,3}))?")

_CI_FOLDERS = {".github", ".gitlab", ".circleci", ".buildkite", ".ci", ".azure-pipelines", ".woodpecker"}
_CI_FILES = {".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", ".drone.yml", "appveyor.yml"}
_CONFIGURATION_FOLDERS = {".vscode", ".git", ".hg", ".husky", ".devcontainer", ".idea", ".cargo", ".claude", ".cursor"}
_CONFIGURATION_FILES = {
    *("package.json", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "cargo.toml", "go.mod"),
    *("makefile", "justfile", "dockerfile", "docker-compose.yml", "compose.yml", "build.gradle", "pom.xml"),
    *("conftest.py", ".pre-commit-config.yaml", ".npmrc", ".yarnrc.yml", ".envrc", ".env", ".gitattributes"),
    *(".gitmodules", ".gitconfig", ".editorconfig", "tsconfig.json", "agents.md", "claude.md", "build.rs"),
}
_CONFIGURATION_ENDS = (".code-workspace", ".lock", "-lock.json", "-lock.yaml", ".csproj", ".sln")


@lru_cache(maxsize=4096)
def protection_reason(relative: str) -> str | None:
    """Why the user must confirm a change to a file, as a sentence for the user; None if it is not protected.

    Other spellings that a file system may take for the same name count too: another case, trailing dots and spaces, a
    stream name after a colon, short names, invisible characters.

    Args:
        relative: the path relative to its folder of the workspace.
    """
    parts = _parts(relative)
    for start in range(len(parts)):
        for size in range(1, _DEEPEST + 1):
            reason = _BY_NAME.get("/".join(parts[start : start + size]))
            if reason is not None:
                return reason
    return _reason_by_ends(parts[-1]) or _reason_by_ends("/".join(parts[-2:]))


def _reason_by_ends(name: str) -> str | None:
    """The reason for a name, or for one with its folder, that has a known beginning and end."""
    if not name.startswith(_STARTS) and not name.endswith(_ENDS):
        return None
    return next((why for (start, end), why in _BY_ENDS.items() if name.startswith(start) and name.endswith(end)), None)


def is_repository(relative: str) -> bool:
    """Whether a path is a `.git` folder or in one."""
    return ".git" in _parts(relative)


class ProtectedFiles:
    """Finds the protected files and folders in a root and in two levels of folders below it.

    Reads the names in folders where names have changed since the last call, and Git's configuration, but no other
    content. Skips folders of dependencies.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index = FolderIndex(root, _examine)

    def find(self) -> list[str]:
        """The paths relative to the root, with `/`, and the targets of links among them. Blocks: call it in a thread.

        A folder includes everything in it. Of a repository that is not in a `.git` folder, only the parts that make
        Git run programs are protected.
        """
        found = _git_folder_parts(self._root) | ask_git(self._root)
        for folder, names in self._index.current_notes().items():
            if names:
                found |= {f"{folder}/{name}" if folder else name for name in names}
            else:
                found |= {part.relative_to(self._root).as_posix() for part in executable_parts(self._root / folder)}
        links = [self._root / name for name in found if os.path.islink(self._root / name)]
        return sorted(found.union(*(_link_target(link, self._root) for link in links if link.name != ".git")))


def _examine(folder: str, entries: Entries) -> tuple[Sequence[str] | None, Sequence[str]]:
    """The protected names in a folder (None: there are none), and the names of the folders in it to examine.

    Both are empty if the folder is a repository.
    """
    if folder and is_git_folder(entries.__contains__):
        return (), ()
    parent, protected, below = folder.rpartition("/")[2].casefold(), list[str](), list[str]()
    for entry in entries.values():
        name = entry.name.casefold()
        inner = f"{parent}/{name}"
        if name in _BY_NAME or inner in _BY_NAME or _reason_by_ends(name) or _reason_by_ends(inner):
            protected.append(entry.name)
        elif name not in SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
            below.append(entry.name)
    level = folder.count("/") + 1 if folder else 0
    return protected or None, below if level < _MAX_LEVEL else ()


def protected_links(root: Path) -> dict[str, str]:
    """The paths in a root that protected links or Git's configuration lead to, each with the reason.

    Only links in the root itself and in its `.github` count.
    """
    links = [entry for folder in (root, root / ".github") for entry in entries_of(folder) if entry.is_symlink()]
    reasons = {
        end: protection_reason(Path(link.path).relative_to(root).as_posix())
        for link in links
        for end in _link_target(Path(link.path), root)
    }
    return {
        **dict.fromkeys(_git_folder_parts(root) | known_programs(root), _GIT),
        **{end: why for end, why in reasons.items() if why is not None},
    }


def risk(kind: Kind, path: PurePath, target: PurePath) -> Risk | None:
    """The most serious reason to look closely at a change; None for an ordinary one. Ignores the case of names."""
    if kind == "delete":
        return "deletion"
    risks = _name_risk(path), _name_risk(target)
    return "ci" if "ci" in risks else risks[0] or risks[1]


class Protections:
    """Finds the proposals that the user must confirm one by one."""

    def __init__(self) -> None:
        self._reasons = PerProposal[str | None]()

    def of(self, roots: Roots, changes: Changeset) -> dict[str, str]:
        """The reason for each proposal that the user must confirm, by the proposal's path. Omits other proposals."""
        links = {root.path: protected_links(root.path) for root in roots.folders}
        found = self._reasons.of(changes, lambda proposal: _protection(proposal, roots, links), roots, links)
        paths = filter(found.__getitem__, found)  # with many files, a Python loop would take too long
        return {path: why for path in paths if (why := found[path])}


def _protection(proposal: Proposal, roots: Roots, links: Mapping[Path, Mapping[str, str]]) -> str | None:
    """Why the user must confirm a proposal; None if it is not protected.

    Args:
        links: the `protected_links` of each folder of the workspace, by its path.
    """

    def reason(path: str) -> str | None:
        enclosing = roots.enclosing(Path(path))
        found = (protection_reason(name) or by_link(links[root.path], name) for root, name in enclosing)
        return next(filter(None, found), None) if enclosing else protection_reason(path)

    def by_link(targets: Mapping[str, str], name: str) -> str | None:
        return next((why for target, why in targets.items() if name == target or name.startswith(f"{target}/")), None)

    return reason(proposal.path) or (reason(proposal.target) if proposal.new_path is not None else None)


def _name_risk(path: PurePath) -> Risk | None:
    folders = {part.lower() for part in path.parts[:-1]}
    name = path.name.lower()
    if folders & _CI_FOLDERS or name in _CI_FILES:
        return "ci"
    if folders & _CONFIGURATION_FOLDERS or name in _CONFIGURATION_FILES or name.endswith(_CONFIGURATION_ENDS):
        return "configuration"
    return None


def _git_folder_parts(root: Path) -> set[str]:
    """The parts through which Git runs programs, of a folder in the root that `.git` refers to."""
    folder = git_folder(root / ".git")
    is_elsewhere = folder != root / ".git" and folder != root and folder.is_relative_to(root)
    return {path.relative_to(root).as_posix() for path in executable_parts(folder)} if is_elsewhere else set()


def _parts(relative: str) -> list[str]:
    return [_expanded(part) for part in plain_parts(relative)]


def _expanded(part: str) -> str:
    """The protected name that a short name abbreviates, else the name itself."""
    short = _SHORT_NAME.fullmatch(part)
    if short is None:
        return part
    stem, end = short.groups()
    return next((name for name in _NAMES if _shortened(name) == (stem, end or "")), part)


def _shortened(name: str) -> tuple[str, str]:
    stem, _, end = name.lstrip(".").rpartition(".")
    return ((stem or end).replace(".", "")[:6], end[:3] if stem else "")


def _link_target(link: Path, root: Path) -> set[str]:
    """The target of a link, if it is in the root: changing it changes the protected file. A set of at most one."""
    real, end = real_path(root), real_path(link)
    return {end.relative_to(real).as_posix()} if end != real and end.is_relative_to(real) else set()
