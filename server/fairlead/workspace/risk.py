"""Which proposed files deserve the closest look: deletions, CI, and what configures tools that run by themselves."""

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Literal

from fairlead.edits.proposal import Kind, Proposal
from fairlead.workspace.paths import Root
from fairlead.workspace.protected import is_protected, protected_links

Risk = Literal["deletion", "configuration", "ci"]

_CI_FOLDERS = {".github", ".gitlab", ".circleci", ".buildkite", ".ci", ".azure-pipelines", ".woodpecker"}
_CI_FILES = {".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", ".drone.yml", "appveyor.yml"}
_CONFIGURATION_FOLDERS = {".vscode", ".git", ".husky", ".devcontainer", ".idea", ".cargo", ".claude", ".cursor"}
_CONFIGURATION_FILES = {
    *("package.json", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "cargo.toml", "go.mod"),
    *("makefile", "justfile", "dockerfile", "docker-compose.yml", "compose.yml", "build.gradle", "pom.xml"),
    *("conftest.py", ".pre-commit-config.yaml", ".npmrc", ".yarnrc.yml", ".envrc", ".env", ".gitattributes"),
    *(".gitmodules", ".gitconfig", ".editorconfig", "tsconfig.json", "agents.md", "claude.md", "build.rs"),
}
_CONFIGURATION_ENDS = (".code-workspace", ".lock", "-lock.json", "-lock.yaml", ".csproj", ".sln")


def risk(kind: Kind, path: PurePath, target: PurePath) -> Risk | None:
    """The reason to look twice at a change, the gravest one; None for an ordinary change. Paths are the workspace's.

    Names count in any case of letters: file systems may not tell them apart.
    """
    if kind == "delete":
        return "deletion"
    found: list[Risk] = [one for one in (_by_name(path), _by_name(target)) if one is not None]
    return "ci" if "ci" in found else next(iter(found), None)


def protections(root: Root, proposals: Iterable[Proposal]) -> dict[str, str]:
    """Why proposals are accepted only by a yes of their own, for people, by path; ordinary ones are left out."""
    links = protected_links(root.path)

    def reason(path: str) -> str | None:
        name = root.relative(Path(path))
        by_link = (why for end, why in links.items() if name == end or name.startswith(f"{end}/"))
        return is_protected(name) or next(by_link, None)

    found = {one.path: reason(one.path) or reason(one.target) for one in proposals}
    return {path: why for path, why in found.items() if why is not None}


def _by_name(path: PurePath) -> Risk | None:
    folders = {part.lower() for part in path.parts[:-1]}
    name = path.name.lower()
    if folders & _CI_FOLDERS or name in _CI_FILES:
        return "ci"
    if folders & _CONFIGURATION_FOLDERS or name in _CONFIGURATION_FILES or name.endswith(_CONFIGURATION_ENDS):
        return "configuration"
    return None
